/* answers.c - a core, and databases that answer anything at any time: true, late, repeated, wrong.
 * Whatever they answer, the core's figures agree (core_check()), what it tells them is consistent,
 * their units are granted only by their word, and no job outlives its deadline.
 * See runs.h. */
#include "answers_internal.h"

#include <string.h>

/* ---- definitions: two files, which move idle resources between databases ---- */

static char *items[] = {"x", "y", "z"};
static struct definition files[2][6];

static void define_one(struct definition *definition, const char *name, uint8_t database)
{
    *definition = (struct definition){.name = (char *)(uintptr_t)name,
        .kind = name[0] == 'p' ? KIND_POOL : KIND_SEMAPHORE,
        .database = database,
        .limit = name[0] == 'p' ? 0 : 3,
        .items = name[0] == 'p' ? items : NULL,
        .n_items = name[0] == 'p' ? 3 : 0,
        .cooldown = name[0] == 'b' ? SECOND : 0,
        .max_hold = name[0] == 'b' ? 30 * SECOND : NEVER,
        .kill_after = (name[0] == 'b' ? 2 : 5) * SECOND,
        .on_lost = name[0] == 'q' ? ON_LOST_WARN : ON_LOST_KILL,
        .max_waiters = 1000,
        .max_units_per_user = name[0] == 'a' ? 4 : UNBOUNDED,
        .max_instances = 4,
        .max_priority = 2};
}

static void make_files(void)
{
    static const char *const names[] = {"a", "b", "p", "q", "t/*", "h"};
    static const uint8_t databases[2][6] = {{1, 1, 1, 2, 1, 0}, {1, 1, 2, 2, 1, 0}};
    for (size_t file = 0; file < 2; file++) {
        for (size_t i = 0; i < 6; i++) {
            define_one(&files[file][i], names[i], databases[file][i]);
        }
    }
}

static void do_define(void)
{
    const char *refused;
    struct user_bounds bounds = {UNBOUNDED, 8, 16, UNBOUNDED};
    bool second = random_percent(&world.random, 50),
         short_of_one = random_percent(&world.random, 30);
    core_define(world.core, files[second], short_of_one ? 5 : 6, &bounds, world.now, &world.effects,
        &refused);
}

/* ---- clients ---- */

static struct acquire_request make_ask(void)
{
    static const char *const names[] = {"a", "a", "b", "p", "q", "t/x", "t/y", "h"};
    static int32_t pid;
    struct random *random = &world.random;
    struct acquire_request ask = {.n_wants = 1 + random_percent(random, 40),
        .wait = (nanoseconds)PICK(random, 0, 1, 5, 40) * SECOND,
        .attributes.priority = (int32_t)random_below(random, 3),
        .attributes.holder = random_percent(random, 20) ? items[random_below(random, 3)] : NULL,
        .pid = ++pid,
        .binding = (enum binding)random_below(random, 3),
        .process = {.pid = pid, .started = (uint64_t)pid},
        .ttl = 10 * SECOND,
        .attributes.signal = random_percent(random, 75) ? SIGNAL_TERM : 0}; /* a program's */
    uint32_t first = random_below(random, 8), second = (first + 2 + random_below(random, 5)) % 8;
    ask.wants[0] = (struct requested_resource){
        .name = names[first], .count = 1 + random_below(random, MAX_CLAIMED)};
    ask.wants[1] = (struct requested_resource){.name = names[second], .count = 1};
    return ask;
}

static void do_acquire(void)
{
    uint32_t client = random_below(&world.random, N_CLIENTS);
    struct acquire_request ask = make_ask();
    struct lease *lease;
    const char *at_fault;
    if (!world.is_connected[client] ||
        core_n_held(world.core) + core_n_waiting(world.core) >= MAX_LEASES) {
        return;
    }
    enum outcome outcome = core_acquire(
        world.core, &world.clients[client], &ask, world.now, &world.effects, &lease, &at_fault);
    if (lease) {
        known_add(lease);
        REQUIRE((outcome == OUTCOME_PENDING) == (lease->database != 0), "outcome %d", (int)outcome);
    }
}

static void do_client(void)
{
    uint32_t i = random_below(&world.random, N_CLIENTS);
    if (!world.is_connected[i]) {
        core_client_init(world.core, &world.clients[i], i % 3);
        world.is_connected[i] = true;
    } else if (random_percent(&world.random, 15)) {
        core_client_deinit(world.core, &world.clients[i], world.now, &world.effects);
        world.is_connected[i] = false;
    }
}

