/* test_tally.c - what the core counts of leases, by definition. tests/sim compares all of it with a
 * model. */
#include "core/core.h"
#include "core/definition.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define SECOND NANOSECONDS_PER_SECOND
#define N(array) (sizeof(array) / sizeof(array)[0])

enum { CHUNK = 4, SLOTS = 4 * CHUNK };

static struct counts_slot *slots; /* shared with children, as in a file */
static size_t n_chunks, n_given;

static struct core *core;
static struct client client;
static struct effects effects;

static struct definition definitions[] = {
    {.name = (char[]){"deploy"}, .kind = KIND_LOCK, .limit = 1},
    {.name = (char[]){"market/*"}, .kind = KIND_SEMAPHORE, .limit = 2},
};

/* ---- a core ---- */

static struct counts_slot *more(void *context, size_t *np)
{
    (void)context;
    cr_assert_lt(n_given, SLOTS / CHUNK);
    *np = CHUNK;
    n_chunks = n_given + 1 > n_chunks ? n_given + 1 : n_chunks;
    return &slots[n_given++ * CHUNK];
}

static void define(size_t n, nanoseconds now)
{
    static const struct user_bounds bounds = {UNBOUNDED, UNBOUNDED, UNBOUNDED, UNBOUNDED};
    const char *refused;
    cr_assert_eq(core_define(core, definitions, n, &bounds, now, &effects, &refused), OUTCOME_OK);
    effects_clear(&effects);
}

static void begin_core(size_t n_definitions, nanoseconds now)
{
    const struct counts_memory memory = {.n_earlier = n_chunks, .more = more};
    core = core_new(&(const struct core_options){.first_id = 100, .first_token = 100});
    n_given = 0;
    core_counts_keep(core, &memory);
    define(n_definitions, now);
}

static void begin(void)
{
    slots = mmap(NULL, SLOTS * sizeof *slots, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
        -1, 0);
    cr_assert_neq(slots, MAP_FAILED);
    for (size_t i = 0; i < N(definitions); i++) {
        definitions[i].max_waiters = definitions[i].max_units_per_user =
            definitions[i].max_instances = UNBOUNDED;
        definitions[i].max_hold = NEVER;
        definitions[i].kill_after = SECOND;
    }
    begin_core(N(definitions), 0);
    core_counts_begin(core, 0);
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
    const struct ask ask = {
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
    lease->terms.on_lost = ON_LOST_KILL;
    core_withdraw(core, lease, 0, &effects);
    effects_clear(&effects);
    release(lease, SECOND);
    core_drop(core, acquire("deploy", NEVER, SECOND), SECOND, &effects);
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
    const struct remembered_unit unit = {.slot = 0};
    const struct remembered remembered = {.id = 7,
        .is_held = true,
        .binding = BOUND_PROCESS,
        .process = {.pid = 1, .started = 1},
        .until = NEVER,
        .n_claims = 1,
        .claims = {{.name = name, .count = 1, .token = 7, .units = &unit}}};
    struct lease *lease;
    cr_assert_eq(core_restore(core, &remembered, now, &effects, &lease), OUTCOME_OK);
    effects_clear(&effects);
    return lease;
}

/* It has done nothing more to the file. */
static void kill_core(void)
{
    struct counts_slot copy[SLOTS];
    memcpy(copy, slots, sizeof copy);
    end_core(500 * SECOND);
    memcpy(slots, copy, sizeof copy);
}

Test(tally, counters_go_on_after_a_restart)
{
    acquire("deploy", NEVER, 0);
    kill_core();
    begin_core(N(definitions), 10 * SECOND);
    restore("deploy", 10 * SECOND);
    core_counts_begin(core, 11 * SECOND);
    core_client_init(core, &client, 1000);
    struct counts_view view = view_of("deploy", 20 * SECOND);
    cr_expect_eq(view.counts->granted[GRANTED_AT_ONCE], 1);
    cr_expect_eq(view.held, 1);
    cr_expect_eq(view.unit_seconds, 20000000, "the time without a berthd counts");
}

Test(tally, what_has_ended_unseen_is_held_until_the_restart)
{
    acquire("deploy", NEVER, 0);
    kill_core();
    begin_core(N(definitions), 10 * SECOND);
    core_counts_begin(core, 10 * SECOND);
    core_client_init(core, &client, 1000);
    struct counts_view view = view_of("deploy", 20 * SECOND);
    cr_expect_eq(view.held, 0);
    cr_expect_eq(view.unit_seconds, 10000000, "no counter goes back");
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

/* A process was killed while it gave the slot away. */
Test(tally, an_unused_slot_begins_at_zero)
{
    kill_core();
    slots[0].name[0] = '\0';
    slots[0].counts.granted[GRANTED_AT_ONCE] = 7;
    slots[0].spans[0].unit_seconds = slots[0].spans[1].unit_seconds = 7;
    begin_core(N(definitions), SECOND);
    core_counts_begin(core, SECOND);
    core_client_init(core, &client, 1000);
    struct counts_view view = view_of("deploy", SECOND);
    cr_expect_eq(view.counts->granted[GRANTED_AT_ONCE], 0);
    cr_expect_eq(view.unit_seconds, 0);
}

/* ---- killed anywhere ---- */

/* In microseconds, as the next run would show it. */
static uint64_t unit_seconds_in(const struct counts_slot *slot, nanoseconds now)
{
    const struct counts_span *span = &slot->spans[slot->current & 1];
    uint64_t until = microseconds(now);
    return span->unit_seconds + (until > span->until ? span->held * (until - span->until) : 0);
}

/* In a child that its parent traces. */
static pid_t start_release(struct lease *lease, nanoseconds now)
{
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) < 0) {
            _exit(EXIT_FAILURE);
        }
        raise(SIGSTOP);
        release(lease, now);
        _exit(EXIT_SUCCESS);
    }
    return child;
}

/* Until the child ends; returns how many times a figure changed. */
static size_t step_through(pid_t child, const struct counts_slot *slot, nanoseconds now)
{
    int status;
    size_t n_changes = 0;
    uint64_t later = unit_seconds_in(slot, 2 * now);
    while (waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
        uint64_t is = unit_seconds_in(slot, 2 * now);
        cr_assert_eq(unit_seconds_in(slot, now), 3000000, "until the release");
        cr_assert(is == 6000000 || is == 3000000, "%ju after it", (uintmax_t)is);
        n_changes += is != later;
        later = is;
        cr_assert_eq(ptrace(PTRACE_SINGLESTEP, child, NULL, NULL), 0);
    }
    cr_assert(WIFEXITED(status));
    if (WEXITSTATUS(status) != EXIT_SUCCESS) {
        cr_skip("nothing can be traced here");
    }
    return n_changes;
}

/* After each instruction. */
Test(tally, no_time_counts_twice_wherever_it_is_killed)
{
    struct lease *lease = acquire("deploy", NEVER, 0);
    size_t i = 0;
    while (strcmp(slots[i].name, "deploy") != 0) {
        i++;
    }
    cr_expect_eq(step_through(start_release(lease, 3 * SECOND), &slots[i], 3 * SECOND), 1);
}

/* ---- bounds ---- */

Test(tally, names_that_are_gone_leave_their_room)
{
    static char names[2000][16];
    static struct definition one;
    static const struct user_bounds bounds = {UNBOUNDED, UNBOUNDED, UNBOUNDED, UNBOUNDED};
    const char *refused;
    struct core *other = core_new(&(const struct core_options){.first_id = 1, .first_token = 1});
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
