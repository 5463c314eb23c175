/* fleet.c - three hosts and one database, with faults: never two jobs on one unit, nothing leaked,
 * nothing stuck, in order.
 *
 *   fleet [--seed N] [--seconds N] [--seeds N] [--trace] [--tap]
 *
 * The same numbers do the same. */
#include "fleet_internal.h"
#include "runs.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    uint64_t seed;
    nanoseconds length;
    bool is_tap, is_traced;
} options;

/* ---- what is said ---- */

void fail(struct fleet *fleet, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("%s", options.is_tap ? "not ok 1 - " : "");
    vprintf(format, arguments);
    printf(" (at %.3f s)\n%sagain with: fleet --seed %ju --seconds %jd --trace\n",
        (double)fleet->now / (double)SECOND, options.is_tap ? "# " : "", (uintmax_t)options.seed,
        (intmax_t)(options.length / SECOND));
    va_end(arguments);
    fflush(stdout);
    _exit(1);
}

void trace(struct fleet *fleet, const char *format, ...)
{
    va_list arguments;
    if (!options.is_traced) {
        return;
    }
    va_start(arguments, format);
    printf("%12.6f ", (double)fleet->now / (double)SECOND);
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
}

nanoseconds chance(struct fleet *fleet, nanoseconds from, nanoseconds to)
{
    return from + (nanoseconds)(random_next(&fleet->random) % (uint64_t)(to - from + 1));
}

/* ---- faults ---- */

static void server_dies(struct fleet *fleet)
{
    fleet->server_returns_at = fleet->now + chance(fleet, 10 * MILLISECOND, 30 * SECOND);
    net_forget_commands(fleet);
    for (uint32_t i = 0; i < N_HOSTS; i++) {
        if (fleet->hosts[i].is_connected) {
            net_break(fleet, &fleet->hosts[i], "the server is gone");
            host_turn(fleet, &fleet->hosts[i]);
        }
    }
}

/* Empty, with the data of a while ago, or as it was. */
static void server_returns(struct fleet *fleet)
{
    uint32_t kind = random_below(&fleet->random, 3);
    trace(fleet, "the server returns, %s",
        kind == 0       ? "empty"
            : kind == 1 ? "with an old copy"
                        : "with its data");
    fleet->server_returns_at = 0;
    fleet->server.run++;
    if (kind == 0) {
        fleet->server.data = (struct model){0};
    } else if (kind == 1) {
        fleet->server.data = fleet->backup;
    }
}

static void server_is_emptied(struct fleet *fleet)
{
    trace(fleet, "FLUSHALL");
    fleet->server.data = (struct model){0};
}

static void host_fault(struct fleet *fleet, struct host *host)
{
    nanoseconds until = fleet->now + chance(fleet, 10 * MILLISECOND, 40 * SECOND);
    switch (random_below(&fleet->random, 7)) {
    case 0:
        if (host->core) {
            host_crash(fleet, host);
        }
        break;
    case 1:
        trace(fleet, "%s: stopped for %.3f s", host->name,
            (double)(until - fleet->now) / (double)SECOND);
        host->frozen_until = until;
        break;
    case 2:
        host->cut_until = until; /* fall through */
    case 3:
        if (host->is_connected) {
            net_break(fleet, host, "broken");
            host_turn(fleet, host);
        }
        break;
    case 4:
        trace(fleet, "%s: slow", host->name);
        host->slow_until = until;
        break;
    case 5:
        trace(fleet, "%s: mute", host->name);
        host->mute_connection = host->connection;
        break;
    default:
        if (host_is_live(fleet, host) && host->drained_until == 0) {
            host_drain(fleet, host, true);
        }
    }
}

