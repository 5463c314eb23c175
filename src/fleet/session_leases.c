/* session_leases.c - which leases the database is asked for and given back, and when; and its
 * answers about them. */
#include "fleet/session_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- requests of the core ---- */

static bool is_safe(const struct session *session)
{
    return session->events.renewed_tag >= session->events.unsafe_tag;
}

/* Even right after a renewal there would be too little time to stop its job. */
static bool session_cannot_stop_in_time(const struct session *session, const struct lease *lease)
{
    return lease_stop_budget(lease) >=
        timing_good_for(session->tenure.ttl) - timing_renewal(session->tenure.ttl);
}

/* The database's ttl may be shorter than the file's, which kill-after was checked against. */
static void shorten_stop(struct session *session, struct lease *lease)
{
    if (lease->state == LEASE_WAITING && session_cannot_stop_in_time(session, lease)) {
        lease->attributes.kill_after = session->tenure.ttl / 4;
        effects_change(session->effects, lease);
        session_say(session, "kill-after is cut to %lld ms, because its ttl is %lld ms",
            (long long)(lease->attributes.kill_after / 1000000),
            (long long)(session->tenure.ttl / 1000000));
    }
}

void session_ask(
    struct session *session, struct lease *lease, nanoseconds now, struct effects *effects)
{
    session_at(session, now, effects);
    shorten_stop(session, lease);
    struct entry *entry = entry_find(session, lease->id);
    bool is_unreachable = session_is_unreachable(session);
    if (is_unreachable && (session->state == SESSION_REPLACED || !lease_has_place(lease))) {
        core_fleet_refused(session->core, lease, OUTCOME_DOWN, session->now, session->effects);
    } else if (entry) {
        entry_attach(entry, lease); /* the call in flight must be over first */
    } else {
        entry = entry_new(session, lease->id, is_unreachable ? ENTRY_UNLISTED : ENTRY_UNSENT);
        entry_attach(entry, lease);
        if (session->state == SESSION_UP && !is_safe(session)) {
            entry_wait_for_renewal(session, entry);
            session->renewal.is_wanted = true;
        }
    }
}

void session_give_back(struct session *session, struct lease *lease)
{
    struct entry *entry = lease->entry;
    if (!entry) {
        return;
    }
    entry->may_return = lease->state == LEASE_WAITING;
    if (lease->state == LEASE_ENDED) {
        free(entry->ending);
        entry->ending = lease->ending;
        entry->ended_at = lease->ended_at;
        lease->ending = NULL;
    }
    entry_detach(entry);
    if (entry->state == ENTRY_UNLISTED && entry_is_to_be_told(entry)) {
        entry_end(session, entry);
    } else if (entry->state == ENTRY_UNLISTED || (!entry->is_there && !entry_is_in_flight(entry))) {
        entry_free(session, entry);
    } else {
        entry_end(session, entry);
    }
}

void session_restore(struct session *session, struct lease *lease)
{
    struct entry *entry = lease->entry;
    if (lease->n_claims == 0) {
        return; /* the database has the lease that it shares */
    }
    if (lease->state == LEASE_WAITING && !lease->is_asked) {
        return; /* session_ask() comes when this host grants again */
    }
    if (!entry) {
        entry = entry_new(session, lease->id, ENTRY_UNSENT);
        entry_attach(entry, lease);
    }
    entry->is_there |= lease->is_asked; /* the berthd that ran before may have asked */
    if (entry->state == ENTRY_UNSENT && (entry->is_there || lease_has_place(lease))) {
        entry_move(session, entry, ENTRY_UNLISTED);
    }
    if (session->state == SESSION_UP && entry->state == ENTRY_UNLISTED) {
        listing_begin(session);
    }
}

/* ---- what is sent ---- */

static call_is_answered acquire_is_answered, release_is_answered;
static call_has_failed acquire_has_failed, release_has_failed;
static const struct call_row acquire_call = {
    CALL_ACQUIRE, SCRIPT_ACQUIRE, NULL, acquire_is_answered, acquire_has_failed};
static const struct call_row release_call = {
    CALL_RELEASE, SCRIPT_RELEASE, NULL, release_is_answered, release_has_failed};

/* The first one from `entry` on that is given back now. */
static struct entry *next_to_release(struct entry *entry, bool only_told)
{
    while (entry && only_told && !entry_is_to_be_told(entry)) {
        entry = TAILQ_NEXT(entry, link);
    }
    return entry;
}

