/* test_core_proven.c - the journal is lost, and clients prove what they were given, in any order:
 * the last one to be given a unit has it, unless that exceeds its user's bounds, beside what those
 * have that are not in its way. */
#include "../sim/random.h"
#include "base/memory.h"
#include "core/core.h"
#include "seed.h"
#include "tests/core_check.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

enum {
    N_WORLDS = 2000,
    N_ORDERS = 4,
    N_RESOURCES = 3,
    MAX_CLAIMED = 3, /* of a claim */
    N_ON_RECORD = 2,
    N_COMING = 6,
    N_CLAIMANTS = N_ON_RECORD + N_COMING,
    N_UIDS = 3,
    FIRST_ID = 1000,
};

static const char *const names[N_RESOURCES] = {"g", "s", "t"}; /* g is a pool */
static const char *const items[] = {"a", "b", "c", "d", "e", "f"};

enum { N_ITEMS = sizeof items / sizeof items[0], POOL = 0 };

/* A client that had a lease: on record, or with a proof. */
struct claimant {
    uint32_t uid;
    uint64_t token; /* the first; its resources' are one after the other */
    uint32_t n[N_RESOURCES]; /* units of each; 0: none */
    uint32_t units[N_RESOURCES][MAX_CLAIMED];
    bool is_all[N_RESOURCES]; /* with one unit: nobody else had any */
    bool is_on_record;
};

struct world {
    struct definition definitions[N_RESOURCES];
    struct user_bounds bounds;
    struct claimant claimants[N_CLAIMANTS];
};

/* ---- worlds ---- */

static void make_units(struct claimant *claimant, uint32_t k, uint32_t max, struct random *random)
{
    uint32_t n_kinds = k == POOL ? N_ITEMS : max;
    uint32_t first = random_below(random, n_kinds);
    uint32_t n = PICK(random, 0, 1, 1, 1, 2, 3);
    claimant->n[k] = n < n_kinds ? n : n_kinds;
    for (uint32_t i = 0; i < claimant->n[k]; i++) {
        claimant->units[k][i] = (first + i) % n_kinds;
    }
}

static void make_claimant(
    struct claimant *claimant, const struct world *world, struct random *random)
{
    uint32_t n = 0;
    claimant->uid = 1 + random_below(random, N_UIDS);
    for (uint32_t k = 0; k < N_RESOURCES; k++) {
        make_units(claimant, k, world->definitions[k].limit + 3, random); /* it was larger then */
        bool may_be_all = claimant->n[k] == 1 && !claimant->is_on_record;
        claimant->is_all[k] = may_be_all && random_percent(random, 15);
        n += claimant->n[k];
    }
    if (n == 0) {
        claimant->n[1] = 1;
        claimant->units[1][0] = 0;
    }
}

/* On record, no unit belongs to two. */
static void part(struct claimant *claimant, const struct claimant *other)
{
    for (uint32_t k = 0; k < N_RESOURCES; k++) {
        for (uint32_t i = 0; other->n[k] > 0 && i < claimant->n[k]; i++) {
            claimant->units[k][i] += k == POOL ? 0 : 10;
        }
        claimant->n[k] = k == POOL && other->n[k] > 0 ? 0 : claimant->n[k];
    }
    if (claimant->n[0] + claimant->n[1] + claimant->n[2] == 0) {
        claimant->n[1] = 1;
        claimant->units[1][0] = 20;
    }
}

static void make_world(struct world *world, uint64_t seed)
{
    struct random random = {.state = seed};
    *world = (struct world){.bounds = {UNBOUNDED, UNBOUNDED,
                                .leases = PICK(&random, UNBOUNDED, UNBOUNDED, 4, 3, 2),
                                .instances = UNBOUNDED}};
    for (uint32_t k = 0; k < N_RESOURCES; k++) {
        world->definitions[k] = (struct definition){.name = (char *)(uintptr_t)names[k],
            .kind = k == POOL ? KIND_POOL : KIND_SEMAPHORE,
            .limit = 1 + random_below(&random, 6),
            .items = (char **)(uintptr_t)items,
            .n_items = k == POOL ? N_ITEMS : 0,
            .max_waiters = 9,
            .max_units_per_user = PICK(&random, UNBOUNDED, UNBOUNDED, 4, 3, 2),
            .cooldown = (nanoseconds)PICK(&random, 0, 0, 5) * NANOSECONDS_PER_SECOND,
            .identity_shared = true,
            .max_hold = NEVER,
            .on_lost = ON_LOST_KILL};
    }
    for (uint32_t i = 0; i < N_CLAIMANTS; i++) {
        world->claimants[i].is_on_record = i < N_ON_RECORD;
        world->claimants[i].token = 10 * (1 + (i * 5 + (uint32_t)(seed % 7)) % 17);
        make_claimant(&world->claimants[i], world, &random);
    }
    part(&world->claimants[1], &world->claimants[0]);
}

