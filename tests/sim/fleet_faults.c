/* fleet_faults.c - the faults of the simulated fleet. */
#include "fleet_internal.h"

static struct host *random_host(struct fleet *fleet)
{
    return &fleet->hosts[random_below(&fleet->random, fleet->n_hosts)];
}

static uint32_t n_there(const struct fleet *fleet)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < fleet->n_hosts; i++) {
        n += fleet->hosts[i].is_there;
    }
    return n;
}

/* ---- of one host ---- */

static void to_host(struct fleet *fleet, struct host *host)
{
    enum { CUT_OFF = 2, N_HOST_FAULTS = 9 };
    const nanoseconds longest = 40 * SECOND;
    nanoseconds until = fleet->now + chance(fleet, 10 * MILLISECOND, longest);
    uint32_t fault = random_below(&fleet->random, N_HOST_FAULTS);
    if (fleet->slews == SLEWS_WORST && fault > N_HOST_FAULTS / 2) { /* they are worst for this */
        fault = CUT_OFF;
        until = fleet->now + longest;
    }
    switch (fault) {
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
    case CUT_OFF:
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
    case 6:
        if (n_there(fleet) > 1) {
            host_leave(fleet, host);
        }
        break;
    case 7:
        clock_slew(fleet, &host->clock);
        break;
    default:
        if (host_is_live(fleet, host) && host->drained_until == 0) {
            host_drain(fleet, host, true);
        }
    }
}

static void host_fault(struct fleet *fleet)
{
    fleet->timers[TIMER_HOST_FAULT] =
        fleet->now + chance(fleet, 100 * MILLISECOND, 60 * SECOND / fleet->n_hosts);
    struct host *host = random_host(fleet);
    if (host->is_there) {
        to_host(fleet, host);
    } else {
        host_join(fleet, host);
    }
}

/* ---- of the server ---- */

static void set_clock(struct fleet *fleet)
{
    static const int steps[] = {3, -3, 26, -26, 120, -120};
    bool is_last = random_below(&fleet->random, 4) == 0;
    server_sets_clock(fleet, steps[random_below(&fleet->random, 6)] * SECOND);
    fleet->timers[TIMER_CLOCK_STEP] =
        is_last ? NEVER : fleet->now + chance(fleet, SECOND / 10, 5 * SECOND);
}

static void fill_memory(struct fleet *fleet)
{
    trace(fleet, "no memory for writes");
    fleet->timers[TIMER_MEMORY] = fleet->now + chance(fleet, SECOND, 20 * SECOND);
    fleet->server.redis.is_full = true;
}

static void free_memory(struct fleet *fleet)
{
    fleet->timers[TIMER_MEMORY] = NEVER;
    fleet->server.redis.is_full = false;
}

static void slew_server_clock(struct fleet *fleet)
{
    clock_slew(fleet, &fleet->server.clock);
}

static void server_fault(struct fleet *fleet)
{
    static void (*const faults[])(struct fleet *) = {server_dies, server_dies, server_dies,
        server_is_emptied, fill_memory, server_breaks_connections, server_is_rolled_back,
        server_is_rolled_back, server_loses_a_key, slew_server_clock, set_clock, set_clock};
    fleet->timers[TIMER_SERVER_FAULT] = fleet->now + chance(fleet, SECOND, 80 * SECOND);
    if (server_is_there(fleet)) {
        faults[random_below(&fleet->random, sizeof faults / sizeof faults[0])](fleet);
    }
}

/* ---- when ---- */

static void some_operator_acts(struct fleet *fleet)
{
    fleet->timers[TIMER_OPERATOR] = fleet->now + chance(fleet, SECOND, 30 * SECOND);
    operator_acts(fleet, random_host(fleet));
}

void timers_begin(struct fleet *fleet)
{
    fleet->timers[TIMER_RETURN] = fleet->timers[TIMER_MEMORY] = NEVER;
    fleet->timers[TIMER_CLOCK_STEP] = NEVER;
    fleet->timers[TIMER_HOST_FAULT] = fleet->now + chance(fleet, 0, 60 * SECOND);
    fleet->timers[TIMER_SERVER_FAULT] = fleet->now + chance(fleet, 0, 60 * SECOND);
}

static bool is_on(const struct fleet *fleet, enum timer timer)
{
    return timer < TIMER_HOST_FAULT || fleet->has_faults;
}

void timers_tick(struct fleet *fleet)
{
    static void (*const acts[N_TIMERS])(struct fleet *) = {server_returns, free_memory,
        server_copies_data, some_operator_acts, host_fault, server_fault, set_clock};
    for (enum timer i = 0; i < N_TIMERS; i++) {
        if (is_on(fleet, i) && fleet->now >= fleet->timers[i]) {
            acts[i](fleet);
        }
    }
}

nanoseconds timers_next(const struct fleet *fleet)
{
    nanoseconds next = NEVER;
    for (enum timer i = 0; i < N_TIMERS; i++) {
        next = is_on(fleet, i) ? earlier(next, fleet->timers[i]) : next;
    }
    return next;
}