static void do_end(struct lease *lease)
{
    static const enum outcome reasons[] = {OUTCOME_REVOKED, OUTCOME_WITHDRAWN, OUTCOME_DROPPED};
    uint32_t how = random_below(&world.random, 6);
    if (how < 3) {
        core_revoke(world.core, lease, reasons[how], NULL, world.now, &world.effects);
    } else {
        core_end(world.core, lease, lease->client, world.now, &world.effects);
    }
}

static void do_dies(struct lease *lease)
{
    if (lease->binding == BOUND_PROCESS && lease->is_watched && !lease->process_is_gone) {
        core_process_exited(world.core, lease, world.now, &world.effects);
    }
}

static void do_reclaim(struct lease *lease)
{
    for (uint32_t i = 0; i < N_CLIENTS; i++) {
        if (world.is_connected[i] && world.clients[i].uid == lease->uid) {
            core_reclaim(world.core, &world.clients[i], lease, world.now, &world.effects);
            return;
        }
    }
}

/* ---- databases ---- */

struct said {
    struct saved_claim claims[MAX_RESOURCES_PER_LEASE];
    struct saved_unit units[MAX_RESOURCES_PER_LEASE][MAX_CLAIMED + 1];
};

/* Mostly true; half of the time the units are another lease's. */
static void make_said(struct said *said, const struct lease *lease)
{
    struct random *random = &world.random;
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct claim *claim = &lease->claims[i];
        struct saved_claim *out = &said->claims[i];
        bool is_pool = resource_is_pool(claim->resource) != random_percent(random, 2);
        const struct unit *unit = random_percent(random, 90) ? claim->units : NULL;
        *out = (struct saved_claim){.name = random_percent(random, 2) ? "a" : claim->resource->name,
            .count = claim->count + random_percent(random, 2),
            .token = claim->token && random_percent(random, 90) ? claim->token
                                                                : random_below(random, 50),
            .is_pool = is_pool,
            .units = said->units[i]};
        for (uint32_t k = 0; k < out->count; k++, unit = unit ? unit->next_of_claim : NULL) {
            said->units[i][k].item = is_pool ? items[random_below(random, 3)] : NULL;
            said->units[i][k].slot = is_pool ? 0 : random_below(random, 12);
            if (unit) {
                said->units[i][k] = (struct saved_unit){.item = unit->item, .slot = unit->index};
            }
        }
    }
}

static void do_granted(struct lease *lease)
{
    struct said said;
    make_said(&said, lease);
    enum lease_state before = lease->state;
    bool was_asked = lease->is_asked;
    world.granting = lease->id;
    bool is_true = core_fleet_granted(
        world.core, lease, random_below(&world.random, 99), said.claims, world.now, &world.effects);
    REQUIRE(is_true || (lease->state == before && world.effects.n == 0 && !world.effects.changed),
        "%ju: nothing was to be changed", lease->id);
    REQUIRE(!is_true || (was_asked && lease->state == LEASE_HELD), "%ju: granted?", lease->id);
    take_effects();
    world.granting = 0;
}

static void do_waits(struct lease *lease)
{
    core_fleet_waits(world.core, lease, random_below(&world.random, 50),
        random_below(&world.random, 5), &world.effects);
}

static void do_refused(struct lease *lease)
{
    core_fleet_refused(world.core, lease, OUTCOME_QUEUE_FULL, world.now, &world.effects);
}

static void do_lost(struct lease *lease)
{
    core_fleet_lost(world.core, lease, world.now, &world.effects);
}

static void do_good(void)
{
    uint8_t database = (uint8_t)(1 + random_below(&world.random, N_DATABASES));
    nanoseconds until = world.now + (nanoseconds)random_below(&world.random, 20) * SECOND;
    if (until > world.good_until[database - 1]) {
        world.good_until[database - 1] = until;
        core_fleet_good_until(world.core, database, until, world.now, &world.effects);
    }
}

/* ---- the daemon ---- */

static void do_drain(void)
{
    core_drain(world.core, random_percent(&world.random, 15), world.now, &world.effects);
}