static void fault(struct fleet *fleet)
{
    uint32_t kind = random_below(&fleet->random, 12);
    fleet->next_fault = fleet->now + chance(fleet, 100 * MILLISECOND, 20 * SECOND);
    if (kind == 0 && fleet->server_returns_at == 0) {
        trace(fleet, "the server dies");
        server_dies(fleet);
    } else if (kind == 1 && fleet->server_returns_at == 0) {
        server_is_emptied(fleet);
    } else if (kind == 2) {
        trace(fleet, "no memory for writes");
        fleet->writes_at = fleet->now + chance(fleet, SECOND, 20 * SECOND);
        fleet->server.refuses_writes = true;
    } else {
        host_fault(fleet, &fleet->hosts[random_below(&fleet->random, N_HOSTS)]);
    }
}

/* ---- time ---- */

static void world_tick(struct fleet *fleet)
{
    if (fleet->server_returns_at != 0 && fleet->now >= fleet->server_returns_at) {
        server_returns(fleet);
    }
    if (fleet->server.refuses_writes && fleet->now >= fleet->writes_at) {
        fleet->server.refuses_writes = false;
    }
    if (fleet->now >= fleet->backup_at) {
        fleet->backup = fleet->server.data;
        fleet->backup_at = fleet->now + 15 * SECOND;
    }
    if (fleet->faults && fleet->now >= fleet->next_fault) {
        fault(fleet);
    }
}

static nanoseconds world_next(const struct fleet *fleet)
{
    nanoseconds times[] = {fleet->backup_at,
        fleet->server_returns_at != 0 ? fleet->server_returns_at : NEVER,
        fleet->server.refuses_writes ? fleet->writes_at : NEVER,
        fleet->faults ? fleet->next_fault : NEVER};
    nanoseconds next = NEVER;
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        next = times[i] < next ? times[i] : next;
    }
    return next;
}

static void check_all(struct fleet *fleet)
{
    for (uint32_t i = 0; i < N_HOSTS; i++) {
        if (fleet->hosts[i].core) {
            core_check(fleet->hosts[i].core);
        }
    }
}

/* One instant. */
static void step(struct fleet *fleet)
{
    nanoseconds at, next = world_next(fleet);
    struct packet *packet = net_next(fleet, &at);
    for (uint32_t i = 0; i < N_HOSTS; i++) {
        nanoseconds deadline = host_next_deadline(fleet, &fleet->hosts[i]);
        next = deadline < next ? deadline : next;
    }
    if (packet && at <= next) {
        fleet->now = at > fleet->now ? at : fleet->now;
        net_deliver(fleet, packet);
    } else {
        fleet->now = next > fleet->now ? next : fleet->now;
        world_tick(fleet);
        for (uint32_t i = 0; i < N_HOSTS; i++) {
            host_tick(fleet, &fleet->hosts[i]);
        }
    }
    if (++fleet->n_events % 256 == 0) {
        check_all(fleet);
    }
}

static void run_until(struct fleet *fleet, nanoseconds until)
{
    uint64_t n = 0;
    nanoseconds last = fleet->now;
    while (fleet->now < until) {
        step(fleet);
        n = fleet->now > last ? 0 : n + 1;
        last = fleet->now;
        if (n > 20000) {
            fail(fleet, "time stands still");
        }
    }
}

/* ---- a run ---- */

static struct fleet *fleet_new(uint64_t seed)
{
    static char names[N_MODEL_RESOURCES][4];
    static const uint32_t limits[N_MODEL_RESOURCES] = {1, 2, 3, 5};
    struct fleet *fleet = calloc(1, sizeof *fleet);
    fleet->random.state = seed;
    fleet->now = 1000 * SECOND;
    nanoseconds ttl = chance(fleet, 10, 30) * SECOND;
    fleet->server.publish = net_publish;
    fleet->server.context = fleet;
    fleet->server.run = 1;
    fleet->faults = random_percent(&fleet->random, 90);
    fleet->next_fault = fleet->now + chance(fleet, 0, 60 * SECOND);
    for (uint32_t i = 0; i < N_MODEL_RESOURCES; i++) {
        fleet->server.limits[i] = limits[i];
        snprintf(names[i], sizeof names[i], "r%u", i);
        fleet->definitions[i] = (struct definition){.name = names[i],
            .database = 1,
            .limit = limits[i],
            .max_hold = NEVER,
            .kill_after = ttl / 30,
            .on_lost = ON_LOST_KILL,
            .max_waiters = 1000,
            .max_units_per_user = UNBOUNDED,
            .max_priority = 10};
    }
    for (uint32_t i = 0; i < N_HOSTS; i++) {
        struct host *host = &fleet->hosts[i];
        host->index = i;
        host->mute_connection = UINT64_MAX;
        host->next_id = 1 + i * UINT64_C(1000000);
        snprintf(host->name, sizeof host->name, "%016u", i + 1);
        host->settings = (struct database){
            .ttl = ttl, .prefix = "sim", .failover_lag = 11 * SECOND, .generation = 1};
        host_start(fleet, host);
    }
    return fleet;
}