/* ---- what must come of it ---- */

static bool overlap(const struct claimant *a, const struct claimant *b)
{
    for (uint32_t k = 0; k < N_RESOURCES; k++) {
        if (a->n[k] > 0 && b->n[k] > 0 && (a->is_all[k] || b->is_all[k])) {
            return true;
        }
        for (uint32_t i = 0; i < a->n[k]; i++) {
            for (uint32_t j = 0; j < b->n[k]; j++) {
                if (a->units[k][i] == b->units[k][j]) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* A claimant that wants more than anybody can have is refused in any case. */
static bool is_possible(const struct world *world, const struct claimant *claimant)
{
    for (uint32_t k = 0; !claimant->is_on_record && k < N_RESOURCES; k++) {
        if (claimant->n[k] > world->definitions[k].max_units_per_user) {
            return false;
        }
    }
    return true;
}

/* No other claimant was given one of its units later, and there is enough for it whichever of those
 * that are not in its way are there. */
static bool must_be_held(const struct world *world, const struct claimant *claimant)
{
    uint32_t of_user[N_RESOURCES] = {0}, leases = 0;
    bool must = is_possible(world, claimant);
    for (size_t i = 0; i < N_CLAIMANTS; i++) {
        const struct claimant *other = &world->claimants[i];
        if (other == claimant || !is_possible(world, other)) {
            continue;
        }
        if (overlap(claimant, other)) {
            must = must && other->token < claimant->token;
            continue;
        }
        leases += other->uid == claimant->uid;
        for (uint32_t k = 0; k < N_RESOURCES; k++) {
            of_user[k] += other->uid == claimant->uid ? other->n[k] : 0;
        }
    }
    for (uint32_t k = 0; k < N_RESOURCES; k++) {
        const struct definition *definition = &world->definitions[k];
        uint32_t n = claimant->n[k];
        must = must && (n == 0 || definition->max_units_per_user == UNBOUNDED ||
                           of_user[k] + n <= definition->max_units_per_user);
    }
    return must && (world->bounds.leases == UNBOUNDED || leases < world->bounds.leases);
}

/* ---- what comes of it ---- */

struct said {
    struct saved_lease saved;
    struct saved_unit units[N_RESOURCES][MAX_CLAIMED];
};

static void say(struct said *said, const struct claimant *claimant, uint64_t id)
{
    struct saved_lease *saved = &said->saved;
    *saved = (struct saved_lease){.id = id,
        .is_held = true,
        .uid = claimant->uid,
        .binding = BOUND_PROCESS,
        .process = {.pid = (int32_t)id, .started = id},
        .until = NEVER,
        .attributes = {.on_lost = ON_LOST_KILL, .holder = "x"}};
    for (uint32_t k = 0; k < N_RESOURCES; k++) {
        for (uint32_t i = 0; i < claimant->n[k]; i++) {
            said->units[k][i] =
                (struct saved_unit){.item = k == POOL ? items[claimant->units[k][i]] : NULL,
                    .slot = k == POOL ? 0 : claimant->units[k][i]};
        }
        if (claimant->n[k] > 0) {
            size_t n = saved->n_claims++;
            saved->claims[n] = (struct saved_claim){.name = names[k],
                .count = claimant->n[k],
                .is_all = claimant->is_all[k],
                .token = claimant->token + n,
                .is_pool = k == POOL,
                .units = said->units[k]};
        }
    }
}

static bool lost_any(const struct effects *effects)
{
    bool lost = false;
    for (size_t i = 0; i < effects->n; i++) {
        lost |= effects->list[i].kind == EFFECT_LOST;
    }
    return lost;
}

/* Nobody loses anything to a claimant that is refused. */
static void come(struct core *core, struct client *client, const struct said *said)
{
    const struct saved_lease *saved = &said->saved;
    struct effects effects = EFFECTS_INIT;
    struct lease *lease;
    const char *at_fault;
    struct acquire_request ask = {.n_wants = saved->n_claims,
        .wait = NEVER,
        .binding = BOUND_PROCESS,
        .process = saved->process,
        .attributes.holder = saved->attributes.holder};
    for (size_t i = 0; i < ask.n_wants; i++) {
        ask.wants[i] = (struct requested_resource){
            .name = saved->claims[i].name,
            .count = saved->claims[i].count,
            .is_all = saved->claims[i].is_all};
    }
    enum outcome outcome = core_reclaim_unknown(
        core, client, &ask, saved->id, saved->claims, 0, &effects, &lease, &at_fault);
    cr_assert(outcome == OUTCOME_OK || !lost_any(&effects));
    cr_assert_neq(outcome, OUTCOME_HELD, "somebody's identity stops a job");
    effects_clear(&effects);
    effects_deinit(&effects);
    core_check(core);
}

static void put_on_record(struct core *core, const struct said *said)
{
    struct effects effects = EFFECTS_INIT;
    struct lease *lease;
    cr_assert_eq(core_restore(core, &said->saved, 0, &effects, &lease), OUTCOME_OK);
    effects_clear(&effects);
    effects_deinit(&effects);
}

static void shuffle(uint32_t order[], uint32_t n, struct random *random)
{
    for (uint32_t i = n; i > 1; i--) {
        uint32_t k = random_below(random, i), swapped = order[k];
        order[k] = order[i - 1];
        order[i - 1] = swapped;
    }
}

static void end(struct core *core, struct client clients[])
{
    struct effects effects = EFFECTS_INIT;
    for (size_t i = 0; i < N_UIDS; i++) {
        core_client_deinit(core, &clients[i], 0, &effects);
    }
    core_abandon(core, 0, &effects);
    effects_clear(&effects);
    effects_deinit(&effects);
    core_free(core);
}

static struct core *begin(const struct world *world, struct client clients[])
{
    struct effects effects = EFFECTS_INIT;
    const char *refused;
    struct core *core = core_new(0);
    core_begin_numbers(core, FIRST_ID);
    cr_assert_eq(core_define(core, world->definitions, N_RESOURCES, &world->bounds, 0, &effects,
                     &refused),
        OUTCOME_OK);
    core_begin_grace(core, true, 10 * NANOSECONDS_PER_SECOND);
    for (uint32_t i = 0; i < N_UIDS; i++) {
        cr_assert_eq(core_client_init(core, &clients[i], 1 + i), OUTCOME_OK);
    }
    effects_clear(&effects);
    effects_deinit(&effects);
    return core;
}

/* How many must be held, and are. */
static uint32_t in_this_order(const struct world *world, const uint32_t order[], uint64_t seed)
{
    struct client clients[N_UIDS];
    struct core *core = begin(world, clients);
    uint32_t n_must = 0;
    for (uint32_t i = 0; i < N_CLAIMANTS; i++) {
        const struct claimant *claimant = &world->claimants[order[i]];
        struct said said;
        say(&said, claimant, 1 + order[i]);
        if (claimant->is_on_record) {
            put_on_record(core, &said);
        } else {
            come(core, &clients[claimant->uid - 1], &said);
        }
    }
    for (uint32_t i = 0; i < N_CLAIMANTS; i++) {
        bool must = must_be_held(world, &world->claimants[i]) && !world->claimants[i].is_on_record;
        cr_assert(!must || core_find_lease(core, 1 + i),
            "world %ju: claimant %u has lost its units", (uintmax_t)seed, i);
        n_must += must;
    }
    end(core, clients);
    return n_must;
}

Test(proven, the_later_one_has_it_in_any_order)
{
    struct random random = {.state = seed_of_test()};
    uint32_t n_must = 0;
    for (int i = 0; i < N_WORLDS; i++) {
        struct world world;
        uint64_t seed = random_next(&random);
        uint32_t order[N_CLAIMANTS];
        make_world(&world, seed);
        for (uint32_t k = 0; k < N_CLAIMANTS; k++) {
            order[k] = k;
        }
        for (int k = 0; k < N_ORDERS; k++) {
            shuffle(order + N_ON_RECORD, N_COMING, &random);
            n_must += in_this_order(&world, order, seed);
        }
    }
    cr_expect_gt(n_must, N_WORLDS, "%u is too few to see anything", n_must);
}
