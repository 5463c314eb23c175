/* test_tally.c - what the core counts of leases, by definition. tests/sim compares all of it with a
 * model. */
#include "core/core.h"
#include "core/definition.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND NANOSECONDS_PER_SECOND
#define N(array) (sizeof(array) / sizeof(array)[0])

static struct core *core;
static struct client client;
static struct effects effects;

static struct definition definitions[] = {
    {.name = (char[]){"deploy"}, .kind = KIND_LOCK, .limit = 1},
    {.name = (char[]){"market/*"}, .kind = KIND_SEMAPHORE, .limit = 2},
};

/* ---- a core ---- */

static void define(size_t n, nanoseconds now)
{
    static const struct user_bounds bounds = {UNBOUNDED, UNBOUNDED, UNBOUNDED, UNBOUNDED};
    const char *refused;
    cr_assert_eq(core_define(core, definitions, n, &bounds, now, &effects, &refused), OUTCOME_OK);
    effects_clear(&effects);
}

static void begin_core(nanoseconds now)
{
    core = core_new(0);
    core_begin_numbers(core, 100);
    define(N(definitions), now);
}

static void begin(void)
{
    for (size_t i = 0; i < N(definitions); i++) {
        definitions[i].max_waiters = definitions[i].max_units_per_user =
            definitions[i].max_instances = UNBOUNDED;
        definitions[i].max_hold = NEVER;
        definitions[i].kill_after = SECOND;
    }
    begin_core(0);
    core_client_init(core, &client, 1000);
}

static void end_core(nanoseconds now)
{
    core_client_deinit(core, &client, now, &effects);
    core_abandon(core, now, &effects);
    effects_clear(&effects);
    core = core_free(core);
}

static void end(void)
{
    end_core(1000 * SECOND);
    effects_deinit(&effects);
}

static struct lease *acquire(const char *name, nanoseconds wait, nanoseconds now)
{
    const struct acquire_request ask = {
        .wants = {{.name = name, .count = 1}}, .n_wants = 1, .wait = wait, .pid = 1};
    struct lease *lease;
    const char *at_fault;
    core_acquire(core, &client, &ask, now, &effects, &lease, &at_fault);
    effects_clear(&effects);
    return lease;
}

static void release(struct lease *lease, nanoseconds now)
{
    core_end(core, lease, &client, now, &effects);
    effects_clear(&effects);
}

static struct counts_view view_of(const char *name, nanoseconds now)
{
    struct counts_view view;
    for (size_t i = 0; i < core_counts_size(core); i++) {
        if (core_counts_at(core, i, now, &view) && strcmp(view.name, name) == 0) {
            return view;
        }
    }
    cr_assert_fail("%s is not counted", name);
    abort();
}

TestSuite(tally, .init = begin, .fini = end);

/* ---- what happens ---- */

Test(tally, granted_at_once_and_after_waiting)
{
    struct lease *first = acquire("deploy", NEVER, 0), *second = acquire("deploy", NEVER, SECOND);
    struct counts_view view = view_of("deploy", 3 * SECOND);
    cr_expect_eq(view.held, 1);
    cr_expect_eq(view.waiting, 1);
    cr_expect_eq(view.oldest_wait, SECOND);
    cr_expect_eq(view.oldest_hold, 0);
    release(first, 3 * SECOND);
    release(second, 5 * SECOND);
    view = view_of("deploy", 9 * SECOND);
    cr_expect_eq(view.counts->granted[GRANTED_AT_ONCE], 1);
    cr_expect_eq(view.counts->granted[GRANTED_AFTER_WAITING], 1);
    cr_expect_eq(view.counts->ended[OUTCOME_RELEASED], 2);
    cr_expect_eq(view.unit_seconds, 5000000);
    cr_expect_eq(view.counts->wait.sum, 2000000);
    cr_expect_eq(view.counts->wait.buckets[0], 1, "no longer than 0.01 s");
    cr_expect_eq(view.counts->wait.buckets[3], 1, "2 s are in the bucket up to 5 s");
    cr_expect_eq(view.counts->hold.sum, 5000000);
    cr_expect_eq(view.held + view.waiting, 0);
    cr_expect_eq(view.oldest_wait, NEVER);
    cr_expect_eq(view.oldest_hold, NEVER);
}

Test(tally, denied_by_reason)
{
    struct lease *held = acquire("deploy", NEVER, 0);
    acquire("deploy", 0, 0);
    acquire("deploy", SECOND, 0);
    core_tick(core, 2 * SECOND, &effects);
    effects_clear(&effects);
    acquire("nothing", 0, 0);
    release(acquire("deploy", NEVER, 0), 0);
    struct counts_view view = view_of("deploy", 2 * SECOND);
    cr_expect_eq(view.counts->denied[OUTCOME_WOULD_WAIT], 1);
    cr_expect_eq(view.counts->denied[OUTCOME_TIMEOUT], 1);
    cr_expect_eq(view.counts->denied[OUTCOME_CANCELLED], 1);
    release(held, 2 * SECOND);
}

