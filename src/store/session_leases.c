/* session_leases.c - what the database is asked for, and what it says of each lease. */
#include "store/session_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- entries ---- */

static bool is_in_flight(const struct entry *entry)
{
    return entry->state >= ENTRY_LISTING;
}

/* Those that come back to it were asked for before all that are still in it. */
static void insert_unsent(struct session *session, struct entry *entry)
{
    struct entry_list *list = &session->entries[ENTRY_UNSENT];
    struct entry *other = TAILQ_LAST(list, entry_list);
    if (!other || other->serial < entry->serial) {
        TAILQ_INSERT_TAIL(list, entry, link);
        return;
    }
    other = TAILQ_FIRST(list);
    while (other->serial < entry->serial) {
        other = TAILQ_NEXT(other, link);
    }
    TAILQ_INSERT_BEFORE(other, entry, link);
}

static void entry_insert(struct session *session, struct entry *entry, enum entry_state state)
{
    entry->state = (uint8_t)state;
    if (state == ENTRY_UNSENT) {
        insert_unsent(session, entry);
    } else {
        TAILQ_INSERT_TAIL(&session->entries[state], entry, link);
    }
}

void entry_move(struct session *session, struct entry *entry, enum entry_state state)
{
    TAILQ_REMOVE(&session->entries[entry->state], entry, link);
    entry_insert(session, entry, state);
}

struct entry *entry_find(const struct session *session, uint64_t id)
{
    struct table_node *node = table_find(&session->entries_by_id, hash_number(id));
    for (; node; node = table_find_next(node)) {
        struct entry *entry = container_of(node, struct entry, by_id);
        if (entry->id == id) {
            return entry;
        }
    }
    return NULL;
}

static void entry_attach(struct entry *entry, struct lease *lease)
{
    entry->lease = lease;
    lease->entry = entry;
}

static void entry_detach(struct entry *entry)
{
    if (entry->lease) {
        entry->lease->entry = NULL;
        entry->lease = NULL;
    }
}

static struct entry *entry_new(struct session *session, uint64_t id, enum entry_state state)
{
    struct entry *entry = memory_new(sizeof *entry);
    entry->id = id;
    entry->serial = ++session->last_serial;
    table_insert(&session->entries_by_id, &entry->by_id, hash_number(entry->id));
    entry_insert(session, entry, state);
    return entry;
}

static void entry_free(struct session *session, struct entry *entry)
{
    entry_detach(entry);
    TAILQ_REMOVE(&session->entries[entry->state], entry, link);
    table_remove(&session->entries_by_id, &entry->by_id);
    free(entry->claims);
    free(entry);
}

void entries_deinit(struct session *session)
{
    struct entry *entry;
    for (size_t state = 0; state < N_ENTRY_STATES; state++) {
        while ((entry = TAILQ_FIRST(&session->entries[state]))) {
            entry_free(session, entry);
        }
    }
    table_deinit(&session->entries_by_id);
}

void entry_disown(struct session *session, uint64_t id)
{
    struct entry *entry = entry_new(session, id, ENTRY_ENDING);
    entry->is_there = entry->must_release = true;
}

/* The database may know it, and must not. */
static void entry_end(struct session *session, struct entry *entry)
{
    entry->must_release = true;
    if (!is_in_flight(entry)) {
        entry_move(session, entry, ENTRY_ENDING);
    }
}

static void entry_wait_for_renewal(struct session *session, struct entry *entry)
{
    entry->after = session->last_tag;
    entry_move(session, entry, ENTRY_LATER);
}

static bool is_safe(const struct session *session)
{
    return session->renewed_tag >= session->unsafe_tag;
}

bool entry_is_known(struct session *session, struct entry *entry)
{
    entry->is_there = true;
    entry_move(session, entry, ENTRY_KNOWN);
    if (!entry->lease || entry->must_release) {
        entry_end(session, entry);
        return false;
    }
    return true;
}

static void refuse(struct session *session, struct entry *entry, enum outcome why, nanoseconds now,
    struct effects *effects)
{
    struct lease *lease = entry->lease;
    entry_detach(entry);
    core_fleet_refused(session->core, lease, why, now, effects);
}

/* ---- asked by the core ---- */

static bool has_place(const struct lease *lease)
{
    return lease->state == LEASE_HELD || lease->ticket != 0;
}

