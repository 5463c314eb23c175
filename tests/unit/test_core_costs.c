/* test_core_costs.c - what operations cost, in steps and not in seconds: the core that is linked
 * here calls step() at each of its branches, so the count is the same on any machine, however
 * busy. */
#include "base/memory.h"
#include "core/core.h"
#include "core/preview.h"
#include "tests/core_check.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    FEW = 2 * FIRST_FIT_WINDOW,
    SMALL = 1000,
    LARGE = 10 * SMALL,
    ROUNDS = 50,
    MANY_TIMES = 25, /* ten times as much costs at most that: a logarithm more than ten times */
    SAME = 4, /* with many waiters it costs at most that: some logarithms more than with few */
};

static struct core *core;
static struct effects effects = EFFECTS_INIT;
static uint64_t n_steps;

void __sanitizer_cov_trace_pc(void);

/* Called by what was compiled with -fsanitize-coverage=trace-pc. */
void __sanitizer_cov_trace_pc(void)
{
    n_steps++;
}

static const struct user_bounds no_bounds = {UNBOUNDED, UNBOUNDED, UNBOUNDED, UNBOUNDED};

static void define(const struct definition definitions[], size_t n)
{
    const char *refused;
    cr_assert_eq(core_define(core, definitions, n, &no_bounds, 0, &effects, &refused), OUTCOME_OK);
    effects_clear(&effects);
}

static struct definition definition_of(const char *name, enum kind kind, uint32_t limit)
{
    return (struct definition){.name = (char *)(uintptr_t)name,
        .kind = kind,
        .limit = limit,
        .selection = SELECT_FIRST,
        .keep = 10 * NANOSECONDS_PER_SECOND,
        .max_waiters = UNBOUNDED - 1,
        .max_units_per_user = UNBOUNDED,
        .max_overtakes = 1000000,
        .max_hold = NEVER};
}

/* ---- a reload ---- */

/* A pool of i0, i1 ...; the first `n_gone` of them are missing. */
static struct definition pool_of(size_t n, size_t n_gone, bool is_reversed)
{
    struct definition pool = definition_of("g", KIND_POOL, 0);
    pool.name = memory_string(pool.name);
    pool.n_items = n - n_gone;
    pool.items = memory_new(n * sizeof *pool.items);
    for (size_t i = 0; i < pool.n_items; i++) {
        char item[16];
        snprintf(item, sizeof item, "i%zu", is_reversed ? n - 1 - i : n_gone + i);
        pool.items[i] = memory_string(item);
    }
    return pool;
}

/* From one file to the other, and back. */
static uint64_t cost_of_reload(size_t n, size_t n_gone, bool is_reversed)
{
    struct definition before = pool_of(n, 0, false), after = pool_of(n, n_gone, is_reversed);
    core = core_new(0);
    define(&before, 1);
    uint64_t start = n_steps;
    define(&after, 1);
    define(&before, 1);
    uint64_t cost = n_steps - start;
    core_check(core);
    core = core_free(core);
    definition_deinit(&before);
    definition_deinit(&after);
    return cost;
}

static void expect_times(const char *about, uint64_t few, uint64_t many, uint64_t max)
{
    cr_log_info("%s: %ju steps, and %ju", about, (uintmax_t)few, (uintmax_t)many);
    cr_assert(few > 0 && many < few * max, "%s: %ju steps have become %ju", about, (uintmax_t)few,
        (uintmax_t)many); /* or what comes next could take for ever */
}

static void expect_no_square(size_t n_gone_of_ten, bool is_reversed)
{
    expect_times("reload", cost_of_reload(SMALL, SMALL * n_gone_of_ten / 10, is_reversed),
        cost_of_reload(LARGE, LARGE * n_gone_of_ten / 10, is_reversed), MANY_TIMES);
}

Test(costs, items_reversed)
{
    expect_no_square(0, true);
}

Test(costs, half_of_the_items_gone)
{
    expect_no_square(5, false);
}

Test(costs, half_of_the_items_gone_and_the_rest_reversed)
{
    expect_no_square(5, true);
}

/* ---- a restart ---- */

static void restore(uint64_t id, uint32_t slot)
{
    const struct saved_unit unit = {.slot = slot};
    const struct saved_lease saved = {.id = id,
        .is_held = true,
        .binding = BOUND_PROCESS,
        .process = {.pid = 1, .started = 1},
        .until = NEVER,
        .n_claims = 1,
        .claims = {{.name = "s", .count = 1, .token = id, .units = &unit}}};
    struct lease *lease;
    cr_assert_eq(core_restore(core, &saved, 0, &effects, &lease), OUTCOME_OK);
    effects_clear(&effects);
}

