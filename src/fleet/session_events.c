/* session_events.c - renewals, and what they and the channel bring: numbered events, each taken
 * once and in order. */
#include "fleet/session_internal.h"

#include "base/words.h"

#include <stdlib.h>
#include <string.h>

enum { MANY_EVENTS = 1000 }; /* taken, and not acknowledged: the database keeps them all */

enum { MORE_EVENTS = 1, MORE_NEWS = 2 }; /* than fit into an answer */

/* ---- when ---- */

static bool may_renew(const struct session *session)
{
    bool is_listed = session->state == SESSION_UP;
    bool has_begun = session->state == SESSION_LISTING && session->hello.step > STEP_BEGIN;
    return n_in_flight(session, CALL_RENEW, CALL_RENEW) == 0 && (is_listed || has_begun);
}

nanoseconds renewal_deadline(const struct session *session)
{
    const struct session_renewal *renewal = &session->renewal;
    nanoseconds at = earlier(renewal->next_at, renewal->hello_at);
    if (!may_renew(session)) {
        return NEVER;
    }
    if (session->state == SESSION_UP) {
        at = renewal->is_wanted ? 0 : earlier(at, renewal->due_at);
    }
    return at > renewal->not_before ? at : renewal->not_before;
}

static call_is_answered renewal_is_answered;
static call_has_failed renewal_has_failed;
static const struct call_row renewal_call = {
    CALL_RENEW, SCRIPT_RENEW, NULL, renewal_is_answered, renewal_has_failed};

struct inflight_call *renewal_next_call(struct session *session)
{
    struct session_renewal *renewal = &session->renewal;
    struct session_events *events = &session->events;
    if (session->now < renewal_deadline(session)) {
        return NULL;
    }
    struct inflight_call *call = inflight_call_new(session, &renewal_call, 0);
    arguments_add_number(call->arguments, events->last);
    arguments_add_number(call->arguments, session->news.followed);
    renewal->is_wanted = false;
    renewal->due_at = renewal->hello_at = NEVER;
    events->acknowledged = events->last;
    return call;
}

/* ---- events ---- */

/* The events that take a lease away. WITHDRAW: a newer request of its own user wants its place. */
static const struct {
    uint8_t verb;
    uint8_t why; /* enum outcome */
} takings[N_FLEET_EVENTS] = {
    [FLEET_REVOKE] = {SESSION_REVOKE, OUTCOME_REVOKED},
    [FLEET_WITHDRAW] = {SESSION_WITHDRAW, OUTCOME_WITHDRAWN},
    [FLEET_DROP] = {SESSION_DROP, OUTCOME_DROPPED},
    [FLEET_RELEASE] = {SESSION_RELEASE, OUTCOME_RELEASED},
};

/* What is known of an event that takes that lease away. `words` is its text, which this changes. */
static struct session_taking taking_of(char *words, const struct lease *lease, enum event_kind kind)
{
    char *reason = words + strcspn(words, "|");
    if (*reason == '|') {
        *reason++ = '\0';
    }
    bool has_reason = reason[0] != '\0' && percent_decode(reason) && strlen(reason) <= REASON_BYTES;
    return (struct session_taking){
        .verb = takings[kind].verb,
        .is_repeat = (kind == FLEET_REVOKE || kind == FLEET_WITHDRAW) &&
            !core_would_stop(lease, takings[kind].why),
        .by = actor_parse(words),
        .reason = has_reason ? reason : NULL,
    };
}

/* A repeated revoke replaces neither who began the stop nor why. */
static void take_away(struct session *session, struct lease *lease, const struct fleet_event *event)
{
    struct session_events *events = &session->events;
    enum event_kind kind = event->kind;
    char *words = memory_string(event->text);
    struct session_taking taking = taking_of(words, lease, kind);
    bool is_by_owner = taking.by.is_known && taking.by.uid == lease->uid;
    bool is_told =
        events->taken && (kind != FLEET_RELEASE || (taking.by.is_known && !is_by_owner));
    bool may = !(kind == FLEET_WITHDRAW && taking.is_repeat) &&
        (!is_told || events->taken(events->taken_context, lease, &taking));
    if (may && kind == FLEET_RELEASE) {
        core_end(session->core, lease, NULL, session->now, session->effects);
    } else if (may) {
        core_revoke(session->core, lease, takings[kind].why, taking.reason, session->now,
            session->effects);
    }
    free(words);
}

static void take_move(struct session *session, struct lease *lease, const struct fleet_event *event)
{
    uint64_t number;
    if (number_parse(event->text, UINT32_MAX, &number)) {
        session_note_numbers(session, 0, event->ticket);
        core_fleet_moved(
            session->core, lease, event->ticket, (uint32_t)number, session->effects);
    }
}

