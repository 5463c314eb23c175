#include "core/tally.h"

#include "base/memory.h"
#include "core/internal.h"

#include <stdlib.h>
#include <string.h>

enum { FEW_TALLIES = 256 }; /* so many are kept whatever the file defines */

/* ---- units ---- */

/* Until `now`, in microseconds. */
static inline uint64_t unit_seconds(const struct tally *tally, uint64_t now)
{
    uint64_t held_for = now > tally->until ? now - tally->until : 0;
    return tally->unit_seconds + tally->n_held * held_for;
}

/* `now` in microseconds. */
static inline void change_held(struct tally *tally, uint32_t change, uint64_t now)
{
    tally->unit_seconds = unit_seconds(tally, now);
    tally->until = now > tally->until ? now : tally->until;
    tally->n_held += change; /* modulo 2^32 */
}

/* ---- who waits, who holds ---- */

static inline nanoseconds since(const struct claim *claim, bool is_held)
{
    return is_held ? claim->lease->granted_at : claim->lease->asked_at;
}

static inline void list_by_age(struct claim_list *list, struct claim *claim, bool is_held)
{
    struct claim *before = TAILQ_LAST(list, claim_list);
    while (before && since(before, is_held) > since(claim, is_held)) {
        before = TAILQ_PREV(before, claim_list, tally_link);
    }
    if (before) {
        TAILQ_INSERT_AFTER(list, before, claim, tally_link);
    } else {
        TAILQ_INSERT_HEAD(list, claim, tally_link);
    }
}

void tally_wait(struct lease *lease)
{
    for (size_t i = 0; !lease->is_listed && i < lease->n_claims; i++) {
        struct claim *claim = &lease->claims[i];
        struct tally *tally = claim->resource->tally;
        list_by_age(&tally->waiting, claim, false);
        tally->n_waiting++;
    }
    lease->is_listed = true;
}

static inline void wait_is_over(struct lease *lease)
{
    for (size_t i = 0; lease->is_listed && i < lease->n_claims; i++) {
        struct claim *claim = &lease->claims[i];
        struct tally *tally = claim->resource->tally;
        TAILQ_REMOVE(&tally->waiting, claim, tally_link);
        tally->n_waiting--;
    }
    lease->is_listed = false;
}

void tally_hold(struct lease *lease, nanoseconds now)
{
    wait_is_over(lease);
    for (size_t i = 0; i < lease->n_claims; i++) {
        struct claim *claim = &lease->claims[i];
        struct tally *tally = claim->resource->tally;
        list_by_age(&tally->held, claim, true);
        change_held(tally, claim->count, microseconds(now));
    }
    lease->is_listed = true;
}

/* ---- what happens ---- */

/* A stop by the job's own user is one kind of revoking. */
static inline enum outcome reason_counted(enum outcome why)
{
    return why == OUTCOME_WITHDRAWN ? OUTCOME_REVOKED : why;
}

/* A request was refused, or a wait has ended. */
static void counts_deny(struct counts *counts, enum outcome why)
{
    counts->denied[reason_counted(why)]++;
}

void tally_grant(struct lease *lease, nanoseconds now)
{
    enum granted_how how = lease->has_waited ? GRANTED_AFTER_WAITING : GRANTED_AT_ONCE;
    for (size_t i = 0; i < lease->n_claims; i++) {
        struct counts *counts = &lease->claims[i].resource->tally->counts;
        counts->granted[how]++;
        metric_observe(&counts->wait, METRIC_SPANS, microseconds(now - lease->asked_at));
    }
    tally_hold(lease, now);
}

void tally_reclaim(const struct lease *lease)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        lease->claims[i].resource->tally->counts.reclaimed++;
    }
}

/* A held lease has ended. In microseconds. */
static void counts_end(struct counts *counts, enum outcome why, uint64_t held_for)
{
    counts->ended[reason_counted(why)]++;
    metric_observe(&counts->hold, METRIC_SPANS, held_for);
}

