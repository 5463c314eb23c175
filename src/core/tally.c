#include "core/tally.h"

#include "base/memory.h"
#include "core/internal.h"

#include <stdlib.h>
#include <string.h>

enum {
    OWN_CHUNK = 16, /* slots */
    FEW_SLOTS = 256, /* so many are kept whatever the file defines */
};

static uint64_t microseconds(nanoseconds span)
{
    return span > 0 ? (uint64_t)span / 1000 : 0;
}

/* ---- slots ---- */

static bool slot_is_used(const struct counts_slot *slot)
{
    return slot->name[0] != '\0';
}

static void tally_init(struct tally *tally, struct counts_slot *slot)
{
    *tally = (struct tally){.slot = slot};
    TAILQ_INIT(&tally->waiting);
    TAILQ_INIT(&tally->held);
}

static void enter_name(struct tallies *tallies, struct tally *tally)
{
    table_insert(&tallies->by_name, &tally->by_name, hash_string(tally->slot->name, 0));
}

static void add_slot(struct tallies *tallies, struct counts_slot *slot)
{
    if (tallies->n == tallies->size) {
        tallies->size = tallies->size == 0 ? OWN_CHUNK : tallies->size * 2;
        tallies->list = memory_resize(tallies->list, tallies->size, sizeof *tallies->list);
    }
    struct tally *tally = memory_new(sizeof *tally);
    slot->name[sizeof slot->name - 1] = '\0';
    tally_init(tally, slot);
    tallies->list[tallies->n++] = tally;
    if (slot_is_used(slot)) {
        enter_name(tallies, tally);
    }
}

/* The default. */
static struct counts_slot *own_slots(void *context, size_t *np)
{
    struct tallies *tallies = context;
    struct counts_slot *slots = memory_new(OWN_CHUNK * sizeof *slots);
    tallies->own = memory_resize(tallies->own, tallies->n_own + 1, sizeof *tallies->own);
    tallies->own[tallies->n_own++] = slots;
    *np = OWN_CHUNK;
    return slots;
}

static void add_chunk(struct tallies *tallies)
{
    size_t n;
    struct counts_slot *slots = tallies->memory.more(tallies->memory.context, &n);
    for (size_t i = 0; i < n; i++) {
        add_slot(tallies, &slots[i]);
    }
}

void tallies_init(struct tallies *tallies)
{
    *tallies = (struct tallies){.memory = {.more = own_slots, .context = tallies}};
    tally_init(&tallies->unnamed, &tallies->unnamed_slot);
}

void tallies_deinit(struct tallies *tallies)
{
    for (size_t i = 0; i < tallies->n; i++) {
        struct tally *tally = tallies->list[i];
        if (slot_is_used(tally->slot)) {
            table_remove(&tallies->by_name, &tally->by_name);
        }
        free(tally);
    }
    table_deinit(&tallies->by_name);
    for (size_t i = 0; i < tallies->n_own; i++) {
        free(tallies->own[i]);
    }
    free(tallies->own);
    free(tallies->list);
}

void core_counts_keep(struct core *core, const struct counts_memory *memory)
{
    struct tallies *tallies = &core->tallies;
    tallies->memory = *memory;
    tallies->is_recovering = true;
    for (size_t i = 0; i < memory->n_earlier; i++) {
        add_chunk(tallies);
    }
}

/* ---- names ---- */

static struct tally *find(const struct tallies *tallies, const char *name)
{
    struct table_node *node = table_find(&tallies->by_name, hash_string(name, 0));
    while (node && strcmp(container_of(node, struct tally, by_name)->slot->name, name) != 0) {
        node = table_find_next(node);
    }
    return node ? container_of(node, struct tally, by_name) : NULL;
}

struct tally *tallies_find(struct core *core, const char *name)
{
    struct tallies *tallies = &core->tallies;
    const char *slash = strrchr(name, '/');
    struct tally *tally = find(tallies, name);
    if (!tally && slash) {
        char pattern[COUNTS_NAME_SIZE];
        size_t length = (size_t)(slash + 1 - name);
        if (length < sizeof pattern - 1) {
            memcpy(pattern, name, length);
            memcpy(pattern + length, "*", 2);
            tally = find(tallies, pattern);
        }
    }
    return tally ? tally : &tallies->unnamed;
}

