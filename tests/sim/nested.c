/* nested.c - jobs that ask again under the leases that they have, and give them back only when what
 * runs under these has ended. Whatever they ask for, nobody waits for ever: when no more come, all
 * that wait are granted or denied. */
#include "core/core.h"
#include "random.h"
#include "runs.h"
#include "tests/core_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_USERS = 4, N_RESOURCES = 4, MAX_JOBS = 48, MAX_WANTS = 3 };

struct job {
    struct lease *lease; /* NULL: there is none */
    struct job *above;
    uint32_t n_below;
};

static struct {
    struct random random;
    struct core *core;
    struct effects effects;
    struct client clients[N_USERS];
    struct definition definitions[N_RESOURCES];
    struct job jobs[MAX_JOBS];
    nanoseconds now;
} world;

static uint64_t n_granted_later, n_circles, n_others_denied; /* in all runs */

/* ---- what there is ---- */

static char names[N_RESOURCES][2] = {"a", "b", "c", "d"};

static struct level levels[N_RESOURCES];

static void make_definition(struct definition *definition, size_t i)
{
    struct random *random = &world.random;
    bool is_lock = random_percent(random, 30);
    *definition = (struct definition){
        .name = names[i],
        .kind = is_lock ? KIND_LOCK : KIND_SEMAPHORE,
        .order = PICK(random, ORDER_FIRST_FIT, ORDER_FIFO, ORDER_FAIR),
        .limit = is_lock ? 1 : PICK(random, 1, 2, 2, 3, 4),
        .cooldown = (nanoseconds)PICK(random, 0, 0, 0, 1) * NANOSECONDS_PER_SECOND,
        .max_hold = NEVER,
        .on_lost = ON_LOST_KILL,
        .keep = (nanoseconds)PICK(random, 1, 2, 10) * NANOSECONDS_PER_SECOND,
        .max_waiters = 1000,
        .max_units_per_user = PICK(random, UNBOUNDED, UNBOUNDED, UNBOUNDED, 1, 2, 3),
        .max_overtakes = PICK(random, 0, 1, 2, 100),
        .max_priority = 3,
        .nested = PICK(random, NESTED_COUNT, NESTED_COUNT, NESTED_COUNT, NESTED_SHARE),
    };
    if (i + 1 < N_RESOURCES && random_percent(random, 25)) {
        levels[i] = (struct level){.name = names[i + 1], .count = PICK(random, 1, 1, 2)};
        definition->levels = &levels[i];
        definition->n_levels = 1;
    }
}

static void begin(uint64_t seed)
{
    static const struct user_bounds bounds = {UNBOUNDED, UNBOUNDED, UNBOUNDED, UNBOUNDED};
    const char *refused;
    memset(&world, 0, sizeof world);
    world.random.state = seed;
    world.now = NANOSECONDS_PER_SECOND;
    world.core = core_new(seed);
    for (size_t i = 0; i < N_RESOURCES; i++) {
        make_definition(&world.definitions[i], i);
    }
    core_define(
        world.core, world.definitions, N_RESOURCES, &bounds, world.now, &world.effects, &refused);
    for (uint32_t i = 0; i < N_USERS; i++) {
        core_client_init(world.core, &world.clients[i], 1000 + i);
    }
}

/* ---- jobs ---- */

static struct job *job_of(const struct lease *lease)
{
    size_t i = 0;
    while (i < MAX_JOBS && world.jobs[i].lease != lease) {
        i++;
    }
    REQUIRE(i < MAX_JOBS, "an effect is about nobody's lease");
    return &world.jobs[i];
}

static struct job *some_job(bool (*fits)(const struct job *job))
{
    struct job *found = NULL;
    uint32_t n = 0;
    for (size_t i = 0; i < MAX_JOBS; i++) {
        if (fits(&world.jobs[i]) && random_below(&world.random, ++n) == 0) {
            found = &world.jobs[i];
        }
    }
    return found;
}

static bool is_free(const struct job *job)
{
    return !job->lease;
}

static bool is_held(const struct job *job)
{
    return job->lease && job->lease->state == LEASE_HELD;
}

static bool may_end(const struct job *job)
{
    return is_held(job) && job->n_below == 0;
}

static bool waits(const struct job *job)
{
    return job->lease && job->lease->state == LEASE_WAITING;
}

static void leave(struct job *job)
{
    if (job->above) {
        job->above->n_below--;
    }
    *job = (struct job){0};
}

