/* session_calls.c - the calls whose answers are waited for: how many there may be, and what an
 * answer means to the kind of call that it is the answer to. */
#include "fleet/session_internal.h"

#include "base/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const script_words[N_SCRIPTS] = {
    [SCRIPT_HELLO] = "hello",
    [SCRIPT_ACQUIRE] = "acquire",
    [SCRIPT_RELEASE] = "release",
    [SCRIPT_RENEW] = "renew",
    [SCRIPT_SNAPSHOT] = "snapshot",
    [SCRIPT_ADMIN] = "admin",
};

/* ---- in flight ---- */

const char *inflight_call_word(const struct inflight_call *call)
{
    return script_words[call->row->script];
}

size_t n_in_flight(const struct session *session, enum call_kind first, enum call_kind last)
{
    const struct inflight_call *call;
    size_t n = 0;
    TAILQ_FOREACH (call, &session->calls.in_flight, link) {
        n += first <= call->row->kind && call->row->kind <= last;
    }
    return n;
}

struct inflight_call *inflight_call_new(
    struct session *session, const struct call_row *row, size_t n_entries)
{
    struct inflight_call *call = memory_new(sizeof *call + n_entries * sizeof call->entries[0]);
    struct arguments *arguments = &session->calls.arguments;
    const uint64_t layouts[] = {session->layouts.from, session->layouts.to};
    const uint64_t reached[] = {session->reached.sequence, session->reached.event,
        (uint64_t)(session->now / NANOSECONDS_PER_MILLISECOND)};
    call->row = row;
    call->tag = ++session->calls.last_tag;
    call->arguments = arguments;
    arguments_clear(arguments);
    arguments_add_numbers(arguments, 2, layouts);
    arguments_add_numbers(arguments, 3, reached);
    arguments_add(arguments, session->id);
    arguments_add_number(arguments, session->tenure.incarnation);
    if (row->phase) {
        arguments_add(arguments, row->phase);
    }
    return call;
}

bool inflight_call_takes(struct inflight_call *call, struct entry *entry, size_t max)
{
    if (call->n == max || (call->n > 0 && call->weight + entry->weight > MAX_WEIGHT)) {
        return false;
    }
    call->weight += entry->weight;
    call->entries[call->n++] = entry;
    return true;
}

void inflight_call_send(
    struct session *session, struct inflight_call *call, struct script_call *out)
{
    struct arguments *arguments = call->arguments;
    call->sent_at = session->now;
    call->is_of_hello = session->state == SESSION_LISTING && call->row->kind <= CALL_END;
    TAILQ_INSERT_TAIL(&session->calls.in_flight, call, link);
    session->calls.n_sent++;
    arguments_finish(arguments);
    *out = (struct script_call){
        .script = call->row->script,
        .layout = session->layout,
        .argc = arguments->n,
        .argv = arguments->argv,
        .lengths = arguments->lengths,
        .tag = call->tag,
    };
}

void inflight_calls_forget(struct session *session)
{
    struct inflight_call *call;
    while ((call = TAILQ_FIRST(&session->calls.in_flight))) {
        TAILQ_REMOVE(&session->calls.in_flight, call, link);
        free(call);
    }
}

/* The oldest is the last to count. A connection that breaks before an answer is slow says nothing
 * of how fast it would have been. */
void inflight_calls_note_late(struct session *session)
{
    const struct inflight_call *call;
    nanoseconds slow = timing_slow_renewal(session->tenure.ttl);
    TAILQ_FOREACH_REVERSE (call, &session->calls.in_flight, inflight_call_list, link) {
        nanoseconds waited = session->now - call->sent_at;
        if (waited > slow) {
            latency_note(&session->calls.latency, session->now, microseconds(waited));
        }
    }
}

/* That of an answer, which is not waited for any more; NULL: it was forgotten. */
static struct inflight_call *inflight_call_take(struct session *session, uint64_t tag)
{
    struct inflight_call *call = TAILQ_FIRST(&session->calls.in_flight);
    while (call && call->tag != tag) {
        call = TAILQ_NEXT(call, link);
    }
    if (call) {
        TAILQ_REMOVE(&session->calls.in_flight, call, link);
    }
    return call;
}

/* ---- all daemons that use the database: how they keep out of each other's way ---- */

/* What a hello and its listing cost a server, and a little more. */
#define HELLO (NANOSECONDS_PER_SECOND / 500)
/* What it costs with both connections, likewise. */
#define RETURN (NANOSECONDS_PER_SECOND / 1000)

