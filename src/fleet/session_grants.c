/* session_grants.c - the database's answers about leases that it was asked for. */
#include "fleet/session_internal.h"

#include <string.h>

/* ---- grants and refusals ---- */

/* The job would have to be stopped before it begins. */
static bool is_late(const struct session *session, const struct lease *lease)
{
    return session->now >= session->tenure.good_until - lease_stop_budget(lease);
}

/* Even right after a renewal it would be no better. */
bool session_cannot_stop_in_time(const struct session *session, const struct lease *lease)
{
    return lease_stop_budget(lease) >=
        timing_good_for(session->tenure.ttl) - timing_renewal(session->tenure.ttl);
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

/* `resource` as the database says. */
static void refuse_for(
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

static const char *session_grants_is_refused(struct session *session,
    const struct inflight_call *call, struct entry *entry, const struct answer *answer)
{
    const char *code, *detail;
    if (!answer_text(answer, 0, &code) || !answer_text(answer, 1, &detail)) {
        return "no code, or not of what";
    }
    bool may_wait = entry->lease && entry->lease->state == LEASE_WAITING;
    entry->is_there = entry->must_release = false;
    if (may_wait && refusal_outcome(code) == OUTCOME_UNKNOWN &&
        definitions_are_missing(session, entry->lease, detail, call->tag)) {
        ask_again(session, entry);
        return NULL;
    }
    if (may_wait) {
        refuse_for(session, entry, refusal_outcome(code), detail);
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
    {"refused", session_grants_is_refused},
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

const char *acquire_is_answered(
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

void acquire_has_failed(
    struct session *session, struct inflight_call *call, const struct answer *answer)
{
    (void)answer;
    for (size_t i = 0; i < call->n; i++) {
        has_failed(session, call->entries[i]);
    }
}
