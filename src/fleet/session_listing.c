/* session_listing.c - hello: the session begins, or begins again, and everything is listed. One of
 * its calls is in flight at a time. */
#include "fleet/session_internal.h"

#include "base/words.h"

#include <stdlib.h>
#include <string.h>

nanoseconds listing_deadline(const struct session *session)
{
    bool waits = session->hello.step == STEP_BEGIN && TAILQ_EMPTY(&session->calls.in_flight);
    return waits ? session->hello.not_before : NEVER;
}

/* ---- what is sent ---- */

/* 0: none. Its file's ttl was promised to nobody yet. */
static nanoseconds promised_ttl(const struct session *session)
{
    bool is_promised = session->tenure.good_until > 0 || session->reached.sequence > 0;
    return is_promised ? session->tenure.ttl : 0;
}

static call_is_answered begin_is_answered, list_is_answered, end_is_answered;
static const struct call_row begin_call = {
    CALL_BEGIN, SCRIPT_HELLO, "begin", begin_is_answered, hello_has_failed};
static const struct call_row list_call = {
    CALL_LIST, SCRIPT_HELLO, "lease", list_is_answered, hello_has_failed};
static const struct call_row end_call = {
    CALL_END, SCRIPT_HELLO, "end", end_is_answered, hello_has_failed};

/* Each call has a new incarnation: an earlier one that reaches the database late, from a connection
 * that was given up, is behind, and does nothing. */
static struct inflight_call *session_listing_begin(struct session *session)
{
    session->tenure.incarnation++;
    session->tenure.is_changed = true;
    struct inflight_call *call = inflight_call_new(session, &begin_call, 0);
    struct arguments *arguments = call->arguments;
    arguments_add_number(arguments, milliseconds(session->settings->ttl));
    arguments_add_number(arguments, milliseconds(session->settings->failover_lag));
    arguments_add(arguments, session->host);
    arguments_add_number(arguments, session->tenure.highest_token);
    arguments_add_number(arguments, session->tenure.highest_ticket);
    arguments_add_number(arguments, milliseconds(promised_ttl(session)));
    arguments_add(arguments, session->version ? session->version : "");
    arguments_add(arguments, session->settings->is_cluster ? "cluster" : "");
    if (!session->has_no_history) {
        arguments_add_number(arguments, session->settings->history);
    }
    entries_unlist(session);
    session_known_mark_unsent(&session->definitions);
    news_begin(session);
    free(session->hello.cursor);
    session->hello.cursor = memory_string("");
    return call;
}

static struct inflight_call *list_some(struct session *session)
{
    struct inflight_call *call = inflight_call_new(session, &list_call, CHUNK);
    struct entry *entry;
    while ((entry = TAILQ_FIRST(&session->leases.entries[ENTRY_UNLISTED])) &&
        inflight_call_takes(call, entry, CHUNK)) {
        call_add_listed(
            call->arguments, session->core, entry->lease, session->wall_offset, session->now);
        entry_move(session, entry, ENTRY_LISTING);
    }
    return call;
}

static struct inflight_call *session_listing_end(struct session *session)
{
    struct inflight_call *call = inflight_call_new(session, &end_call, 0);
    arguments_add(call->arguments, session->hello.cursor);
    return call;
}

static struct inflight_call *begin_next_call(struct session *session)
{
    if (!TAILQ_EMPTY(&session->calls.in_flight) || session->now < session->hello.not_before) {
        return NULL; /* calls in flight are older: first their answers */
    }
    if (++session->hello.n_begun >= MAX_HELLOS_AT_ONCE) {
        session->hello.not_before = session->now + session->tenure.ttl / 24;
    }
    return session_listing_begin(session);
}

struct inflight_call *listing_next_call(struct session *session)
{
    if (n_in_flight(session, CALL_BEGIN, CALL_END) > 0) {
        return NULL;
    }
    if (session->hello.step == STEP_BEGIN) {
        return begin_next_call(session);
    }
    struct inflight_call *call = session->hello.step == STEP_NEWS ? news_next_call(session) : NULL;
    call = call ? call : definitions_next_call(session);
    if (call) {
        return call;
    }
    if (!TAILQ_EMPTY(&session->leases.entries[ENTRY_UNLISTED])) {
        session->hello.step = STEP_LIST;
        return list_some(session);
    }
    bool waits = session->hello.is_held;
    call = waits ? NULL : leases_next_ended(session, &waits);
    if (call || waits) {
        return call;
    }
    session->hello.step = STEP_END;
    return session_listing_end(session);
}