/* Restores the newest holder first, so that each one goes to the front of the order. */
static uint64_t cost_of_restart(uint32_t n)
{
    const struct definition s = definition_of("s", KIND_SEMAPHORE, n);
    core = core_new(0);
    define(&s, 1);
    uint64_t start = n_steps;
    for (uint32_t i = n; i > 0; i--) {
        restore(i, i - 1);
    }
    uint64_t cost = n_steps - start;
    core_check(core);
    core_abandon(core, 0, &effects);
    effects_clear(&effects);
    core = core_free(core);
    return cost;
}

Test(costs, holders_found_in_any_order)
{
    expect_times("restart", cost_of_restart(SMALL), cost_of_restart(LARGE), MANY_TIMES);
}

/* ---- a release and an acquire, while others wait ---- */

/* All want s, and t where that has a limit. */
struct scene {
    const char *about;
    uint32_t limits[2], quotas[2]; /* of s and t; no quota: 0 */
    uint32_t n_users;
    enum queue_order order;
    bool has_identity, is_identity_shared;
    bool is_kept; /* both are held at first; then s comes free, one unit after the other */
};

static const char *const names[] = {"s", "t"};
static struct client *clients; /* of each user, and one more, which has all of a resource */

static size_t n_wants(const struct scene *scene)
{
    return scene->limits[1] > 0 ? 2 : 1;
}

/* Each has the user and the identity of its number. */
static struct lease *acquire(const struct scene *scene, uint32_t number)
{
    char holder[16];
    struct lease *lease;
    const char *at_fault;
    snprintf(holder, sizeof holder, "h%u", number);
    struct acquire_request ask = {.n_wants = n_wants(scene),
        .wants = {{.name = names[0], .count = 1}, {.name = names[1], .count = 1}},
        .wait = NEVER,
        .attributes.holder = scene->has_identity ? holder : NULL};
    core_acquire(core, &clients[number % scene->n_users], &ask, 0, &effects, &lease, &at_fault);
    effects_clear(&effects);
    cr_assert(lease);
    return lease;
}

static void end_lease(struct lease *lease)
{
    core_end(core, lease, lease->client, 0, &effects);
    effects_clear(&effects);
}

static struct lease *hold(const struct scene *scene, size_t i, uint32_t count)
{
    struct acquire_request ask = {.n_wants = 1, .wants = {{.name = names[i], .count = count}}};
    struct lease *lease;
    const char *at_fault;
    cr_assert_eq(core_acquire(core, &clients[scene->n_users], &ask, 0, &effects, &lease, &at_fault),
        OUTCOME_OK);
    effects_clear(&effects);
    return lease;
}

/* The one that holds what all want; else the newest. */
static struct lease *one_to_end(const struct scene *scene, struct lease *newest)
{
    const struct resource *resource = core_find_resource(core, names[0]);
    return scene->is_kept ? newest : resource->units[0]->claim->lease;
}

static void begin(const struct definition definitions[], size_t n, uint32_t n_users)
{
    clients = memory_new((n_users + 1) * sizeof *clients);
    core = core_new(0);
    define(definitions, n);
    for (uint32_t i = 0; i <= n_users; i++) {
        core_client_init(core, &clients[i], i);
    }
}

static void begin_scene(const struct scene *scene)
{
    static struct definition definitions[2]; /* the core goes on looking at them */
    for (size_t i = 0; i < n_wants(scene); i++) {
        definitions[i] = definition_of(names[i], KIND_SEMAPHORE, scene->limits[i]);
        definitions[i].max_units_per_user = scene->quotas[i] > 0 ? scene->quotas[i] : UNBOUNDED;
        definitions[i].order = scene->order;
        definitions[i].identity_shared = scene->is_identity_shared;
    }
    begin(definitions, n_wants(scene), scene->n_users);
}

static void end(uint32_t n_users)
{
    core_check(core);
    core_drain(core, true, 0, &effects);
    for (uint32_t i = 0; i <= n_users; i++) {
        core_client_deinit(core, &clients[i], 0, &effects);
        effects_clear(&effects);
    }
    free(clients);
    core = core_free(core);
}