/* `only_told`: those alone of which the database may hear how they ended. */
static struct inflight_call *release_some(struct session *session, size_t room, bool only_told)
{
    struct entry *entry = TAILQ_FIRST(&session->leases.entries[ENTRY_ENDING]), *next;
    entry = next_to_release(entry, only_told);
    if (!entry || room == 0) {
        return NULL;
    }
    struct inflight_call *call = inflight_call_new(session, &release_call, room);
    for (; entry && inflight_call_takes(call, entry, room); entry = next) {
        next = next_to_release(TAILQ_NEXT(entry, link), only_told);
        call_add_release(
            call->arguments, entry->id, entry->ending, session->now - entry->ended_at);
        entry_move(session, entry, ENTRY_RELEASING);
    }
    return call;
}

/* The fixed cost of a call is several times that of a lease. */
static struct inflight_call *acquire_some(struct session *session, size_t room)
{
    struct inflight_call *call = inflight_call_new(session, &acquire_call, room);
    struct entry *entry;
    while ((entry = TAILQ_FIRST(&session->leases.entries[ENTRY_UNSENT])) &&
        inflight_call_takes(call, entry, room)) {
        call_add_acquire(call->arguments, session->core, entry->lease, session->wall_offset);
        entry->is_there = true;
        entry_move(session, entry, ENTRY_ASKED);
    }
    return call;
}

struct inflight_call *leases_next_ended(struct session *session, bool *waitsp)
{
    *waitsp = n_in_flight(session, CALL_RELEASE, CALL_RELEASE) > 0;
    return *waitsp ? NULL : release_some(session, CHUNK, true);
}

struct inflight_call *leases_next_call(struct session *session)
{
    size_t room = crowd_room(session);
    struct inflight_call *call = release_some(session, room, false);
    bool asks = !call && room > 0 && !TAILQ_EMPTY(&session->leases.entries[ENTRY_UNSENT]);
    return asks ? acquire_some(session, room) : call;
}

/* ---- releases ---- */

static const char *release_is_answered(
    struct session *session, struct inflight_call *call, const struct answer *answer)
{
    if (answer->kind != REPLY_OK) {
        return "an answer of another script";
    }
    for (size_t i = 0; i < call->n; i++) {
        struct entry *entry = call->entries[i];
        entry->is_there = entry->must_release = false;
        session->events.unsafe_tag =
            entry->may_return ? session->calls.last_tag : session->events.unsafe_tag;
        if (!entry->lease) {
            entry_free(session, entry);
            continue;
        }
        entry_wait_for_renewal(session, entry);
        session->renewal.is_wanted = true;
    }
    return NULL;
}

static void release_has_failed(
    struct session *session, struct inflight_call *call, const struct answer *answer)
{
    (void)answer;
    for (size_t i = 0; i < call->n; i++) {
        entry_wait_for_renewal(session, call->entries[i]);
    }
}

/* ---- nothing too early ---- */

void entries_are_listed(struct session *session, uint64_t tag)
{
    struct entry *entry;
    session->events.unsafe_tag = session->hello.is_new ? session->events.unsafe_tag : tag;
    while (!is_safe(session) && (entry = TAILQ_FIRST(&session->leases.entries[ENTRY_UNSENT]))) {
        entry_wait_for_renewal(session, entry);
        session->renewal.is_wanted = true;
    }
}

void entries_renewed(struct session *session, uint64_t tag)
{
    struct entry *entry;
    session->events.renewed_tag = tag;
    while ((entry = TAILQ_FIRST(&session->leases.entries[ENTRY_LATER])) && entry->after < tag) {
        bool must_end = !entry->lease || entry->must_release;
        entry_move(session, entry, must_end ? ENTRY_ENDING : ENTRY_UNSENT);
    }
}

/* ---- grants and refusals ---- */

/* The job would have to be stopped before it begins. */
static bool is_late(const struct session *session, const struct lease *lease)
{
    return session->now >= session->tenure.good_until - lease_stop_budget(lease);
}

static void give_late_grant_back(struct session *session, struct entry *entry)
{
    if (entry->lease->wants_now || session_cannot_stop_in_time(session, entry->lease)) {
        entry_refuse(session, entry, OUTCOME_DOWN);
    }
    entry_end(session, entry);
}