void session_ask(
    struct session *session, struct lease *lease, nanoseconds now, struct effects *effects)
{
    struct entry *entry = entry_find(session, lease->id);
    bool is_away = session_is_away(session);
    if (is_away && (session->state == SESSION_REPLACED || !has_place(lease))) {
        core_fleet_refused(session->core, lease, OUTCOME_DOWN, now, effects);
    } else if (entry) {
        entry_attach(entry, lease); /* what is still in flight must be over first */
    } else {
        entry = entry_new(session, lease->id, is_away ? ENTRY_UNLISTED : ENTRY_UNSENT);
        entry_attach(entry, lease);
        if (session->state == SESSION_UP && !is_safe(session)) {
            entry_wait_for_renewal(session, entry);
            session->wants_renewal = true;
        }
    }
}

void session_give_back(struct session *session, struct lease *lease, nanoseconds now)
{
    struct entry *entry = lease->entry;
    (void)now;
    if (!entry) {
        return;
    }
    entry->may_return = lease->state == LEASE_WAITING;
    entry_detach(entry);
    if (entry->state == ENTRY_UNLISTED || (!entry->is_there && !is_in_flight(entry))) {
        entry_free(session, entry);
    } else {
        entry_end(session, entry);
    }
}

void session_restore(struct session *session, struct lease *lease)
{
    struct entry *entry = lease->entry;
    if (!entry) {
        entry = entry_new(session, lease->id, ENTRY_UNSENT);
        entry_attach(entry, lease);
    }
    if (entry->state == ENTRY_UNSENT && has_place(lease)) {
        entry_move(session, entry, ENTRY_UNLISTED);
    }
    if (session->state == SESSION_UP && entry->state == ENTRY_UNLISTED) {
        listing_begin(session);
    }
}

/* ---- what is sent ---- */

static struct flight *release_some(struct session *session)
{
    struct arguments *arguments = flight_arguments(session);
    struct flight *call = flight_new(CALL_RELEASE, CHUNK);
    struct entry *entry;
    while (call->n < CHUNK && (entry = TAILQ_FIRST(&session->entries[ENTRY_ENDING]))) {
        call_add_id(arguments, entry->id);
        call->entries[call->n++] = entry;
        entry_move(session, entry, ENTRY_RELEASING);
    }
    return call;
}

/* The base of a call costs the database several times what a lease does. */
static struct flight *acquire_some(struct session *session)
{
    struct arguments *arguments = flight_arguments(session);
    struct flight *call = flight_new(CALL_ACQUIRE, MOST_ASKED);
    struct entry *entry;
    while (call->n < MOST_ASKED && (entry = TAILQ_FIRST(&session->entries[ENTRY_UNSENT]))) {
        call_add_acquire(arguments, session->core, entry->lease, session->wall_offset);
        call->entries[call->n++] = entry;
        entry->is_there = true;
        entry_move(session, entry, ENTRY_ASKED);
    }
    return call;
}

bool leases_next_call(struct session *session, nanoseconds now, struct session_call *out)
{
    if (session->n_in_flight >= MAX_IN_FLIGHT) {
        return false;
    }
    if (!TAILQ_EMPTY(&session->entries[ENTRY_ENDING])) {
        flight_send(session, release_some(session), now, out);
        return true;
    }
    if (!TAILQ_EMPTY(&session->entries[ENTRY_UNSENT])) {
        flight_send(session, acquire_some(session), now, out);
        return true;
    }
    return false;
}

/* ---- what the database says ---- */

/* The job would have to be stopped before it has begun. */
static bool is_late(const struct session *session, const struct lease *lease, nanoseconds now)
{
    return now >= session->good_until - lease_stop_budget(lease);
}

/* Nor would it be any better right after a renewal. */
static bool is_hopeless(const struct session *session, const struct lease *lease)
{
    return lease_stop_budget(lease) >= session_good_for(session) - session->ttl / 6;
}

static void give_late_grant_back(
    struct session *session, struct entry *entry, nanoseconds now, struct effects *effects)
{
    if (entry->lease->wants_now || is_hopeless(session, entry->lease)) {
        refuse(session, entry, OUTCOME_DOWN, now, effects);
    }
    entry_end(session, entry);
}

static void take_grant(struct session *session, struct entry *entry, uint64_t ticket,
    const char *text, nanoseconds now, struct effects *effects)
{
    struct lease *lease = entry->lease;
    const char *wrong = claims_read(&session->claims, text, lease);
    if (!wrong &&
        !core_fleet_granted(session->core, lease, ticket, session->claims.list, now, effects)) {
        wrong = "a grant that cannot be true";
    }
    if (wrong) {
        session_say(session, "%s: %.200s", wrong, text);
        refuse(session, entry, OUTCOME_DOWN, now, effects);
        entry_end(session, entry);
    }
}

