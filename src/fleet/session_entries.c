/* session_entries.c - what the session remembers about each lease: one list for each state. */
#include "fleet/session_internal.h"

#include "core/ranges.h"

#include <stdlib.h>

bool lease_has_place(const struct lease *lease)
{
    return lease->state == LEASE_HELD || lease->ticket != 0;
}

/* ---- entries ---- */

/* A request whose answer was lost may have a place in the database, or units. */
static bool entry_is_to_be_listed(const struct entry *entry)
{
    return entry->is_there || lease_has_place(entry->lease);
}

bool entry_is_in_flight(const struct entry *entry)
{
    return entry->state >= ENTRY_LISTING;
}

/* Entries that come back to this list were requested before all that are still in it. */
static void insert_unsent(struct session *session, struct entry *entry)
{
    struct entry_list *list = &session->leases.entries[ENTRY_UNSENT];
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
        TAILQ_INSERT_TAIL(&session->leases.entries[state], entry, link);
    }
}

void entry_move(struct session *session, struct entry *entry, enum entry_state state)
{
    TAILQ_REMOVE(&session->leases.entries[entry->state], entry, link);
    entry_insert(session, entry, state);
}

struct entry *entry_find(const struct session *session, uint64_t id)
{
    struct table_node *node = table_find_number(&session->leases.by_id, id);
    return node ? container_of(node, struct entry, by_id) : NULL;
}

/* The work that the lease is for a database: each claim, its scattered slots, all items of its
 * pool. */
static uint32_t weigh(const struct lease *lease)
{
    uint32_t weight = 0;
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct claim *claim = &lease->claims[i];
        uint32_t max = slots_max_words(claim->count, 1);
        weight += resource_is_pool(claim->resource)
            ? 1 + (uint32_t)claim->resource->definition->n_items / 16
            : 1 + max / 8;
    }
    return weight;
}

void entry_attach(struct entry *entry, struct lease *lease)
{
    entry->weight = weigh(lease);
    entry->lease = lease;
    lease->entry = entry;
}

void entry_detach(struct entry *entry)
{
    if (entry->lease) {
        entry->lease->entry = NULL;
        entry->lease = NULL;
    }
}

struct entry *entry_new(struct session *session, uint64_t id, enum entry_state state)
{
    struct entry *entry = memory_new(sizeof *entry);
    entry->id = id;
    entry->serial = ++session->leases.last_serial;
    table_insert(&session->leases.by_id, &entry->by_id, hash_number(entry->id));
    entry_insert(session, entry, state);
    return entry;
}

void entry_free(struct session *session, struct entry *entry)
{
    entry_detach(entry);
    TAILQ_REMOVE(&session->leases.entries[entry->state], entry, link);
    table_remove(&session->leases.by_id, &entry->by_id);
    free(entry->claims);
    free(entry->ending);
    free(entry);
}

void entries_deinit(struct session *session)
{
    struct entry *entry;
    for (size_t state = 0; state < N_ENTRY_STATES; state++) {
        while ((entry = TAILQ_FIRST(&session->leases.entries[state]))) {
            entry_free(session, entry);
        }
    }
    table_deinit(&session->leases.by_id);
}

void entry_release_orphan(struct session *session, uint64_t id)
{
    struct entry *entry = entry_new(session, id, ENTRY_ENDING);
    entry->is_there = entry->must_release = true;
}

bool entry_is_to_be_told(const struct entry *entry)
{
    return !entry->lease && entry->is_there && entry->ending;
}

/* The database may know the lease, and must forget it. */
void entry_end(struct session *session, struct entry *entry)
{
    entry->must_release = true;
    if (!entry_is_in_flight(entry)) {
        entry_move(session, entry, ENTRY_ENDING);
    }
}

void entry_wait_for_renewal(struct session *session, struct entry *entry)
{
    entry->after = session->calls.last_tag;
    entry_move(session, entry, ENTRY_LATER);
}

bool entry_is_known(struct session *session, struct entry *entry)
{
    entry->is_there = true;
    entry->n_unknown = 0;
    entry_move(session, entry, ENTRY_KNOWN);
    if (!entry->lease || entry->must_release) {
        entry_end(session, entry);
        return false;
    }
    return true;
}

void entry_refuse(struct session *session, struct entry *entry, enum outcome why)
{
    struct lease *lease = entry->lease;
    entry_detach(entry);
    core_fleet_refused(session->core, lease, why, session->now, session->effects);
}

/* The hello that follows does the rest. */
void entry_is_undone(struct session *session, struct entry *entry)
{
    entry->must_release = false;
    free(entry->claims);
    entry->claims = NULL;
    if (entry_is_to_be_told(entry)) {
        entry_move(session, entry, ENTRY_ENDING);
    } else if (!entry->lease) {
        entry_free(session, entry);
    } else {
        entry_move(session, entry, entry_is_to_be_listed(entry) ? ENTRY_UNLISTED : ENTRY_UNSENT);
    }
}

/* ---- all of them ---- */

static void unlist_state(struct session *session, enum entry_state state)
{
    struct entry_list list = TAILQ_HEAD_INITIALIZER(list);
    struct entry *entry, *next;
    TAILQ_CONCAT(&list, &session->leases.entries[state], link);
    for (entry = TAILQ_FIRST(&list); entry; entry = next) {
        next = TAILQ_NEXT(entry, link);
        TAILQ_REMOVE(&list, entry, link);
        TAILQ_INSERT_TAIL(&session->leases.entries[state], entry, link);
        entry_is_undone(session, entry);
    }
}

void entries_unlist(struct session *session)
{
    for (enum entry_state state = 0; state < N_ENTRY_STATES; state++) {
        unlist_state(session, state);
    }
}

void entries_refuse(struct session *session, bool waiters)
{
    struct entry *entry, *next;
    entries_unlist(session);
    for (entry = TAILQ_FIRST(&session->leases.entries[ENTRY_UNLISTED]); entry; entry = next) {
        next = TAILQ_NEXT(entry, link);
        if (!lease_has_place(entry->lease) || (waiters && entry->lease->state == LEASE_WAITING)) {
            entry_refuse(session, entry, OUTCOME_DOWN);
            entry_free(session, entry);
        }
    }
    while ((entry = TAILQ_FIRST(&session->leases.entries[ENTRY_UNSENT]))) {
        entry_refuse(session, entry, OUTCOME_DOWN);
        entry_free(session, entry);
    }
}