static void take_grant(
    struct session *session, struct entry *entry, uint64_t ticket, const char *text)
{
    struct lease *lease = entry->lease;
    const char *wrong = claims_read(&session->calls.claims, text, lease);
    if (!wrong &&
        !core_fleet_granted(session->core, lease, ticket, session->calls.claims.list, session->now,
            session->effects)) {
        wrong = "an impossible grant";
    }
    if (wrong) {
        session_say(session, "%s: %.200s", wrong, text);
        entry_refuse(session, entry, OUTCOME_DOWN);
        entry_end(session, entry);
    }
}

void entry_granted(
    struct session *session, struct entry *entry, uint64_t ticket, const char *claims)
{
    bool is_asked_for = entry->state == ENTRY_KNOWN || entry->state == ENTRY_ASKED;
    session_note_numbers(session, claims_highest_token(claims), ticket);
    if (!is_asked_for || entry->must_release) {
        return; /* an earlier grant: it is being given back, or has been */
    }
    if (!entry->lease) {
        entry_end(session, entry);
    } else if (entry->lease->state == LEASE_WAITING && is_late(session, entry->lease)) {
        give_late_grant_back(session, entry);
    } else if (entry->lease->state == LEASE_WAITING) {
        take_grant(session, entry, ticket, claims);
    }
}

void entry_lost(struct session *session, struct entry *entry)
{
    struct lease *lease = entry->lease;
    if (lease && lease->state == LEASE_HELD) {
        entry_detach(entry);
        core_fleet_lost(session->core, lease, session->now, session->effects);
    }
    if (entry_is_in_flight(entry)) {
        entry->must_release = true; /* whether before or after is unknown */
    } else if (entry->state == ENTRY_KNOWN && !entry->lease) {
        entry_free(session, entry);
    } else if (entry->state == ENTRY_KNOWN) {
        entry->is_there = false;
        entry_move(session, entry, ENTRY_UNSENT);
    }
}

/* A grace grants nothing, and may have taken back what was granted before it. */
void entry_refuse_to_wait(struct session *session, struct entry *entry)
{
    bool is_grace = session->grace_until != NEVER && session->now < session->grace_until;
    entry_refuse(session, entry, is_grace ? OUTCOME_GRACE : OUTCOME_WOULD_WAIT);
    entry_end(session, entry);
}

static const char *is_waiting(struct session *session, const struct inflight_call *call,
    struct entry *entry, const struct answer *answer)
{
    uint64_t ticket, position;
    (void)call;
    if (!answer_number(answer, 0, MAX_DATABASE_NUMBER, &ticket) || ticket == 0 ||
        !answer_number(answer, 1, UINT32_MAX, &position)) {
        return "no ticket or no position";
    }
    session_note_numbers(session, 0, ticket);
    if (!entry_is_known(session, entry) || entry->lease->state == LEASE_HELD) {
        return NULL; /* HELD: the message about the grant was faster */
    }
    if (entry->lease->wants_now) {
        entry_refuse_to_wait(session, entry);
        return NULL;
    }
    core_fleet_waits(session->core, entry->lease, ticket, (uint32_t)position, session->effects);
    return NULL;
}

static const char *is_granted(struct session *session, const struct inflight_call *call,
    struct entry *entry, const struct answer *answer)
{
    uint64_t ticket;
    const char *claims;
    (void)call;
    if (!answer_number(answer, 0, MAX_DATABASE_NUMBER, &ticket) ||
        !answer_text(answer, 1, &claims)) {
        return "no ticket or no claims";
    }
    if (entry_is_known(session, entry)) {
        entry_granted(session, entry, ticket, claims);
    } else {
        session_note_numbers(session, claims_highest_token(claims), ticket);
    }
    return NULL;
}

/* The file has a definition that an operator on another host has had forgotten in the database. The
 * lease is requested again behind that definition, which is sent again: at once, for each such
 * answer requires a separate forget; after some in a row, once in each renewal period. */
static void ask_again(struct session *session, struct entry *entry)
{
    if (entry->n_unknown == MAX_UNKNOWN_AT_ONCE) {
        entry_wait_for_renewal(session, entry);
    } else {
        entry->n_unknown++;
        entry_move(session, entry, ENTRY_UNSENT);
    }
}

/* Whether the database lacked the definition of that resource, which the file has. All that the
 * lease needs are sent. */