static void end_held(struct lease *lease, enum outcome why, nanoseconds now)
{
    uint64_t held_for = microseconds(now - lease->granted_at), until = microseconds(now);
    for (size_t i = 0; i < lease->n_claims; i++) {
        struct claim *claim = &lease->claims[i];
        struct tally *tally = claim->resource->tally;
        TAILQ_REMOVE(&tally->held, claim, tally_link);
        change_held(tally, -claim->count, until);
        if (why != OUTCOME_OK) {
            counts_end(&tally->counts, why, held_for);
            tally->recent[tally->n_recent++ % RECENT_HOLDS] = held_for;
        }
    }
    lease->is_listed = false;
}

enum outcome tally_end(struct lease *lease, enum outcome why, nanoseconds now)
{
    bool is_stopped = lease->stopping != OUTCOME_OK && why == OUTCOME_RELEASED;
    if (lease->state == LEASE_HELD) {
        why = is_stopped ? (enum outcome)lease->stopping : why;
        end_held(lease, why, now);
        return reason_counted(why);
    }
    wait_is_over(lease);
    for (size_t i = 0; why != OUTCOME_OK && i < lease->n_claims; i++) {
        counts_deny(&lease->claims[i].resource->tally->counts, why);
    }
    return reason_counted(why);
}

/* ---- requests and leases that the core does not have ---- */

void core_count_refused(struct core *core, const struct acquire_request *ask, enum outcome why)
{
    for (size_t i = 0; i < ask->n_wants; i++) {
        const struct definition *definition = core_find_definition(core, ask->wants[i].name);
        if (definition) {
            counts_deny(&tallies_find(core, definition->name)->counts, why);
        }
    }
}

void core_count_ended_earlier(
    struct core *core, const struct saved_lease *saved, enum outcome why, nanoseconds at)
{
    for (size_t i = 0; i < saved->n_claims; i++) {
        const char *name = saved->claims[i].name;
        if (saved->claims[i].sharer != 0) {
            continue;
        }
        const struct definition *definition = core_find_definition(core, name);
        struct tally *tally = tallies_find(core, definition ? definition->name : name);
        if (saved->is_held) {
            counts_end(&tally->counts, why, microseconds(at - saved->granted_at));
        } else {
            counts_deny(&tally->counts, why);
        }
    }
}

/* ---- another definition ---- */

static void move_claims(struct claim_list *from, struct claim_list *to,
    const struct resource *resource, bool is_held, uint32_t *n_claims, uint32_t *n_units)
{
    struct claim *next;
    for (struct claim *claim = TAILQ_FIRST(from); claim; claim = next) {
        next = TAILQ_NEXT(claim, tally_link);
        if (claim->resource == resource) {
            TAILQ_REMOVE(from, claim, tally_link);
            list_by_age(to, claim, is_held);
            ++*n_claims;
            *n_units += claim->count;
        }
    }
}

static void move_all(
    struct tally *from, struct tally *to, const struct resource *resource, nanoseconds now)
{
    uint32_t n_waiting = 0, n_holders = 0, wanted = 0, held = 0;
    move_claims(&from->waiting, &to->waiting, resource, false, &n_waiting, &wanted);
    move_claims(&from->held, &to->held, resource, true, &n_holders, &held);
    from->n_waiting -= n_waiting;
    to->n_waiting += n_waiting;
    change_held(from, -held, microseconds(now));
    change_held(to, held, microseconds(now));
}

void tally_move(struct resource *resource, struct tally *tally, nanoseconds now)
{
    struct tally *before = resource->tally;
    if (before == tally) {
        return;
    }
    if (before && tally) {
        move_all(before, tally, resource, now);
    }
    if (before) {
        before->n_resources--;
    }
    if (tally) {
        tally->n_resources++;
    }
    resource->tally = tally;
}

/* ---- all of them ---- */

static void tally_init(struct tally *tally)
{
    *tally = (struct tally){0};
    TAILQ_INIT(&tally->waiting);
    TAILQ_INIT(&tally->held);
}