static void take_effects(void)
{
    for (size_t i = 0; i < world.effects.n; i++) {
        const struct effect *effect = &world.effects.list[i];
        n_granted_later += effect->kind == EFFECT_GRANTED;
        if (effect->kind == EFFECT_DENIED) {
            REQUIRE(effect->why == OUTCOME_CIRCLE && effect->lease->attributes.parent != 0,
                "lease %ju is denied for reason %d", (uintmax_t)effect->lease->id,
                (int)effect->why);
            n_others_denied++;
            leave(job_of(effect->lease));
        }
    }
    effects_clear(&world.effects);
    core_check(world.core);
}

/* ---- what happens ---- */

static void ask(bool is_nested)
{
    struct random *random = &world.random;
    struct job *above = is_nested ? some_job(is_held) : NULL, *job = some_job(is_free);
    if (!job || (is_nested && !above)) {
        return;
    }
    struct acquire_request request = {.wait = NEVER,
        .binding = BOUND_CONNECTION,
        .attributes = {.priority = (int32_t)PICK(random, 0, 0, 0, 0, 1, 2),
            .parent = above ? above->lease->id : 0}};
    uint32_t first = random_below(random, N_RESOURCES);
    request.n_wants = PICK(random, 1, 1, 1, 2, 3);
    for (uint32_t i = 0; i < request.n_wants; i++) {
        bool is_all = random_percent(random, 15);
        request.wants[i] = (struct requested_resource){.name = names[(first + i) % N_RESOURCES],
            .count = is_all ? 1 : PICK(random, 1, 1, 1, 2, 3),
            .is_all = is_all};
    }
    struct client *client =
        above ? above->lease->client : &world.clients[random_below(random, N_USERS)];
    const char *at_fault;
    enum outcome outcome = core_acquire(
        world.core, client, &request, world.now, &world.effects, &job->lease, &at_fault);
    n_circles += outcome == OUTCOME_CIRCLE;
    if (job->lease && above) {
        job->above = above;
        above->n_below++;
    }
    take_effects();
}

/* False: nobody can. */
static bool end_one(bool (*fits)(const struct job *job))
{
    struct job *job = some_job(fits);
    if (job) {
        core_end(world.core, job->lease, job->lease->client, world.now, &world.effects);
        leave(job);
        take_effects();
    }
    return job;
}

static void pass_time(nanoseconds until)
{
    world.now = until;
    core_tick(world.core, world.now, &world.effects);
    take_effects();
}

static void happen(bool is_traced_now)
{
    uint32_t dice = random_below(&world.random, 100);
    if (is_traced_now) {
        printf(
            "%u: %zu hold, %zu wait\n", dice, core_n_held(world.core), core_n_waiting(world.core));
    }
    if (dice < 25) {
        ask(false);
    } else if (dice < 60) {
        ask(true);
    } else if (dice < 85) {
        end_one(may_end);
    } else if (dice < 88) {
        end_one(waits);
    } else {
        pass_time(world.now + (nanoseconds)random_below(&world.random, 3000) * 1000000);
    }
}

/* Patience and cooldowns end by themselves. */
static void come_to_an_end(void)
{
    while (some_job(is_held) || some_job(waits)) {
        if (!end_one(may_end)) {
            nanoseconds next = core_next_deadline(world.core);
            REQUIRE(next != NEVER, "%zu hold and %zu wait for each other", core_n_held(world.core),
                core_n_waiting(world.core));
            pass_time(next);
        }
    }
}

static void run(uint64_t seed, uint64_t n_steps)
{
    begin(seed);
    for (uint64_t step = 0; step < n_steps; step++) {
        happen(is_traced);
        if (random_below(&world.random, 200) == 0) {
            come_to_an_end();
        }
    }
    come_to_an_end();
    for (size_t i = 0; i < N_USERS; i++) {
        core_client_deinit(world.core, &world.clients[i], world.now, &world.effects);
    }
    take_effects();
    effects_deinit(&world.effects);
    core_free(world.core);
}

static void print_figures(void)
{
    printf(": %ju granted after a wait, %ju refused and %ju denied in circles",
        (uintmax_t)n_granted_later, (uintmax_t)n_circles, (uintmax_t)n_others_denied);
}

int main(int argc, char **argv)
{
    static const struct simulator nested = {.name = "nested",
        .length_word = "--steps",
        .length = 5000,
        .n_tap_seeds = 40,
        .run = run,
        .print_figures = print_figures};
    return runs_main(&nested, argc, argv);
}