/* ---- what comes back ---- */

static void take_ttl(struct session *session, nanoseconds ttl)
{
    if (ttl != session->settings->ttl && ttl != session->tenure.database_ttl) {
        session_say(session, "its ttl is %lld ms, not the file's: other hosts use it",
            (long long)(ttl / NANOSECONDS_PER_MILLISECOND));
    }
    session->tenure.ttl = session->tenure.database_ttl = ttl;
}

static const char *begin_is_answered(
    struct session *session, struct inflight_call *call, const struct answer *answer)
{
    uint64_t incarnation, ttl, newest, is_new, n_sessions;
    if (answer->kind != REPLY_OK || !answer_number(answer, 0, MAX_DATABASE_NUMBER, &incarnation) ||
        incarnation == 0 ||
        !answer_number(answer, 1, LONGEST_TTL / NANOSECONDS_PER_MILLISECOND, &ttl) ||
        ttl < SHORTEST_TTL / NANOSECONDS_PER_MILLISECOND ||
        !answer_number(answer, 2, MAX_DATABASE_NUMBER, &newest) ||
        !answer_number(answer, 3, 1, &is_new) ||
        !answer_number(answer, 4, MAX_DATABASE_NUMBER, &n_sessions)) {
        return "a wrong answer to begin";
    }
    if (incarnation != session->tenure.incarnation) { /* the database has seen a later one of us */
        session->tenure.incarnation = incarnation;
        listing_begin(session);
        return NULL;
    }
    changes_arrive(session, answer->grace > 0);
    take_ttl(session, (nanoseconds)ttl * NANOSECONDS_PER_MILLISECOND);
    crowd_set_size(session, n_sessions, answer->grace > 0);
    session->crowd.counted = session->crowd.rate = 0; /* the numbers go on elsewhere */
    session->renewal.renewed_at = call->sent_at;
    session->renewal.next_at = call->sent_at + timing_renewal(session->tenure.ttl);
    session->events.newest_at_begin = newest;
    number_raise(&session->reached.event, newest);
    session->hello.is_new = is_new;
    if (is_new || session->events.last > newest) {
        session->events.last = newest;
    }
    session->hello.step = STEP_NEWS;
    return NULL;
}

/* The lease is there, waiting, as far as the database knows. Whoever has not been told that it
 * waits is told now. Others know their place better: those before them may not be listed yet. */
static void is_listed_waiting(
    struct session *session, struct entry *entry, uint64_t ticket, uint32_t position)
{
    struct lease *lease = entry->lease;
    position = lease->position != 0 ? lease->position : position;
    if (lease->state == LEASE_HELD) {
        entry_lost(session, entry);
    } else if (lease->wants_now) {
        entry_refuse_to_wait(session, entry);
    } else {
        core_fleet_waits(session->core, lease, ticket, position, session->effects);
    }
}

/* Only the database knows the tokens of a lease that was reclaimed without a record. */
static void learn_tokens(
    struct session *session, struct lease *lease, uint64_t ticket, const char *claims)
{
    bool knows_all = true;
    for (size_t i = 0; i < lease->n_claims; i++) {
        knows_all &= lease->claims[i].token != 0;
    }
    session_note_numbers(session, claims_highest_token(claims), ticket);
    if (!knows_all && !claims_read(&session->calls.claims, claims, lease)) {
        core_fleet_granted(session->core, lease, ticket, session->calls.claims.list, session->now,
            session->effects);
    }
}