/* A request of a job, likewise. */
#define REQUEST (NANOSECONDS_PER_SECOND / 10000)

enum {
    CALLS_AT_ONCE = 2, /* a server always has one to carry out; a renewal is behind no more */
    FIRST_BULK = 8, /* after a quiet time, as all may have something to ask at that moment */
};

/* `n` times `each`, but no longer than `most`. */
static nanoseconds times(uint64_t n, nanoseconds each, nanoseconds most)
{
    return n < (uint64_t)(most / each) ? (nanoseconds)n * each : most;
}

void crowd_set_size(struct session *session, uint64_t n, bool is_grace)
{
    if (!is_grace || n > session->crowd.n) {
        session->crowd.n = n;
    }
}

/* Calls have numbers, so a session knows how many there were between two of its own. */
void crowd_counts(struct session *session, uint64_t number)
{
    struct session_crowd *crowd = &session->crowd;
    nanoseconds since = session->now - crowd->counted_at;
    if (crowd->counted == 0 || number < crowd->counted) {
        crowd->rate = 0;
    } else if (since < timing_renewal(session->tenure.ttl) / 2) {
        return; /* too short to say much */
    } else {
        crowd->rate = (uint64_t)((double)(number - crowd->counted) * 1000 *
            (double)NANOSECONDS_PER_SECOND / (double)since);
    }
    crowd->counted = number;
    crowd->counted_at = session->now;
}

/* ---- how much is asked at once ---- */

/* All that is asked at once, by all sessions, is to be answered in a quarter of the time after
 * which a link is given up. */
static nanoseconds longest_queue(const struct session *session)
{
    return session->tenure.ttl / 48;
}

void crowd_begins(struct session *session)
{
    session->crowd.bulk = FIRST_BULK;
}

/* How long that took says how much may be asked at once: a server answers late if it has much to do
 * for anybody. */
static void crowd_answers(struct session *session, const struct inflight_call *call)
{
    struct session_crowd *crowd = &session->crowd;
    bool is_late = session->now - call->sent_at >= longest_queue(session);
    if (is_late && call->sent_at >= crowd->halved_at) {
        crowd->bulk = (crowd->bulk + 1) / 2;
        crowd->halved_at = session->now; /* what was sent before then is no reason to do it again */
    } else if (!is_late && call->row->kind >= FIRST_REQUEST) {
        crowd->bulk += crowd->bulk < MAX_ASKED;
    } else if (!is_late && crowd->bulk > FIRST_BULK) {
        crowd->bulk = FIRST_BULK; /* a renewal, for example: what showed is long ago */
    }
}

size_t crowd_room(const struct session *session)
{
    const struct session_crowd *crowd = &session->crowd;
    uint64_t most = (uint64_t)(longest_queue(session) / REQUEST / CALLS_AT_ONCE);
    uint64_t share = crowd->n > 1 ? most / crowd->n : most;
    size_t bulk = share < crowd->bulk ? (size_t)share : crowd->bulk;
    size_t n_requests = n_in_flight(session, FIRST_REQUEST, N_CALL_KINDS);
    if (bulk <= 1) {
        return n_requests == 0;
    }
    return n_requests < CALLS_AT_ONCE ? bulk : 0;
}

nanoseconds crowd_part(struct session *session, uint64_t n)
{
    return session_random(session, times(n, HELLO, session->tenure.ttl / 12));
}

/* A daemon that comes back late has tried half of the time that its jobs have. */
nanoseconds session_spread(const struct session *session, nanoseconds now)
{
    nanoseconds stop_at = core_fleet_stop_at(session->core, session->database);
    nanoseconds left = stop_at == NEVER ? NEVER : stop_at > now ? stop_at - now : 0;
    nanoseconds most = earlier(timing_renewal(session->tenure.ttl), left / 2);
    return times(session->crowd.n, RETURN, most);
}

/* ---- answers ---- */

static void take_times(struct session *session, const struct answer *answer)
{
    session->grace_until = answer->grace == 0 ? NEVER : session->now + answer->grace;
    session->is_new = session->is_new && answer->grace != 0;
    session->renewal.due_at = answer->due == NEVER ? NEVER : session->now + answer->due;
    session->renewal.is_wanted |= answer->due == 0; /* the call has left work */
}