/* A lease that is being stopped has not ended by itself, whoever gives it back. */
Test(tally, what_was_revoked_is_not_released)
{
    struct lease *lease = acquire("deploy", NEVER, 0);
    lease->attributes.on_lost = ON_LOST_KILL;
    core_revoke(core, lease, OUTCOME_WITHDRAWN, NULL, 0, &effects);
    effects_clear(&effects);
    release(lease, SECOND);
    core_revoke(core, acquire("deploy", NEVER, SECOND), OUTCOME_DROPPED, NULL, SECOND, &effects);
    effects_clear(&effects);
    struct counts_view view = view_of("deploy", SECOND);
    cr_expect_eq(view.counts->ended[OUTCOME_REVOKED], 1);
    cr_expect_eq(view.counts->ended[OUTCOME_DROPPED], 1);
    cr_expect_eq(view.counts->ended[OUTCOME_RELEASED], 0);
}

Test(tally, instances_count_for_their_template)
{
    struct lease *a = acquire("market/a", NEVER, 0), *b = acquire("market/b", NEVER, SECOND);
    struct counts_view view = view_of("market/*", 2 * SECOND);
    cr_expect_eq(view.counts->granted[GRANTED_AT_ONCE], 2);
    cr_expect_eq(view.held, 2);
    cr_expect_eq(view.unit_seconds, 3000000);
    release(a, 2 * SECOND);
    release(b, 2 * SECOND);
}

/* ---- another run ---- */

/* What the killed berthd had in its records. */
static struct lease *restore(const char *name, nanoseconds now)
{
    const struct saved_unit unit = {.slot = 0};
    const struct saved_lease saved = {.id = 7,
        .is_held = true,
        .binding = BOUND_PROCESS,
        .process = {.pid = 1, .started = 1},
        .until = NEVER,
        .n_claims = 1,
        .claims = {{.name = name, .count = 1, .token = 7, .units = &unit}}};
    struct lease *lease;
    cr_assert_eq(core_restore(core, &saved, now, &effects, &lease), OUTCOME_OK);
    effects_clear(&effects);
    return lease;
}

Test(tally, a_restart_counts_from_zero)
{
    acquire("deploy", NEVER, 0);
    end_core(9 * SECOND);
    begin_core(10 * SECOND);
    struct lease *lease = restore("deploy", 10 * SECOND);
    core_client_init(core, &client, 1000);
    struct counts_view view = view_of("deploy", 20 * SECOND);
    cr_expect_eq(view.counts->granted[GRANTED_AT_ONCE], 0);
    cr_expect_eq(view.held, 1);
    cr_expect_eq(view.unit_seconds, 10000000, "since the restart");
    core_revoke(core, lease, OUTCOME_DROPPED, NULL, 20 * SECOND, &effects);
    effects_clear(&effects);
    view = view_of("deploy", 30 * SECOND);
    cr_expect_eq(view.counts->ended[OUTCOME_DROPPED], 1);
    cr_expect_eq(view.held, 0);
    cr_expect_eq(view.unit_seconds, 10000000);
}

Test(tally, a_definition_that_comes_back_goes_on)
{
    release(acquire("market/a", NEVER, 0), SECOND);
    define(1, SECOND);
    for (size_t i = 0; i < core_counts_size(core); i++) {
        struct counts_view view;
        cr_expect(!core_counts_at(core, i, SECOND, &view) || strcmp(view.name, "deploy") == 0);
    }
    define(2, SECOND);
    struct counts_view view = view_of("market/*", SECOND);
    cr_expect_eq(view.counts->granted[GRANTED_AT_ONCE], 1);
}

/* ---- bounds ---- */

Test(tally, names_that_are_gone_leave_their_room)
{
    static char names[2000][16];
    static struct definition one;
    static const struct user_bounds bounds = {UNBOUNDED, UNBOUNDED, UNBOUNDED, UNBOUNDED};
    const char *refused;
    struct core *other = core_new(0);
    for (size_t i = 0; i < N(names); i++) {
        snprintf(names[i], sizeof names[i], "n%zu", i);
        one = definitions[0];
        one.name = names[i];
        core_define(other, &one, 1, &bounds, 0, &effects, &refused);
        effects_clear(&effects);
    }
    cr_expect_leq(core_counts_size(other), 300);
    core_free(other);
}