static bool is_idle(const struct tally *tally)
{
    return !slot_is_used(tally->slot) || (!tally->definition && tally->n_resources == 0);
}

/* Room for a name: an unused slot; else, where there are many, one that no definition has; else a
 * new one. */
static struct tally *find_room(struct tallies *tallies, size_t max)
{
    struct tally *idle = NULL;
    for (size_t i = 0; i < tallies->n; i++) {
        struct tally *tally = tallies->list[i];
        if (!slot_is_used(tally->slot)) {
            return tally;
        }
        idle = !idle && is_idle(tally) ? tally : idle;
    }
    if (!idle || tallies->n < max) {
        size_t before = tallies->n;
        add_chunk(tallies);
        return tallies->list[before];
    }
    table_remove(&tallies->by_name, &idle->by_name);
    memset(idle->slot, 0, sizeof *idle->slot);
    return idle;
}

void tallies_define(struct core *core, const struct definition *definitions, size_t n)
{
    struct tallies *tallies = &core->tallies;
    size_t max = 2 * n > FEW_SLOTS ? 2 * n : FEW_SLOTS;
    for (size_t i = 0; i < tallies->n; i++) {
        tallies->list[i]->definition = NULL;
    }
    for (size_t i = 0; i < n; i++) { /* before a slot without a definition is taken */
        struct tally *tally = find(tallies, definitions[i].name);
        if (tally) {
            tally->definition = &definitions[i];
        }
    }
    for (size_t i = 0; i < n; i++) {
        const char *name = definitions[i].name;
        if (!find(tallies, name) && strlen(name) < COUNTS_NAME_SIZE) {
            struct tally *tally = find_room(tallies, max);
            memcpy(tally->slot->name, name, strlen(name) + 1);
            tally->definition = &definitions[i];
            enter_name(tallies, tally);
        }
    }
}

/* ---- units ---- */

/* In this order even if the process is killed in between. */
static void store(uint64_t *to, uint64_t value)
{
    *(volatile uint64_t *)to = value;
}

/* Counts what was held since the last change. A process killed between two stores counts that time
 * twice, or the change of units late. */
static void count_until(struct counts_slot *slot, uint64_t now)
{
    if (now > slot->counted_until) {
        uint64_t more = slot->held * (now - slot->counted_until);
        store(&slot->counts.unit_seconds, slot->counts.unit_seconds + more);
        store(&slot->counted_until, now);
    }
}

static void change_held(
    const struct core *core, struct tally *tally, uint32_t change, nanoseconds now)
{
    tally->n_held += change; /* modulo 2^32 */
    if (!core->tallies.is_recovering) {
        count_until(tally->slot, microseconds(now));
        store(&tally->slot->held, tally->n_held);
    }
}

void core_counts_begin(struct core *core, nanoseconds now)
{
    struct tallies *tallies = &core->tallies;
    tallies->is_recovering = false;
    for (size_t i = 0; i < tallies->n; i++) {
        struct tally *tally = tallies->list[i];
        count_until(tally->slot, microseconds(now));
        store(&tally->slot->held, tally->n_held);
    }
}

/* ---- who waits, who holds ---- */

static void list_by_age(struct claim_list *list, struct claim *claim, bool is_held)
{
    const struct lease *lease = claim->lease;
    struct claim *before = TAILQ_LAST(list, claim_list);
    while (before &&
        (is_held ? before->lease->granted_at > lease->granted_at
                 : before->lease->asked_at > lease->asked_at)) {
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

static void wait_is_over(struct lease *lease)
{
    for (size_t i = 0; lease->is_listed && i < lease->n_claims; i++) {
        struct claim *claim = &lease->claims[i];
        struct tally *tally = claim->resource->tally;
        TAILQ_REMOVE(&tally->waiting, claim, tally_link);
        tally->n_waiting--;
    }
    lease->is_listed = false;
}

void tally_hold(struct core *core, struct lease *lease, nanoseconds now)
{
    wait_is_over(lease);
    for (size_t i = 0; i < lease->n_claims; i++) {
        struct claim *claim = &lease->claims[i];
        list_by_age(&claim->resource->tally->held, claim, true);
        change_held(core, claim->resource->tally, claim->count, now);
    }
    lease->is_listed = true;
}

/* ---- what happens ---- */

/* A stop by the job's own user is one kind of revoking. */
static enum outcome reason_counted(enum outcome why)
{
    return why == OUTCOME_WITHDRAWN ? OUTCOME_REVOKED : why;
}

void counts_deny(struct counts *counts, enum outcome why)
{
    counts->denied[reason_counted(why)]++;
}

void tally_grant(const struct lease *lease, nanoseconds now)
{
    enum granted_how how = lease->has_waited ? GRANTED_AFTER_WAITING : GRANTED_AT_ONCE;
    for (size_t i = 0; i < lease->n_claims; i++) {
        struct counts *counts = &lease->claims[i].resource->tally->slot->counts;
        counts->granted[how]++;
        metric_observe(&counts->wait, microseconds(now - lease->asked_at));
    }
}

void tally_reclaim(const struct lease *lease)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        lease->claims[i].resource->tally->slot->counts.reclaimed[0]++;
    }
}