static const char *is_answered(
    struct session *session, struct inflight_call *call, const struct answer *answer)
{
    take_times(session, answer);
    number_raise(&session->reached.sequence, answer->sequence);
    return call->row->answered(session, call, answer);
}

static const char *is_error(
    struct session *session, struct inflight_call *call, const struct answer *answer)
{
    if (error_needs_reset(answer->text)) {
        return answer->text;
    }
    session_say(session, "%s: %s", inflight_call_word(call), answer->text);
    snprintf(session->notices.trouble, sizeof session->notices.trouble, "%.*s",
        (int)sizeof session->notices.trouble - 1, answer->text);
    call->row->failed(session, call, answer);
    return NULL;
}

/* The call had no effect; everything is listed again before it is repeated. */
static void call_is_undone(struct session *session, struct inflight_call *call)
{
    for (size_t i = 0; i < call->n; i++) {
        call->entries[i]->is_there &= call->row->kind != CALL_ACQUIRE;
        entry_is_undone(session, call->entries[i]);
    }
    if (call->request) {
        request_put_back(session, call);
    }
}

void hello_has_failed(
    struct session *session, struct inflight_call *call, const struct answer *answer)
{
    call_is_undone(session, call);
    session->hello.not_before = session->now + session->tenure.ttl / 24;
    /* One that was sent before the hello is no reason: others of that time name entries, and are
     * still in flight. */
    if (call->is_of_hello) {
        entries_refuse(session, false); /* nobody knows how long that lasts */
        requests_fail(session, answer->text);
    }
    listing_begin(session);
}

static const char *is_unknown(
    struct session *session, struct inflight_call *call, const struct answer *answer)
{
    (void)answer;
    call_is_undone(session, call);
    listing_begin(session);
    return NULL;
}

/* The link is there, but must not be used at present: nothing more is sent. */
static void session_set_unusable(struct session *session, enum session_state state)
{
    session->state = state;
    session->link.is_given_up = true;
    session->renewal.due_at = session->grace_until = NEVER;
    session->hello.not_before = session->now + session->tenure.ttl;
    inflight_calls_forget(session);
    entries_refuse(session, state == SESSION_REPLACED);
    requests_fail(session, session->link.why);
    session_say(session, "%s", session->link.why);
}

static const char *is_stale(
    struct session *session, struct inflight_call *call, const struct answer *answer)
{
    (void)answer;
    call_is_undone(session, call);
    snprintf(session->link.why, sizeof session->link.why,
        "another berthd uses this one's identity: the same host, socket and runtime directory");
    session_set_unusable(session, SESSION_REPLACED);
    return NULL;
}

/* Nothing was touched. An operator has finished an upgrade, or this is the first call, or older
 * data have come back. */
static const char *is_other_layout(
    struct session *session, struct inflight_call *call, const struct answer *answer)
{
    uint64_t layout;
    call_is_undone(session, call);
    if (number_parse(answer->text, session->layouts.to, &layout) &&
        layout >= session->layouts.from) {
        if (session->state == SESSION_UP) {
            session_say(session, "its data have layout %u now", (unsigned)layout);
        }
        session->layout = (unsigned)layout;
        listing_begin(session);
        return NULL;
    }
    snprintf(session->link.why, sizeof session->link.why,
        "its data has layout %.40s, this berthd knows %u to %u", answer->text,
        session->layouts.from, session->layouts.to);
    session_set_unusable(session, SESSION_DOWN);
    return NULL;
}

static call_is_answered *const answer_table[] = {
    [REPLY_OK] = is_answered,
    [REPLY_REFUSED] = is_answered,
    [REPLY_HELLO] = is_unknown,
    [REPLY_STALE] = is_stale,
    [REPLY_LAYOUT] = is_other_layout,
    [REPLY_ERROR] = is_error,
};

void session_reply(struct session *session, uint64_t tag, const struct resp *reply, nanoseconds now,
    struct effects *effects)
{
    session_at(session, now, effects);
    struct inflight_call *call = inflight_call_take(session, tag);
    struct answer answer;
    if (!call) {
        return;
    }
    session->calls.heard_at = session->now;
    latency_note(
        &session->calls.latency, session->now, microseconds(session->now - call->sent_at));
    crowd_answers(session, call);
    const char *wrong = answer_read(reply, &answer);
    if (!wrong) {
        wrong = answer_table[answer.kind](session, call, &answer);
    }
    if (wrong) {
        session_reset(session, "%s: %s", inflight_call_word(call), wrong);
    }
    free(call);
}