static void take_of_lease(struct session *session, const struct fleet_event *event)
{
    struct entry *entry = entry_find(session, event->id);
    struct lease *lease = entry ? entry->lease : NULL;
    lease = lease && lease->state != LEASE_ENDED ? lease : NULL;
    if (event->kind == FLEET_GRANTED && entry) {
        entry_granted(session, entry, event->ticket, event->text);
    } else if (event->kind == FLEET_GRANTED) {
        entry_release_orphan(session, event->id);
    } else if (event->kind == FLEET_LOST && entry) {
        entry_lost(session, entry);
    } else if (event->kind == FLEET_MOVED && lease) {
        take_move(session, lease, event);
    } else if (event->kind == FLEET_CIRCLE) {
        if (lease && lease->state == LEASE_WAITING) {
            entry_refuse_for(session, entry, OUTCOME_CIRCLE, event->text);
            entry_end(session, entry);
        }
    } else if (event->kind == FLEET_REPLACED) {
        if (lease && lease->state == LEASE_WAITING) {
            lease_is_replaced(session, lease, event->text);
        }
    } else if (lease && event->kind != FLEET_GRANTED && event->kind != FLEET_LOST) {
        take_away(session, lease, event);
    }
}

static void take_event(struct session *session, uint64_t number, const char *text)
{
    struct fleet_event event;
    const char *wrong = fleet_event_read(text, &event);
    /* The listing was later, and has said what is true about the leases. */
    bool is_older_than_listing = number <= session->events.newest_at_begin;
    if (wrong) {
        session_say(session, "%s: %.200s", wrong, text);
    } else if (event.kind != FLEET_UNKNOWN &&
        !(is_older_than_listing &&
            (event.kind == FLEET_GRANTED || event.kind == FLEET_LOST ||
                event.kind == FLEET_MOVED || event.kind == FLEET_CIRCLE ||
                event.kind == FLEET_REPLACED))) {
        take_of_lease(session, &event);
    }
}

static void take_in_order(struct session *session, uint64_t number, const char *text)
{
    struct session_events *events = &session->events;
    if (number > events->last) {
        events->last = number;
        number_raise(&session->reached.event, number);
        take_event(session, number, text);
    }
    session->renewal.is_wanted |= events->last - events->acknowledged >= MANY_EVENTS;
}

/* "hello N": a grace has begun, for N sessions. */
static bool read_hello(const char *text, uint64_t *np)
{
    static const char word[] = "hello ";
    return strncmp(text, word, sizeof word - 1) == 0 &&
        number_parse(text + sizeof word - 1, MAX_DATABASE_NUMBER, np);
}

/* ---- hosts that are gone ---- */

/* "SESSION HELD NAMES HOST", which this changes. */
static void tell_gone(struct session *session, char *rest)
{
    const char *id = strsep(&rest, " "), *held = strsep(&rest, " "), *names = strsep(&rest, " ");
    char silent_for[24], shown[161];
    uint64_t n;
    if (!rest || !number_parse(held, MAX_DATABASE_NUMBER, &n) || strcmp(id, session->id) == 0) {
        return;
    }
    duration_format(silent_for, sizeof silent_for, session->tenure.ttl);
    session->notices.last_hash = 0; /* one may be gone twice */
    names_cut(shown, sizeof shown, names);
    if (n > 0) {
        session_say(session, "host %.200s is gone, silent for %s: it held %ju (%s), free again",
            rest, silent_for, (uintmax_t)n, shown);
    } else {
        session_say(
            session, "host %.200s is gone, silent for %s: it held nothing", rest, silent_for);
    }
}

/* "gone N" and some of these N hosts, each behind a tab. False: the message is not about that. */
static bool gone_message(struct session *session, char *text)
{
    static const char word[] = "gone ";
    uint64_t n, n_told = 0;
    if (strncmp(text, word, sizeof word - 1) != 0) {
        return false;
    }
    char *rest = text + sizeof word - 1;
    const char *number = strsep(&rest, "\t");
    if (!number_parse(number, MAX_DATABASE_NUMBER, &n)) {
        return false;
    }
    for (char *host; (host = strsep(&rest, "\t")); n_told++) {
        tell_gone(session, host);
    }
    if (n > n_told) {
        session_say(session, "%ju more hosts are gone: berthctl hosts shows which",
            (uintmax_t)(n - n_told));
    }
    return true;
}

