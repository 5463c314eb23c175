/* answers_world.c - what the world outside knows about the core's leases, and what must be true of
 * these after each step. */
#include "answers_internal.h"
#include "tests/core_check.h"

#include <signal.h>

struct world world;

/* ---- what is known ---- */

struct known *known_find(uint64_t id)
{
    for (size_t i = 0; i < 2 * MAX_LEASES; i++) {
        if (world.known[i].id == id) {
            return &world.known[i];
        }
    }
    return NULL;
}

struct known *known_add(const struct lease *lease)
{
    struct known *known = known_find(0);
    REQUIRE(known, "too many leases");
    *known = (struct known){.id = lease->id};
    return known;
}

struct lease *some_lease(void)
{
    struct lease *found = NULL;
    uint32_t n = 0;
    for (size_t i = 0; i < 2 * MAX_LEASES; i++) {
        struct lease *lease =
            world.known[i].id ? core_find_lease(world.core, world.known[i].id) : NULL;
        if (lease && random_below(&world.random, ++n) == 0) {
            found = lease;
        }
    }
    return found;
}

/* As doc/timing.md says: kill-after and a third of that, at least a second. */
static nanoseconds budget_of(const struct lease *lease)
{
    nanoseconds third = lease->attributes.kill_after / 3;
    bool is_only_notified =
        lease->binding == BOUND_TIME || lease->attributes.on_lost == ON_LOST_WARN;
    return is_only_notified ? 0 : lease->attributes.kill_after + (third > SECOND ? third : SECOND);
}

/* ---- effects ---- */

/* The lease could not be kept alive: the stop comes not too early, and its job has until the
 * deadline. */
static void take_stop(const struct lease *lease, struct known *known)
{
    nanoseconds deadline = world.good_until[lease->database - 1];
    bool is_news = !known->record || known->record->stopping == OUTCOME_OK;
    REQUIRE(!is_news || world.now >= deadline - budget_of(lease), "%ju is stopped", lease->id);
    known->dead_by = deadline > world.now ? deadline : world.now;
}

/* A database may grant after its deadline here: that was told before. */
static nanoseconds told_end(const struct lease *lease)
{
    nanoseconds deadline = lease->database != 0 ? world.good_until[lease->database - 1] : 0;
    return deadline != 0 ? earlier(lease_gone_by(lease), deadline) : lease_gone_by(lease);
}

/* Not given back or dropped, nor given to whom the database names. */
static bool is_taken(enum outcome why)
{
    return why == OUTCOME_REVOKED || why == OUTCOME_WITHDRAWN || why == OUTCOME_MAX_HOLD ||
        why == OUTCOME_EXPIRED || why == OUTCOME_DEADLINE;
}

static void take_effect(const struct effect *effect)
{
    const struct lease *lease = effect->lease;
    struct known *known = lease ? known_find(lease->id) : NULL;
    REQUIRE(known || !lease, "an effect for a lease that nobody knows");
    switch (effect->kind) {
    case EFFECT_ASK:
        REQUIRE(!known->is_there && lease->state != LEASE_HELD, "%ju asked twice", lease->id);
        REQUIRE(!core_is_draining(world.core) && !core_is_closed(world.core), "asked in vain");
        known->is_there = true;
        break;
    case EFFECT_GIVE_BACK:
        REQUIRE(known->is_there && lease->state != LEASE_HELD, "%ju given back twice", lease->id);
        known->is_there = false;
        break;
    case EFFECT_GRANTED:
        REQUIRE(lease->database == 0 || lease->id == world.granting, "%ju granted", lease->id);
        break;
    case EFFECT_SIGNAL:
        REQUIRE(!lease_is_programs(lease), "the program of %ju is signalled", lease->id);
        known->is_killed |= effect->signal == SIGKILL;
        break;
    case EFFECT_LOST:
        REQUIRE(world.now >= known->told || !is_taken(effect->why),
            "%ju is taken from its program too early", lease->id);
        break;
    case EFFECT_STOP:
        if (effect->why == OUTCOME_DEADLINE) {
            take_stop(lease, known);
        }
        if (lease_is_programs(lease) && lease->state == LEASE_HELD) {
            known->told = told_end(lease);
        }
        break;
    default:
        break;
    }
}

/* A journal that hears only of changes. */
static void write_down(const struct lease *lease)
{
    struct known *known = known_find(lease->id);
    if (!known) {
        return; /* refused at once */
    }
    known->record = forget(known->record);
    if (lease->state != LEASE_ENDED) {
        known->record = remember(lease);
    }
}

void take_effects(void)
{
    struct effects *effects = &world.effects;
    for (size_t i = 0; i < effects->n; i++) {
        take_effect(&effects->list[i]);
    }
    for (const struct lease *lease = effects->changed; lease; lease = lease->next_changed) {
        write_down(lease);
    }
    for (const struct lease *lease = effects->ended; lease; lease = lease->next_ended) {
        struct known *known = known_find(lease->id);
        write_down(lease);
        REQUIRE(!known || !known->is_there, "%ju is over, and not given back", lease->id);
        if (known) {
            *known = (struct known){0};
        }
    }
    effects_clear(effects);
}

/* ---- after each step ---- */

static void check_fleet_lease(const struct lease *lease, const struct known *known)
{
    bool is_held = lease->state == LEASE_HELD;
    nanoseconds deadline = world.good_until[lease->database - 1];
    REQUIRE(known->is_there == (lease->is_asked || is_held), "%ju: is it there?", lease->id);
    bool may_go_on = lease->stopping == OUTCOME_OK || lease->stopping == OUTCOME_WITHDRAWN;
    bool is_late = is_held && may_go_on && deadline != 0 &&
        world.now >= deadline - budget_of(lease) && lease->granted_at < world.now;
    REQUIRE(!is_late, "%ju is not stopped in time", lease->id);
    bool must_be_killed = known->dead_by != 0 && known->dead_by < world.now &&
        lease->binding == BOUND_PROCESS && !lease->process_is_gone &&
        !lease_is_programs(lease) && lease->attributes.on_lost == ON_LOST_KILL;
    bool must_be_gone = known->dead_by != 0 && known->dead_by < world.now && is_held &&
        lease_is_programs(lease);
    REQUIRE(!must_be_gone, "the program of %ju outlives its deadline", lease->id);
    REQUIRE(!must_be_killed || known->is_killed, "%ju outlives its deadline", lease->id);
}

static bool check_lease(struct lease *lease, void *context)
{
    (void)context;
    const struct known *known = known_find(lease->id);
    REQUIRE(known && known->record, "%ju is not written down", lease->id);
    struct saved_lease *now = remember(lease);
    const char *difference = saved_lease_difference(known->record, now);
    REQUIRE(!difference, "%ju: %s is not written down", lease->id, difference);
    forget(now);
    if (lease->database != 0) {
        check_fleet_lease(lease, known);
    }
    return true;
}

void check(void)
{
    take_effects();
    core_check(world.core);
    core_for_each_lease(world.core, check_lease, NULL);
}