/* How many steps until each stands where it stays. */
static uint64_t all_come(const struct scene *scene, uint32_t n_waiters)
{
    struct lease **first = memory_new((n_waiters + 1) * sizeof *first);
    if (scene->is_kept) {
        hold(scene, 1, scene->limits[1]);
        hold(scene, 0, scene->limits[0] - n_waiters);
    }
    for (uint32_t i = 0; scene->is_kept && i < n_waiters; i++) {
        first[i] = hold(scene, 0, 1);
    }
    uint64_t start = n_steps;
    for (uint32_t i = 0; i < n_waiters; i++) {
        acquire(scene, i);
    }
    for (uint32_t i = 0; scene->is_kept && i < n_waiters; i++) {
        end_lease(first[i]);
    }
    uint64_t cost = n_steps - start;
    uint32_t n_kept = resource_kept(core_find_resource(core, names[0]));
    cr_assert_eq(n_kept, scene->is_kept ? n_waiters : 0);
    free(first);
    return cost;
}

static uint64_t cost_of_coming(const struct scene *scene, uint32_t n_waiters)
{
    begin_scene(scene);
    uint64_t cost = all_come(scene, n_waiters);
    end(scene->n_users);
    return cost;
}

static uint64_t cost_of_pairs(const struct scene *scene, uint32_t n_waiters)
{
    uint64_t cost = 0;
    begin_scene(scene);
    all_come(scene, n_waiters);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint64_t start = n_steps;
        struct lease *newest = acquire(scene, n_waiters + i);
        end_lease(one_to_end(scene, newest));
        cost += n_steps - start;
    }
    end(scene->n_users);
    return cost / ROUNDS;
}

static const struct scene scenes[] = {
    {"one resource", {4}, .n_users = 1},
    {"first fit", {4}, .n_users = 1, .order = ORDER_FIRST_FIT},
    {"one user's quota", {4}, .quotas = {2}, .n_users = 1},
    {"many users' quotas", {4}, .quotas = {2}, .n_users = 100},
    {"several resources", {4, 4}, .n_users = 1},
    {"several resources and a quota", {4, 4}, .quotas = {0, 2}, .n_users = 1},
    {"identities", {4}, .n_users = 1, .has_identity = true},
    {"shared identities", {4}, .n_users = 100, .has_identity = true, .is_identity_shared = true},
    /* All have stood for what is free now, and stand for the other resource. */
    {"many keepers", {2 * LARGE, 3 * LARGE}, .n_users = 1, .is_kept = true},
    {"many keepers of one user", {2 * LARGE, 3 * LARGE}, .quotas = {2 * LARGE, 3 * LARGE},
        .n_users = 1, .is_kept = true},
    {"many keepers of other users", {2 * LARGE, 3 * LARGE}, .quotas = {2 * LARGE}, .n_users = 100,
        .is_kept = true},
};

Test(costs, while_others_wait)
{
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        const struct scene *scene = &scenes[i];
        expect_times(
            scene->about, cost_of_coming(scene, FEW), cost_of_coming(scene, 10 * FEW), MANY_TIMES);
        expect_times(scene->about, cost_of_pairs(scene, FEW), cost_of_pairs(scene, LARGE), SAME);
    }
}

/* ---- a refusal, while units of other resources rest ---- */

/* How many steps it is to find when the lock has cooled down, behind `n` others. */
static uint64_t cost_of_next_cooled(uint32_t n)
{
    struct definition definitions[] = {
        definition_of("m/*", KIND_LOCK, 1), definition_of("last", KIND_LOCK, 1)};
    definitions[0].cooldown = 1;
    definitions[0].max_instances = UNBOUNDED;
    definitions[1].cooldown = 2;
    begin(definitions, 2, 1);
    for (uint32_t i = 0; i <= n; i++) {
        char name[16];
        struct lease *lease;
        const char *at_fault;
        snprintf(name, sizeof name, i < n ? "m/%u" : "last", i);
        const struct acquire_request ask = {.n_wants = 1, .wants = {{.name = name, .count = 1}}};
        cr_assert_eq(
            core_acquire(core, &clients[0], &ask, 0, &effects, &lease, &at_fault), OUTCOME_OK);
        effects_clear(&effects);
        end_lease(lease);
    }
    const struct resource *last = core_find_resource(core, "last");
    uint64_t start = n_steps;
    cr_assert_eq(core_next_cooled(core, last), 2);
    uint64_t cost = n_steps - start;
    core_tick(core, 2, &effects);
    effects_clear(&effects);
    end(1);
    return cost;
}

Test(costs, when_a_unit_has_cooled_down)
{
    expect_times("cooldown", cost_of_next_cooled(FEW), cost_of_next_cooled(2 * LARGE), SAME);
}
