#include "core/tally.h"

#include "core/internal.h"

/* ---- units ---- */

/* In this order even if the process is killed in between. */
static void store(uint64_t *to, uint64_t value)
{
    *(volatile uint64_t *)to = value;
}

static inline const struct counts_span *current_span(const struct counts_slot *slot)
{
    return &slot->spans[slot->current & 1];
}

/* Until `now`, in microseconds. */
static inline uint64_t unit_seconds(const struct counts_span *span, uint64_t now)
{
    return span->unit_seconds + (now > span->until ? span->held * (now - span->until) : 0);
}

/* From now on, so many units are held. The last store makes that true. */
static inline void begin_span(struct counts_slot *slot, uint32_t held, uint64_t now)
{
    const struct counts_span *before = current_span(slot);
    struct counts_span *next = &slot->spans[~slot->current & 1];
    store(&next->unit_seconds, unit_seconds(before, now));
    store(&next->until, now > before->until ? now : before->until);
    store(&next->held, held);
    store(&slot->current, slot->current + 1);
}

/* `now` in microseconds. */
static inline void change_held(
    const struct core *core, struct tally *tally, uint32_t change, uint64_t now)
{
    tally->n_held += change; /* modulo 2^32 */
    if (!core->tallies.is_recovering) {
        begin_span(tally->slot, tally->n_held, now);
    }
}

void core_counts_begin(struct core *core, nanoseconds now)
{
    struct tallies *tallies = &core->tallies;
    tallies->is_recovering = false;
    for (size_t i = 0; i < tallies->n; i++) {
        struct tally *tally = tallies->list[i];
        begin_span(tally->slot, tally->n_held, microseconds(now));
    }
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

/* `now` in microseconds. */
static inline void hold(struct core *core, struct claim *claim, uint64_t now)
{
    struct tally *tally = claim->resource->tally;
    list_by_age(&tally->held, claim, true);
    change_held(core, tally, claim->count, now);
}

void tally_hold(struct core *core, struct lease *lease, nanoseconds now)
{
    wait_is_over(lease);
    for (size_t i = 0; i < lease->n_claims; i++) {
        hold(core, &lease->claims[i], microseconds(now));
    }
    lease->is_listed = true;
}

/* ---- what happens ---- */

/* A stop by the job's own user is one kind of revoking. */
static inline enum outcome reason_counted(enum outcome why)
{
    return why == OUTCOME_WITHDRAWN ? OUTCOME_REVOKED : why;
}

void counts_deny(struct counts *counts, enum outcome why)
{
    counts->denied[reason_counted(why)]++;
}

void tally_grant(struct core *core, struct lease *lease, nanoseconds now)
{
    enum granted_how how = lease->has_waited ? GRANTED_AFTER_WAITING : GRANTED_AT_ONCE;
    uint64_t waited = microseconds(now - lease->asked_at), until = microseconds(now);
    wait_is_over(lease);
    for (size_t i = 0; i < lease->n_claims; i++) {
        struct counts *counts = &lease->claims[i].resource->tally->slot->counts;
        counts->granted[how]++;
        metric_observe(&counts->wait, waited);
        hold(core, &lease->claims[i], until);
    }
    lease->is_listed = true;
}

void tally_reclaim(const struct lease *lease)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        lease->claims[i].resource->tally->slot->counts.reclaimed[0]++;
    }
}

void counts_end(struct counts *counts, enum outcome why, uint64_t held_for)
{
    counts->ended[reason_counted(why)]++;
    metric_observe(&counts->hold, held_for);
}

static void end_held(struct core *core, struct lease *lease, enum outcome why, nanoseconds now)
{
    uint64_t held_for = microseconds(now - lease->granted_at), until = microseconds(now);
    for (size_t i = 0; i < lease->n_claims; i++) {
        struct claim *claim = &lease->claims[i];
        struct tally *tally = claim->resource->tally;
        TAILQ_REMOVE(&tally->held, claim, tally_link);
        change_held(core, tally, -claim->count, until);
        if (why != OUTCOME_OK) {
            counts_end(&tally->slot->counts, why, held_for);
            tally->recent[tally->n_recent++ % RECENT_HOLDS] = held_for;
        }
    }
    lease->is_listed = false;
}

enum outcome tally_end(
    struct core *core, struct lease *lease, enum outcome why, nanoseconds now)
{
    bool is_stopped = lease->stopping != OUTCOME_OK && why == OUTCOME_RELEASED;
    if (lease->state == LEASE_HELD) {
        why = is_stopped ? (enum outcome)lease->stopping : why;
        end_held(core, lease, why, now);
        return reason_counted(why);
    }
    wait_is_over(lease);
    for (size_t i = 0; why != OUTCOME_OK && i < lease->n_claims; i++) {
        counts_deny(&lease->claims[i].resource->tally->slot->counts, why);
    }
    return reason_counted(why);
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
    change_held(core, from, -held, microseconds(now));
    change_held(core, to, held, microseconds(now));
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
    return first ? since(first, is_held) : NEVER;
}

bool core_counts_at(
    const struct core *core, size_t number, nanoseconds now, struct counts_view *view)
{
    const struct tally *tally = core->tallies.list[number];
    const struct counts_slot *slot = tally->slot;
    if (!tally->definition) {
        return false;
    }
    *view = (struct counts_view){
        .name = tally->name,
        .definition = tally->definition,
        .counts = &slot->counts,
        .unit_seconds = unit_seconds(current_span(slot), microseconds(now)),
        .held = tally->n_held,
        .waiting = tally->n_waiting,
        .oldest_wait = oldest(&tally->waiting, false),
        .oldest_hold = oldest(&tally->held, true),
    };
    return true;
}