static void heal(struct fleet *fleet)
{
    trace(fleet, "all is well from now on");
    fleet->is_calm = true;
    fleet->faults = false;
    fleet->server.refuses_writes = false;
    if (fleet->server_returns_at != 0) {
        server_returns(fleet);
    }
    for (uint32_t i = 0; i < N_HOSTS; i++) {
        struct host *host = &fleet->hosts[i];
        host->returns_at = host->frozen_until = host->cut_until = fleet->now;
        host->slow_until = fleet->now;
        host->mute_connection = UINT64_MAX;
    }
}

static void check_end(struct fleet *fleet)
{
    for (uint32_t i = 0; i < N_HOSTS; i++) {
        struct host *host = &fleet->hosts[i];
        struct session_view view;
        session_look(host->session, &view);
        if (view.state != SESSION_UP) {
            fail(fleet, "%s: not up in the end: %s", host->name, view.why);
        }
        if (core_n_held(host->core) + core_n_waiting(host->core) + jobs_used(host) > 0) {
            fail(fleet, "%s: %zu held, %zu wait, %zu jobs in the end", host->name,
                core_n_held(host->core), core_n_waiting(host->core), jobs_used(host));
        }
    }
    if (fleet->server.data.n_leases > 0) {
        fail(fleet, "the database has %zu leases in the end: session %u id %s",
            fleet->server.data.n_leases, fleet->server.data.leases[0].session,
            fleet->server.data.leases[0].id);
    }
}

static void run(uint64_t seed, uint64_t *n_grants, uint64_t *n_events)
{
    options.seed = seed;
    struct fleet *fleet = fleet_new(seed);
    run_until(fleet, fleet->now + options.length);
    heal(fleet);
    run_until(fleet, fleet->now + 600 * SECOND);
    check_end(fleet);
    *n_grants += fleet->n_grants;
    *n_events += fleet->n_events;
    net_clear(fleet);
    for (uint32_t i = 0; i < N_HOSTS; i++) {
        host_deinit(fleet, &fleet->hosts[i]);
    }
    free(fleet);
}

static void aborted(int signal)
{
    (void)signal;
    printf("%saborted: fleet --seed %ju --seconds %jd --trace\n",
        options.is_tap ? "not ok 1 - " : "", (uintmax_t)options.seed,
        (intmax_t)(options.length / SECOND));
    fflush(stdout);
    _exit(1);
}

int main(int argc, char **argv)
{
    struct runs runs = {.program = "fleet",
        .length_word = "--seconds",
        .length = 600,
        .n_tap_seeds = 40,
        .can_trace = true};
    uint64_t n_grants = 0, n_events = 0;
    runs_parse(&runs, argc, argv);
    options.length = (nanoseconds)runs.length * SECOND;
    options.is_tap = runs.is_tap;
    options.is_traced = runs.is_traced;
    signal(SIGABRT, aborted);
    for (uint64_t i = 0; i < runs.n_seeds; i++) {
        run(runs.seed + i, &n_grants, &n_events);
    }
    printf("%sseeds %ju ... %ju: %ju grants, %ju events\n", options.is_tap ? "ok 1 - " : "",
        (uintmax_t)runs.seed, (uintmax_t)(runs.seed + runs.n_seeds - 1), (uintmax_t)n_grants,
        (uintmax_t)n_events);
    return 0;
}
