/* fleet_rates.c - how many units of the resource with a rate begin to be held in how long, counted
 * beside the scripts: every grant shows in the data after its call. */
#include "fleet_internal.h"

#include <string.h>

static bool was_seen(const struct rated *rated, struct bytes member)
{
    size_t n = rated->n < MAX_RATED ? rated->n : MAX_RATED;
    size_t i = 0;
    while (i < n && !bytes_are(bytes_of(rated->grants[i].member), member)) {
        i++;
    }
    return i < n; /* else it is granted, and not put back */
}

/* By the fastest clock, which may have been set besides. */
static nanoseconds shortest_window(const struct fleet *fleet)
{
    bool was_set = fleet->server.clock_set_at + 2 * RATE_WINDOW > fleet->now;
    return RATE_WINDOW / 13 * 12 - MILLISECOND - (was_set ? slow(fleet->ttl) / 6 + SECOND : 0);
}

static void check_grants(const struct fleet *fleet)
{
    const struct rated *rated = &fleet->rated;
    size_t n_known = rated->n < MAX_RATED ? rated->n : MAX_RATED, n = 0;
    for (size_t i = 0; i < n_known; i++) {
        n += rated->grants[i].at > fleet->now - shortest_window(fleet);
    }
    if (n > RATE_BURST + RATE_UNITS) {
        fail("%zu units are granted in %.3f s", n,
            (double)shortest_window(fleet) / (double)SECOND);
    }
}

void rates_look(struct fleet *fleet)
{
    static const char first[] = "rate ";
    struct rated *rated = &fleet->rated;
    const struct redis_data *data = fleet->server.redis.data;
    const struct value *held = redis_data_find(data, bytes_of("{berth}:held"));
    const struct member *since = redis_data_member(data, "{berth}:db", "since");
    bool is_founded = since && bytes_are(since->value, bytes_of("0"));
    if (is_founded && !rated->is_founded) {
        rates_forget(fleet); /* an operator says that nothing was granted before */
    }
    rated->is_founded = is_founded;
    for (size_t i = 0; held && i < held->n; i++) {
        struct bytes member = held->members[i]->name;
        bool fits = member.n >= sizeof first && member.n < sizeof rated->grants[0].member;
        if (fits && !was_seen(rated, member) && memcmp(member.at, first, sizeof first - 1) == 0) {
            struct rated_grant *grant = &rated->grants[rated->n++ % MAX_RATED];
            *grant = (struct rated_grant){.at = fleet->now};
            memcpy(grant->member, member.at, member.n);
            trace(fleet, "a grant: %s", grant->member);
            check_grants(fleet);
            fleet->figures[FIGURE_RATED]++;
        }
    }
}

/* Those before do not count any more, and are known all the same. */
void rates_forget(struct fleet *fleet)
{
    for (size_t i = 0; i < MAX_RATED; i++) {
        fleet->rated.grants[i].at = INT64_MIN;
    }
}