void session_message(struct session *session, const char *text, size_t length, nanoseconds now,
    struct effects *effects)
{
    session_at(session, now, effects);
    uint64_t number;
    const char *event;
    char *copy = memory_new(length + 1);
    memcpy(copy, length > 0 ? text : "", length);
    if (read_hello(copy, &number)) {
        crowd_set_size(session, number, true);
        session->renewal.hello_at = session->now + crowd_part(session, number);
    } else if (news_message(session, copy)) {
        ; /* fetched later */
    } else if (gone_message(session, copy)) {
        ; /* for operators alone */
    } else if (message_read(copy, &number, &event) != NULL) {
        session_say(session, "a malformed message: %.200s", copy);
    } else if (session->state == SESSION_UP && number == session->events.last + 1) {
        take_in_order(session, number, event);
    } else if (session->state != SESSION_UP || number > session->events.last) {
        session->renewal.is_wanted = true; /* an event is missing, or this one is early */
    }
    free(copy);
}

/* ---- renewals ---- */

static const char *take_events(struct session *session, const struct answer *answer)
{
    for (size_t i = 1; i < answer->n; i += 2) {
        uint64_t number;
        const char *text;
        if (!answer_number(answer, i, MAX_DATABASE_NUMBER, &number) ||
            !answer_text(answer, i + 1, &text)) {
            return "an event without a number";
        }
        take_in_order(session, number, text);
    }
    return NULL;
}

/* All events have been taken: a gap behind the last one contains nothing. */
static void take_end_of_events(struct session *session)
{
    number_raise(&session->events.last, session->events.newest_at_begin);
}

/* The database has answered about each lease, and only the end is held back: what is listed lives
 * on with the session. */
static bool is_listed(const struct session *session)
{
    return session->state == SESSION_LISTING && session->hello.step == STEP_LIST &&
        TAILQ_EMPTY(&session->leases.entries[ENTRY_UNLISTED]) &&
        TAILQ_EMPTY(&session->leases.entries[ENTRY_LISTING]);
}

static void tell_slow(struct session *session, nanoseconds took, nanoseconds most)
{
    char took_text[24], most_text[24];
    duration_format(took_text, sizeof took_text, took);
    duration_format(most_text, sizeof most_text, most);
    session_say(session,
        "Redis, or the way to it, is slow: a renewal took %s, more than %s "
        "(berthctl hosts shows how fast it answers)",
        took_text, most_text);
}

/* The trouble is over when none has been slow for a whole ttl. */
static void note_time_taken(struct session *session, nanoseconds took)
{
    struct session_renewal *renewal = &session->renewal;
    if (renewal->times) {
        metric_observe(renewal->times, METRIC_LATENCIES, microseconds(took));
    }
    nanoseconds most = timing_slow_renewal(session->tenure.ttl);
    if (took > most) {
        if (!renewal->is_slow) {
            tell_slow(session, took, most);
        }
        renewal->is_slow = true;
        renewal->slow_at = session->now;
    } else if (renewal->is_slow && session->now - renewal->slow_at >= session->tenure.ttl) {
        session_say(session, "it is not slow any more: no renewal was for a whole ttl");
        renewal->is_slow = false;
    }
}

static const char *renewal_is_answered(
    struct session *session, struct inflight_call *call, const struct answer *answer)
{
    struct session_renewal *renewal = &session->renewal;
    uint64_t more;
    const char *wrong = NULL;
    if (answer->kind != REPLY_OK || !answer_number(answer, 0, MORE_EVENTS | MORE_NEWS, &more) ||
        answer->n % 2 != 1) {
        return "a wrong answer";
    }
    crowd_counts(session, answer->sequence);
    note_time_taken(session, session->now - call->sent_at);
    renewal->renewed_at = call->sent_at;
    if (call->sent_at >= renewal->next_at) { /* else sessions called together would stay together */
        renewal->next_at = call->sent_at + timing_renewal(session->tenure.ttl);
    }
    if (session->state != SESSION_UP) {
        if (is_listed(session)) {
            session_set_good(session);
        }
        return NULL; /* the listing comes first; its end restarts the time, and events come again */
    }
    session_set_good(session);
    wrong = take_events(session, answer);
    if (more & MORE_NEWS) {
        news_follow_by(session, session->now);
    }
    if (more & MORE_EVENTS) {
        renewal->is_wanted = true;
    } else if (!wrong) {
        take_end_of_events(session);
        entries_renewed(session, call->tag);
    }
    return wrong;
}

void session_on_taken(struct session *session, session_taken *taken, void *context)
{
    session->events.taken = taken;
    session->events.taken_context = context;
}

void session_count(struct session *session, uint64_t *sessions, struct metric_histogram *renewals)
{
    session->hello.n_up = sessions;
    session->renewal.times = renewals;
}

static void renewal_has_failed(
    struct session *session, struct inflight_call *call, const struct answer *answer)
{
    (void)call, (void)answer;
    session->renewal.next_at = session->renewal.not_before =
        session->now + session->tenure.ttl / 24;
}