void entry_granted(struct session *session, struct entry *entry, uint64_t ticket,
    const char *claims, nanoseconds now, struct effects *effects)
{
    bool is_asked_for = entry->state == ENTRY_KNOWN || entry->state == ENTRY_ASKED;
    session_saw(session, claims_highest_token(claims), ticket);
    if (!is_asked_for || entry->must_release) {
        return; /* of before: it is being given back, or has been */
    }
    if (!entry->lease) {
        entry_end(session, entry);
    } else if (entry->lease->state == LEASE_WAITING && is_late(session, entry->lease, now)) {
        give_late_grant_back(session, entry, now, effects);
    } else if (entry->lease->state == LEASE_WAITING) {
        take_grant(session, entry, ticket, claims, now, effects);
    }
}

void entry_lost(
    struct session *session, struct entry *entry, nanoseconds now, struct effects *effects)
{
    struct lease *lease = entry->lease;
    if (lease && lease->state == LEASE_HELD) {
        entry_detach(entry);
        core_fleet_lost(session->core, lease, now, effects);
    }
    if (is_in_flight(entry)) {
        entry->must_release = true; /* whether that was before or after is not known */
    } else if (entry->state == ENTRY_KNOWN && !entry->lease) {
        entry_free(session, entry);
    } else if (entry->state == ENTRY_KNOWN) {
        entry->is_there = false;
        entry_move(session, entry, ENTRY_UNSENT);
    }
}

static const char *is_waiting(struct session *session, struct entry *entry,
    const struct answer *answer, nanoseconds now, struct effects *effects)
{
    uint64_t ticket, position;
    if (!answer_number(answer, 0, MAX_DATABASE_NUMBER, &ticket) || ticket == 0 ||
        !answer_number(answer, 1, UINT32_MAX, &position)) {
        return "no ticket or no position";
    }
    session_saw(session, 0, ticket);
    if (!entry_is_known(session, entry) || entry->lease->state == LEASE_HELD) {
        return NULL; /* HELD: the message that it is granted was faster */
    }
    if (entry->lease->wants_now) {
        refuse(session, entry, OUTCOME_WOULD_WAIT, now, effects);
        entry_end(session, entry);
        return NULL;
    }
    core_fleet_waits(session->core, entry->lease, ticket, (uint32_t)position, effects);
    return NULL;
}

static const char *is_granted(struct session *session, struct entry *entry,
    const struct answer *answer, nanoseconds now, struct effects *effects)
{
    uint64_t ticket;
    const char *claims;
    if (!answer_number(answer, 0, MAX_DATABASE_NUMBER, &ticket) ||
        !answer_text(answer, 1, &claims)) {
        return "no ticket or no claims";
    }
    if (entry_is_known(session, entry)) {
        entry_granted(session, entry, ticket, claims, now, effects);
    } else {
        session_saw(session, claims_highest_token(claims), ticket);
    }
    return NULL;
}

static const char *is_refused(struct session *session, struct entry *entry,
    const struct answer *answer, nanoseconds now, struct effects *effects)
{
    const char *code;
    if (!answer_text(answer, 0, &code)) {
        return "no code";
    }
    entry->is_there = entry->must_release = false;
    if (entry->lease && entry->lease->state == LEASE_WAITING) {
        refuse(session, entry, refusal_outcome(code), now, effects);
    }
    entry_move(session, entry, ENTRY_KNOWN);
    entry_lost(session, entry, now, effects);
    return NULL;
}

enum { N_ROW = 3 }; /* a word, and two fields of its own */

static const char *(*const acquired_table[N_ACQUIRED])(struct session *session, struct entry *entry,
    const struct answer *answer, nanoseconds now, struct effects *effects) = {
    [ACQUIRED_GRANTED] = is_granted,
    [ACQUIRED_WAITING] = is_waiting,
    [ACQUIRED_REFUSED] = is_refused,
};

const char *acquire_is_answered(struct session *session, struct flight *call,
    const struct answer *answer, nanoseconds now, struct effects *effects)
{
    if (answer->kind != ANSWER_OK || answer->n != call->n * N_ROW) {
        return "not an answer for each";
    }
    for (size_t i = 0; i < call->n; i++) {
        enum acquired word;
        struct answer row = {.fields = answer->fields + i * N_ROW + 1, .n = N_ROW - 1};
        const char *wrong = "an unknown answer";
        if (acquired_read(answer, i * N_ROW, &word)) {
            wrong = acquired_table[word](session, call->entries[i], &row, now, effects);
        }
        if (wrong) {
            return wrong;
        }
    }
    return NULL;
}

static void has_failed(
    struct session *session, struct entry *entry, nanoseconds now, struct effects *effects)
{
    if (!entry_is_known(session, entry) || entry->lease->state == LEASE_HELD) {
        return;
    }
    if (entry->lease->ticket != 0) {
        entry_wait_for_renewal(session, entry);
    } else {
        refuse(session, entry, OUTCOME_DOWN, now, effects);
        entry_end(session, entry);
    }
}