static const char *is_listed(
    struct session *session, struct entry *entry, const struct answer *answer, size_t i)
{
    const char *id, *word, *claims;
    uint64_t number, ticket, position;
    if (!answer_text(answer, i, &id) || !lease_id_parse(id, &number) || number != entry->id ||
        !answer_text(answer, i + 1, &word) ||
        !answer_number(answer, i + 2, MAX_DATABASE_NUMBER, &ticket) ||
        !answer_text(answer, i + 3, &claims)) {
        return "a wrong answer to lease";
    }
    session_note_numbers(session, 0, ticket);
    if (!entry_is_known(session, entry)) {
        return NULL;
    }
    if (strcmp(word, "lost") == 0) {
        entry_lost(session, entry);
    } else if (strcmp(word, "waiting") == 0) {
        if (!answer_number(answer, i + 3, UINT32_MAX, &position)) {
            return "no position";
        }
        is_listed_waiting(session, entry, ticket, (uint32_t)position);
    } else if (strcmp(word, "held") != 0) {
        return "an unknown word for a lease";
    } else if (entry->lease->state == LEASE_HELD) {
        learn_tokens(session, entry->lease, ticket, claims);
    } else {
        if (!entry->lease->wants_now) { /* the data may be lost before the grant is taken */
            core_fleet_waits(session->core, entry->lease, ticket, 0, session->effects);
        }
        entry->ticket = ticket;
        entry->claims = memory_string(claims);
        entry_move(session, entry, ENTRY_GRANT_LISTED);
    }
    return NULL;
}

static const char *list_is_answered(
    struct session *session, struct inflight_call *call, const struct answer *answer)
{
    if (answer->kind != REPLY_OK || answer->n != 4 * call->n) {
        return "a wrong answer to lease";
    }
    for (size_t i = 0; i < call->n; i++) {
        const char *wrong = is_listed(session, call->entries[i], answer, 4 * i);
        if (wrong) {
            return wrong;
        }
    }
    return NULL;
}

/* Only from now on are the leases good for long enough. */
static void take_listed_grants(struct session *session)
{
    struct entry *entry;
    while ((entry = TAILQ_FIRST(&session->leases.entries[ENTRY_GRANT_LISTED]))) {
        char *claims = entry->claims;
        entry->claims = NULL;
        entry_move(session, entry, ENTRY_KNOWN);
        entry_granted(session, entry, entry->ticket, claims);
        free(claims);
    }
}

static const char *end_is_answered(
    struct session *session, struct inflight_call *call, const struct answer *answer)
{
    const char *cursor;
    uint64_t is_new;
    if (answer->kind != REPLY_OK || !answer_text(answer, 0, &cursor)) {
        return "a wrong answer to end";
    }
    if (session->hello.step != STEP_END) {
        return NULL; /* another event has made everything begin again */
    }
    if (*cursor != '\0') {
        free(session->hello.cursor);
        session->hello.cursor = memory_string(cursor);
        return NULL;
    }
    if (!TAILQ_EMPTY(&session->leases.entries[ENTRY_UNLISTED])) {
        listing_begin(session);
        return NULL;
    }
    session->state = SESSION_UP;
    session->is_new = answer_number(answer, 1, 1, &is_new) && is_new;
    if (session->hello.n_up) {
        ++*session->hello.n_up;
    }
    session->notices.last_hash = 0;
    session->link.is_given_up = false;
    session->link.give_up_at = NEVER;
    session->hello.n_begun = 0;
    session->renewal.next_at =
        session->renewal.renewed_at + session_random(session, timing_renewal(session->tenure.ttl));
    session->renewal.is_wanted |= session->events.newest_at_begin > session->events.last;
    crowd_counts(session, answer->sequence);
    session_set_good(session);
    entries_are_listed(session, call->tag);
    take_listed_grants(session);
    return NULL;
}

/* ---- leaving ---- */

static const char *leave_is_answered(
    struct session *session, struct inflight_call *call, const struct answer *answer)
{
    (void)session, (void)call, (void)answer;
    return NULL;
}

bool session_leave(struct session *session, nanoseconds now, struct script_call *call)
{
    static const struct call_row leave_call = {
        CALL_LEAVE, SCRIPT_HELLO, "leave", leave_is_answered, hello_has_failed};
    session_at(session, now, NULL);
    bool is_known = session->state == SESSION_UP ||
        (session->state == SESSION_LISTING && session->hello.step > STEP_BEGIN);
    if (is_known) {
        inflight_call_send(session, inflight_call_new(session, &leave_call, 0), call);
    }
    return is_known;
}