void tallies_init(struct tallies *tallies)
{
    *tallies = (struct tallies){0};
    tally_init(&tallies->unnamed);
}

void tallies_deinit(struct tallies *tallies)
{
    for (size_t i = 0; i < tallies->n; i++) {
        table_remove(&tallies->by_name, &tallies->list[i]->by_name);
        free(tallies->list[i]->name);
        free(tallies->list[i]);
    }
    table_deinit(&tallies->by_name);
    free(tallies->list);
}

/* ---- the tallies, by the names of definitions ---- */

static struct tally *find(const struct tallies *tallies, const char *name)
{
    struct table_node *node = table_find(&tallies->by_name, hash_name(name));
    while (node && strcmp(container_of(node, struct tally, by_name)->name, name) != 0) {
        node = table_find_next(node);
    }
    return node ? container_of(node, struct tally, by_name) : NULL;
}

struct tally *tallies_find(struct core *core, const char *name)
{
    struct tallies *tallies = &core->tallies;
    struct tally *tally = find(tallies, name);
    char above[NAME_BYTES + 1];
    if (!tally && template_name_above(name, above)) {
        tally = find(tallies, above);
    }
    return tally ? tally : &tallies->unnamed;
}

static bool is_idle(const struct tally *tally)
{
    return !tally->definition && tally->n_resources == 0;
}

/* For a new name: where there are many, one that no definition has; else a new one. `*idlep`: none
 * before that number is idle. */
static struct tally *find_room(struct tallies *tallies, size_t *idlep, size_t max)
{
    while (tallies->n >= max && *idlep < tallies->n && !is_idle(tallies->list[*idlep])) {
        ++*idlep;
    }
    if (tallies->n < max || *idlep == tallies->n) {
        tallies->list = memory_grow(tallies->list, tallies->n, sizeof *tallies->list);
        return tallies->list[tallies->n++] = memory_new(sizeof(struct tally));
    }
    struct tally *idle = tallies->list[*idlep];
    table_remove(&tallies->by_name, &idle->by_name);
    free(idle->name);
    return idle;
}

static void begin_tally(
    struct tallies *tallies, struct tally *tally, const struct definition *definition)
{
    tally_init(tally);
    tally->name = memory_string(definition->name);
    tally->definition = definition;
    table_insert(&tallies->by_name, &tally->by_name, hash_name(tally->name));
}

void tallies_define(struct core *core, const struct definition *definitions, size_t n)
{
    struct tallies *tallies = &core->tallies;
    size_t max = 2 * n > FEW_TALLIES ? 2 * n : FEW_TALLIES;
    size_t idle = 0;
    for (size_t i = 0; i < tallies->n; i++) {
        tallies->list[i]->definition = NULL;
    }
    for (size_t i = 0; i < n; i++) { /* before one without a definition is taken */
        struct tally *tally = find(tallies, definitions[i].name);
        if (tally) {
            tally->definition = &definitions[i];
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (!find(tallies, definitions[i].name)) {
            begin_tally(tallies, find_room(tallies, &idle, max), &definitions[i]);
        }
    }
}

/* ---- looking ---- */

size_t core_counts_size(const struct core *core)
{
    return core->tallies.n;
}

static nanoseconds oldest(const struct claim_list *list, bool is_held)
{
    const struct claim *first = TAILQ_FIRST(list);
    return first ? since(first, is_held) : NEVER;
}

bool core_counts_at(
    const struct core *core, size_t number, nanoseconds now, struct counts_view *view)
{
    const struct tally *tally = core->tallies.list[number];
    if (!tally->definition) {
        return false;
    }
    *view = (struct counts_view){
        .name = tally->name,
        .definition = tally->definition,
        .counts = &tally->counts,
        .unit_seconds = unit_seconds(tally, microseconds(now)),
        .held = tally->n_held,
        .waiting = tally->n_waiting,
        .oldest_wait = oldest(&tally->waiting, false),
        .oldest_hold = oldest(&tally->held, true),
    };
    return true;
}
