#include "core/tally.h"

#include "core/internal.h"

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

/* `now` in microseconds. */
static inline void hold(struct claim *claim, uint64_t now)
{
    struct tally *tally = claim->resource->tally;
    list_by_age(&tally->held, claim, true);
    change_held(tally, claim->count, now);
}

void tally_hold(struct lease *lease, nanoseconds now)
{
    wait_is_over(lease);
    for (size_t i = 0; i < lease->n_claims; i++) {
        hold(&lease->claims[i], microseconds(now));
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

void tally_grant(struct lease *lease, nanoseconds now)
{
    enum granted_how how = lease->has_waited ? GRANTED_AFTER_WAITING : GRANTED_AT_ONCE;
    uint64_t waited = microseconds(now - lease->asked_at), until = microseconds(now);
    wait_is_over(lease);
    for (size_t i = 0; i < lease->n_claims; i++) {
        struct counts *counts = &lease->claims[i].resource->tally->counts;
        counts->granted[how]++;
        metric_observe(&counts->wait, waited);
        hold(&lease->claims[i], until);
    }
    lease->is_listed = true;
}

void tally_reclaim(const struct lease *lease)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        lease->claims[i].resource->tally->counts.reclaimed++;
    }
}

void counts_end(struct counts *counts, enum outcome why, uint64_t held_for)
{
    counts->ended[reason_counted(why)]++;
    metric_observe(&counts->hold, held_for);
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