static bool definitions_are_missing(
    struct session *session, const struct lease *lease, const char *resource, uint64_t tag)
{
    bool is_ours = false;
    for (size_t i = 0; i < lease->n_claims; i++) {
        const char *name = lease->claims[i].resource->name;
        bool is_missing = definition_is_missing(session, name, tag);
        is_ours |= is_missing && strcmp(name, resource) == 0;
    }
    return is_ours;
}

void entry_refuse_for(
    struct session *session, struct entry *entry, enum outcome why, const char *resource)
{
    const struct lease *lease = entry->lease;
    const size_t from = session->effects->n;
    bool is_known = false;
    for (size_t i = 0; i < lease->n_claims; i++) {
        is_known |= strcmp(lease->claims[i].resource->name, resource) == 0;
    }
    entry_refuse(session, entry, why);
    if (is_known) {
        effects_name_resource(session->effects, from, lease, resource);
    }
}

void lease_is_replaced(struct session *session, struct lease *lease, const char *by)
{
    static const struct actor nobody;
    char reason[REASON_BYTES + 1];
    snprintf(reason, sizeof reason, "lease %.60s replaces it", by);
    lease_note_taker(lease, &nobody, reason);
    core_fleet_refused(
        session->core, lease, OUTCOME_REPLACED, session->now, session->effects);
}

static const char *entry_is_refused(struct session *session,
    const struct inflight_call *call, struct entry *entry, const struct answer *answer)
{
    const char *code, *detail;
    if (!answer_text(answer, 0, &code) || !answer_text(answer, 1, &detail)) {
        return "no code, or not of what";
    }
    bool may_wait = entry->lease && entry->lease->state == LEASE_WAITING;
    if (refusal_outcome(code) == OUTCOME_REPLACED && (may_wait || !entry->lease)) {
        if (entry_is_known(session, entry)) {
            lease_is_replaced(session, entry->lease, detail);
        }
        return NULL;
    }
    entry->is_there = entry->must_release = false;
    if (may_wait && refusal_outcome(code) == OUTCOME_UNKNOWN &&
        definitions_are_missing(session, entry->lease, detail, call->tag)) {
        ask_again(session, entry);
        return NULL;
    }
    if (may_wait) {
        entry_refuse_for(session, entry, refusal_outcome(code), detail);
    }
    entry_move(session, entry, ENTRY_KNOWN);
    entry_lost(session, entry);
    return NULL;
}

enum { N_ROW = 3 }; /* a word, and two fields of its own */

/* What has become of a requested lease. */
static const struct {
    const char *word;
    const char *(*take)(struct session *session, const struct inflight_call *call,
        struct entry *entry, const struct answer *answer);
} acquired_rows[] = {
    {"granted", is_granted},
    {"waiting", is_waiting},
    {"refused", entry_is_refused},
};

static const char *take_acquired(struct session *session, const struct inflight_call *call,
    size_t i, const struct answer *answer)
{
    const struct answer row = {.fields = answer->fields + i * N_ROW + 1, .n = N_ROW - 1};
    const char *word;
    bool is_text = answer_text(answer, i * N_ROW, &word);
    for (size_t k = 0; is_text && k < sizeof acquired_rows / sizeof acquired_rows[0]; k++) {
        if (strcmp(acquired_rows[k].word, word) == 0) {
            return acquired_rows[k].take(session, call, call->entries[i], &row);
        }
    }
    return "an unknown answer";
}

static const char *acquire_is_answered(
    struct session *session, struct inflight_call *call, const struct answer *answer)
{
    if (answer->kind != REPLY_OK || answer->n != call->n * N_ROW) {
        return "not an answer for each";
    }
    for (size_t i = 0; i < call->n; i++) {
        const char *wrong = take_acquired(session, call, i, answer);
        if (wrong) {
            return wrong;
        }
    }
    return NULL;
}

static void has_failed(struct session *session, struct entry *entry)
{
    if (!entry_is_known(session, entry) || entry->lease->state == LEASE_HELD) {
        return;
    }
    if (entry->lease->ticket != 0) {
        entry_wait_for_renewal(session, entry);
    } else {
        entry_refuse(session, entry, OUTCOME_DOWN);
        entry_end(session, entry);
    }
}

static void acquire_has_failed(
    struct session *session, struct inflight_call *call, const struct answer *answer)
{
    (void)answer;
    for (size_t i = 0; i < call->n; i++) {
        has_failed(session, call->entries[i]);
    }
}