void counts_end(struct counts *counts, enum outcome why, nanoseconds granted_at, nanoseconds now)
{
    counts->ended[reason_counted(why)]++;
    metric_observe(&counts->hold, microseconds(now - granted_at));
}

static void end_held(struct core *core, struct lease *lease, enum outcome why, nanoseconds now)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        struct claim *claim = &lease->claims[i];
        struct tally *tally = claim->resource->tally;
        TAILQ_REMOVE(&tally->held, claim, tally_link);
        change_held(core, tally, -claim->count, now);
        if (why != OUTCOME_OK) {
            counts_end(&tally->slot->counts, why, lease->granted_at, now);
        }
    }
    lease->is_listed = false;
}

void tally_end(struct core *core, struct lease *lease, enum outcome why, nanoseconds now)
{
    bool is_stopped = lease->stopping != OUTCOME_OK && why == OUTCOME_RELEASED;
    if (lease->state == LEASE_HELD) {
        end_held(core, lease, is_stopped ? (enum outcome)lease->stopping : why, now);
        return;
    }
    wait_is_over(lease);
    for (size_t i = 0; why != OUTCOME_OK && i < lease->n_claims; i++) {
        counts_deny(&lease->claims[i].resource->tally->slot->counts, why);
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

static void move_all(struct core *core, struct tally *from, struct tally *to,
    const struct resource *resource, nanoseconds now)
{
    uint32_t n_waiting = 0, n_holders = 0, wanted = 0, held = 0;
    move_claims(&from->waiting, &to->waiting, resource, false, &n_waiting, &wanted);
    move_claims(&from->held, &to->held, resource, true, &n_holders, &held);
    from->n_waiting -= n_waiting;
    to->n_waiting += n_waiting;
    change_held(core, from, -held, now);
    change_held(core, to, held, now);
}

void tally_move(struct core *core, struct resource *resource, struct tally *tally, nanoseconds now)
{
    struct tally *before = resource->tally;
    if (before == tally) {
        return;
    }
    if (before && tally) {
        move_all(core, before, tally, resource, now);
    }
    if (before) {
        before->n_resources--;
    }
    if (tally) {
        tally->n_resources++;
    }
    resource->tally = tally;
}

/* ---- looking ---- */

size_t core_counts_size(const struct core *core)
{
    return core->tallies.n;
}

static nanoseconds oldest(const struct claim_list *list, bool is_held)
{
    const struct claim *first = TAILQ_FIRST(list);
    return !first ? NEVER : is_held ? first->lease->granted_at : first->lease->asked_at;
}

bool core_counts_at(
    const struct core *core, size_t number, nanoseconds now, struct counts_view *view)
{
    const struct tally *tally = core->tallies.list[number];
    const struct counts_slot *slot = tally->slot;
    uint64_t until = microseconds(now);
    if (!tally->definition) {
        return false;
    }
    *view = (struct counts_view){
        .name = slot->name,
        .definition = tally->definition,
        .counts = &slot->counts,
        .unit_seconds = slot->counts.unit_seconds,
        .held = tally->n_held,
        .waiting = tally->n_waiting,
        .oldest_wait = oldest(&tally->waiting, false),
        .oldest_hold = oldest(&tally->held, true),
    };
    if (until > slot->counted_until) {
        view->unit_seconds += slot->held * (until - slot->counted_until);
    }
    return true;
}