void acquire_has_failed(struct session *session, struct flight *call, const struct answer *answer,
    nanoseconds now, struct effects *effects)
{
    (void)answer;
    for (size_t i = 0; i < call->n; i++) {
        has_failed(session, call->entries[i], now, effects);
    }
}

/* The hello that follows sees to the rest. */
static void is_undone(struct session *session, struct entry *entry)
{
    entry->must_release = false;
    if (!entry->lease) {
        entry_free(session, entry);
    } else {
        entry_move(session, entry, has_place(entry->lease) ? ENTRY_UNLISTED : ENTRY_UNSENT);
    }
}

void acquire_is_undone(struct session *session, struct flight *call)
{
    for (size_t i = 0; i < call->n; i++) {
        is_undone(session, call->entries[i]);
    }
}

/* ---- releases ---- */

const char *release_is_answered(struct session *session, struct flight *call,
    const struct answer *answer, nanoseconds now, struct effects *effects)
{
    (void)now, (void)effects;
    if (answer->kind != ANSWER_OK) {
        return "an answer of another script";
    }
    for (size_t i = 0; i < call->n; i++) {
        struct entry *entry = call->entries[i];
        entry->is_there = entry->must_release = false;
        session->unsafe_tag = entry->may_return ? session->last_tag : session->unsafe_tag;
        if (!entry->lease) {
            entry_free(session, entry);
            continue;
        }
        entry_wait_for_renewal(session, entry);
        session->wants_renewal = true;
    }
    return NULL;
}

void release_has_failed(struct session *session, struct flight *call, const struct answer *answer,
    nanoseconds now, struct effects *effects)
{
    (void)answer, (void)now, (void)effects;
    for (size_t i = 0; i < call->n; i++) {
        entry_wait_for_renewal(session, call->entries[i]);
    }
}

void release_is_undone(struct session *session, struct flight *call)
{
    for (size_t i = 0; i < call->n; i++) {
        is_undone(session, call->entries[i]);
    }
}

void entries_are_listed(struct session *session, uint64_t tag)
{
    struct entry *entry;
    session->unsafe_tag = session->is_new ? session->unsafe_tag : tag;
    while (!is_safe(session) && (entry = TAILQ_FIRST(&session->entries[ENTRY_UNSENT]))) {
        entry_wait_for_renewal(session, entry);
        session->wants_renewal = true;
    }
}

void entries_renewed(struct session *session, uint64_t tag)
{
    struct entry *entry;
    session->renewed_tag = tag;
    while ((entry = TAILQ_FIRST(&session->entries[ENTRY_LATER])) && entry->after < tag) {
        bool must_end = !entry->lease || entry->must_release;
        entry_move(session, entry, must_end ? ENTRY_ENDING : ENTRY_UNSENT);
    }
}

/* ---- all of them ---- */

static void entry_unlist(struct session *session, struct entry *entry)
{
    entry->must_release = false;
    free(entry->claims);
    entry->claims = NULL;
    if (!entry->lease) {
        entry_free(session, entry);
    } else if (has_place(entry->lease)) {
        entry_move(session, entry, ENTRY_UNLISTED);
    } else {
        entry_move(session, entry, ENTRY_UNSENT);
    }
}

static void unlist_state(struct session *session, enum entry_state state)
{
    struct entry_list list = TAILQ_HEAD_INITIALIZER(list);
    struct entry *entry, *next;
    TAILQ_CONCAT(&list, &session->entries[state], link);
    for (entry = TAILQ_FIRST(&list); entry; entry = next) {
        next = TAILQ_NEXT(entry, link);
        TAILQ_REMOVE(&list, entry, link);
        TAILQ_INSERT_TAIL(&session->entries[state], entry, link);
        entry_unlist(session, entry);
    }
}

void entries_unlist(struct session *session)
{
    for (enum entry_state state = 0; state < N_ENTRY_STATES; state++) {
        unlist_state(session, state);
    }
}

void entries_refuse(struct session *session, bool waiters, nanoseconds now, struct effects *effects)
{
    struct entry *entry, *next;
    entries_unlist(session);
    while ((entry = TAILQ_FIRST(&session->entries[ENTRY_UNSENT]))) {
        refuse(session, entry, OUTCOME_DOWN, now, effects);
        entry_free(session, entry);
    }
    for (entry = TAILQ_FIRST(&session->entries[ENTRY_UNLISTED]); waiters && entry; entry = next) {
        next = TAILQ_NEXT(entry, link);
        if (entry->lease->state == LEASE_WAITING) {
            refuse(session, entry, OUTCOME_DOWN, now, effects);
            entry_free(session, entry);
        }
    }
}