/* Each thing in time. */
static void do_tick(void)
{
    nanoseconds until =
        world.now + (nanoseconds)random_below(&world.random, 3000) * (SECOND / 1000);
    while (core_next_deadline(world.core) <= until) {
        nanoseconds next = core_next_deadline(world.core);
        world.now = next > world.now ? next : world.now;
        core_tick(world.core, world.now, &world.effects);
        check();
    }
    world.now = until;
    core_tick(world.core, world.now, &world.effects);
}

static void end_core(void)
{
    core_grant_no_more(world.core);
    for (size_t i = 0; i < N_CLIENTS; i++) {
        if (world.is_connected[i]) {
            core_client_deinit(world.core, &world.clients[i], world.now, &world.effects);
            effects_clear(&world.effects);
        }
        world.is_connected[i] = false;
    }
    core_abandon(world.core, world.now, &world.effects);
    effects_clear(&world.effects);
    world.core = core_free(world.core);
}

static void restore(struct known *known)
{
    struct saved_lease *record = known->record;
    struct lease *lease;
    known->record = NULL;
    known->is_there = false;
    known->dead_by = 0;
    uint64_t id = known->id;
    enum outcome outcome = core_restore(world.core, record, world.now, &world.effects, &lease);
    REQUIRE(!lease == (outcome != OUTCOME_OK), "%ju: made again?", id);
    if (lease) {
        REQUIRE(lease->ticket == record->ticket, "%ju has another place now", id);
        known->is_there =
            lease->database != 0 && (lease->is_asked || lease->state != LEASE_WAITING);
        effects_change(&world.effects, lease);
    } else {
        *known = (struct known){0};
    }
    forget(record);
    take_effects();
}

static void do_restart(void)
{
    uint64_t next = core_next_number(world.core);
    end_core();
    world.core = core_new(run_length);
    core_begin_numbers(world.core, next);
    do_define();
    core_begin_grace(world.core, random_percent(&world.random, 50), world.now + 10 * SECOND);
    for (size_t i = 0; i < 2 * MAX_LEASES; i++) {
        if (world.known[i].id) {
            restore(&world.known[i]);
        }
    }
    for (uint8_t i = 1; i <= N_DATABASES; i++) {
        if (world.good_until[i - 1] != 0) {
            core_fleet_good_until(
                world.core, i, world.good_until[i - 1], world.now, &world.effects);
        }
    }
}

/* ---- all of it ---- */

static const struct {
    uint32_t weight;
    void (*act)(void);
    void (*act_on)(struct lease *lease); /* or this, on any lease */
    void (*answer)(struct lease *lease); /* or this, about a lease of a database */
} operations[] = {{40, .act = do_acquire}, {35, .answer = do_granted}, {15, .act = do_tick},
    {12, .act = do_good}, {8, .answer = do_waits}, {8, .act_on = do_end}, {12, .act = do_client},
    {6, .act_on = do_dies}, {4, .act_on = do_reclaim}, {3, .answer = do_refused},
    {2, .answer = do_lost}, {3, .act = do_drain}, {2, .act = do_define}, {1, .act = do_restart}};

enum { N_OPERATIONS = sizeof operations / sizeof operations[0] };

static void step(void)
{
    uint32_t all = 0, at = 0;
    for (size_t i = 0; i < N_OPERATIONS; i++) {
        all += operations[i].weight;
    }
    uint32_t which = random_below(&world.random, all);
    while (which >= operations[at].weight) {
        which -= operations[at++].weight;
    }
    struct lease *lease = operations[at].act ? NULL : some_lease();
    if (operations[at].act) {
        operations[at].act();
    } else if (lease && operations[at].act_on) {
        operations[at].act_on(lease);
    } else if (lease && lease->database != 0) {
        operations[at].answer(lease);
    }
    check();
}

static void run(uint64_t seed, uint64_t n_steps)
{
    memset(&world, 0, sizeof world);
    world.random.state = seed;
    world.now = 1000 * SECOND;
    world.core = core_new(seed);
    do_define();
    for (run_length = 1; run_length <= n_steps; run_length++) {
        step();
    }
    end_core();
    effects_deinit(&world.effects);
    for (size_t i = 0; i < 2 * MAX_LEASES; i++) {
        forget(world.known[i].record);
    }
}

int main(int argc, char **argv)
{
    static const struct simulator answers = {
        .name = "answers", .length_word = "--steps", .length = 3000, .n_tap_seeds = 20, .run = run};
    make_files();
    return runs_main(&answers, argc, argv);
}
