/* fleet.c - 3 to 30 hosts that come and go, and one Redis that runs the real scripts, with faults:
 * never two jobs on one unit, nothing leaked, nothing stuck, in order.
 * See runs.h. */
#include "fleet_internal.h"
#include "tests/core_check.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define LONGEST_END (1800 * SECOND)
#define LONG_CALM (150 * SECOND) /* long enough for operators to look, too */

void trace(struct fleet *fleet, const char *format, ...)
{
    va_list arguments;
    if (!is_traced) {
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

/* ---- time ---- */

static void check_all(struct fleet *fleet)
{
    for (uint32_t i = 0; i < fleet->n_hosts; i++) {
        if (fleet->hosts[i].core) {
            core_check(fleet->hosts[i].core);
        }
    }
    jobs_check(fleet);
}

static void tick_all(struct fleet *fleet)
{
    timers_tick(fleet);
    for (uint32_t i = 0; i < fleet->n_hosts; i++) {
        struct host *host = &fleet->hosts[i];
        if (host->is_there && host_next_deadline(fleet, host) <= fleet->now) {
            host_tick(fleet, host);
        }
    }
}

/* Plays one instant. */
static void step(struct fleet *fleet)
{
    nanoseconds at, next = timers_next(fleet);
    struct packet *packet = net_next(fleet, &at);
    for (uint32_t i = 0; i < fleet->n_hosts; i++) {
        nanoseconds deadline = host_next_deadline(fleet, &fleet->hosts[i]);
        next = deadline < next ? deadline : next;
    }
    if (packet && at <= next) {
        fleet->now = at > fleet->now ? at : fleet->now;
        net_deliver(fleet, packet);
    } else {
        fleet->now = next > fleet->now ? next : fleet->now;
        tick_all(fleet);
    }
    if (++fleet->figures[FIGURE_EVENTS] % 256 == 0) {
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
            fail("time stands still");
        }
    }
}

/* ---- life ---- */

static uint32_t random_n_hosts(struct fleet *fleet)
{
    bool is_large = random_percent(&fleet->random, 30);
    return MIN_HOSTS + random_below(&fleet->random, (is_large ? MAX_SIMULATED : 8) - MIN_HOSTS + 1);
}

static struct fleet *fleet_new(uint64_t seed)
{
    struct fleet *fleet = calloc(1, sizeof *fleet);
    fleet->random.state = seed;
    fleet->now = 1000 * SECOND;
    fleet->ttl = chance(fleet, 10, 30) * SECOND;
    fleet->n_hosts = random_n_hosts(fleet);
    fleet->has_faults = fleet->had_faults = random_percent(&fleet->random, 90);
    timers_begin(fleet);
    fleet->percent_long = PICK(&fleet->random, 5, 40);
    fleet->has_words = random_percent(&fleet->random, 60);
    fleet->percent_nested = PICK(&fleet->random, 5, 20, 50);
    fleet->slews = (enum slews)random_below(&fleet->random, N_SLEWS);
    fleet->reader = resp_reader_new();
    resources_define(fleet, seed % 2 == 1);
    operators_begin(fleet);
    server_init(fleet);
    for (uint32_t i = 0; i < fleet->n_hosts; i++) {
        fleet->hosts[i].index = i;
        host_join(fleet, &fleet->hosts[i]);
    }
    return fleet;
}

static void fleet_free(struct fleet *fleet)
{
    net_clear(fleet);
    for (uint32_t i = 0; i < fleet->n_hosts; i++) {
        host_leave(fleet, &fleet->hosts[i]);
    }
    server_deinit(fleet);
    resp_reader_free(fleet->reader);
    free(fleet);
}

static void heal(struct fleet *fleet)
{
    trace(fleet, "all is well from now on");
    fleet->is_calm = true;
    fleet->calm_since = fleet->now;
    fleet->has_faults = false;
    fleet->timers[TIMER_MEMORY] = fleet->now;
    if (!server_is_there(fleet)) {
        server_returns(fleet);
    }
    for (uint32_t i = 0; i < fleet->n_hosts; i++) {
        struct host *host = &fleet->hosts[i];
        host->returns_at = host->frozen_until = host->cut_until = fleet->now;
        host->slow_until = fleet->now;
        host->mute_connection = UINT64_MAX;
    }
}

/* ---- at the end ---- */

static bool host_is_done(struct host *host, struct text *why)
{
    const struct session_view view = session_look(host->session);
    if (view.state != SESSION_UP) {
        text_add_format(why, "%s: not up in the end: %s", host->name, view.why);
    } else if (core_n_held(host->core) + core_n_waiting(host->core) + jobs_used(host) > 0) {
        text_add_format(why, "%s: %zu held, %zu wait, %zu jobs in the end", host->name,
            core_n_held(host->core), core_n_waiting(host->core), jobs_used(host));
    }
    return why->length == 0;
}

/* All hosts are up, have had what they wanted, and have left nothing. */
static bool is_done(struct fleet *fleet, struct text *why)
{
    why->length = 0;
    for (uint32_t i = 0; i < fleet->n_hosts; i++) {
        if (fleet->hosts[i].is_there && !host_is_done(&fleet->hosts[i], why)) {
            return false;
        }
    }
    return fleet->now > fleet->calm_since + LONG_CALM && server_is_done(fleet, why);
}

static void run_to_the_end(struct fleet *fleet)
{
    struct text why = TEXT_INIT;
    heal(fleet);
    nanoseconds latest = fleet->now + LONGEST_END;
    do {
        run_until(fleet, fleet->now + 30 * SECOND);
    } while (!is_done(fleet, &why) && fleet->now < latest);
    if (why.length > 0) {
        fail("%s", why.bytes);
    }
    text_deinit(&why);
}

/* ---- a run ---- */

static const struct fleet *running;
static uint64_t sums[N_FIGURES]; /* of all runs */

static void run(uint64_t seed, uint64_t seconds)
{
    struct fleet *fleet = fleet_new(seed);
    running = fleet;
    run_until(fleet, fleet->now + (nanoseconds)seconds * SECOND);
    run_to_the_end(fleet);
    for (size_t i = 0; i < N_FIGURES; i++) {
        sums[i] += fleet->figures[i];
    }
    running = NULL;
    fleet_free(fleet);
}

static void print_state(void)
{
    if (running) {
        printf("# at %.3f s\n", (double)running->now / (double)SECOND);
        clocks_print(running);
    }
}

static void print_figures(void)
{
    static const char *const words[N_FIGURES] = {"grants", "circles", "replaced",
        "withdrawn", "events", "definitions forgotten", "moved", "founded", "rates of clocks",
        "steps of clocks", "units by a rate"};
    for (size_t i = 0; i < N_FIGURES; i++) {
        printf(", %ju %s", (uintmax_t)sums[i], words[i]);
    }
}

int main(int argc, char **argv)
{
    static const struct simulator fleet = {.name = "fleet",
        .length_word = "--seconds",
        .length = 300,
        .n_tap_seeds = 8,
        .run = run,
        .print_state = print_state,
        .print_figures = print_figures};
    return runs_main(&fleet, argc, argv);
}
