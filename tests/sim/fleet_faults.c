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
    nanoseconds until = fleet->now + chance(fleet, 10 * MILLISECOND, 40 * SECOND);
    switch (random_below(&fleet->random, 9)) {
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
    fleet->next_step = is_last ? NEVER : fleet->now + chance(fleet, SECOND / 10, 5 * SECOND);
}

static void server_fault(struct fleet *fleet)
{
    if (!server_is_there(fleet)) {
        return;
    }
    switch (random_below(&fleet->random, 12)) {
    case 0:
    case 1:
    case 2:
        server_dies(fleet);
        break;
    case 3:
        server_is_emptied(fleet);
        break;
    case 4:
        trace(fleet, "no memory for writes");
        fleet->server.has_memory_at = fleet->now + chance(fleet, SECOND, 20 * SECOND);
        fleet->server.redis.is_full = true;
        break;
    case 5:
        server_breaks_connections(fleet, "CLIENT KILL");
        break;
    case 6:
    case 7:
        server_is_rolled_back(fleet);
        break;
    case 8:
        server_loses_a_key(fleet);
        break;
    case 9:
        clock_slew(fleet, &fleet->server.clock);
        break;
    default:
        set_clock(fleet);
    }
}

/* ---- when ---- */

void faults_tick(struct fleet *fleet)
{
    if (fleet->now >= fleet->next_operator) {
        fleet->next_operator = fleet->now + chance(fleet, SECOND, 30 * SECOND);
        operator_acts(fleet, random_host(fleet));
    }
    if (!fleet->has_faults) {
        return;
    }
    if (fleet->now >= fleet->next_host_fault) {
        fleet->next_host_fault =
            fleet->now + chance(fleet, 100 * MILLISECOND, 60 * SECOND / fleet->n_hosts);
        host_fault(fleet);
    }
    if (fleet->now >= fleet->next_server_fault) {
        fleet->next_server_fault = fleet->now + chance(fleet, SECOND, 80 * SECOND);
        server_fault(fleet);
    }
    if (fleet->now >= fleet->next_step) {
        set_clock(fleet);
    }
}

nanoseconds faults_next(const struct fleet *fleet)
{
    nanoseconds next = fleet->next_operator;
    if (fleet->has_faults) {
        next = fleet->next_host_fault < next ? fleet->next_host_fault : next;
        next = fleet->next_server_fault < next ? fleet->next_server_fault : next;
        next = fleet->next_step < next ? fleet->next_step : next;
    }
    return next;
}
