#include "redis/route.h"

#include "redis/one_line.h"

#include <string.h>
#include <time.h>

enum { MAX_REDIRECTIONS = 5 }; /* in a row: more may lead nowhere */

void route_init(struct route *route, const struct database *database)
{
    route->url = &database->url;
    route->slot = cluster_slot(database->prefix);
}

/* ---- which node ---- */

static size_t n_known(const struct route *route)
{
    return route->url->n_hosts + route->map.n;
}

/* Those of the url, then those that a node has named. */
static struct cluster_node known_node(const struct route *route, size_t i)
{
    struct cluster_node node;
    if (i >= route->url->n_hosts) {
        return route->map.nodes[i - route->url->n_hosts];
    }
    format_one_line(node.host, sizeof node.host, "%s", route->url->hosts[i].host);
    node.port = route->url->hosts[i].port;
    return node;
}

const struct cluster_node *route_choose(struct route *route)
{
    if (route->to.host[0]) {
        route->at = route->to;
        route->to.host[0] = '\0';
    } else {
        route->is_asking = false;
        route->at = known_node(route, route->next % n_known(route));
    }
    return &route->at;
}

void route_failed(struct route *route, bool was_ready)
{
    if (route->to.host[0]) {
        route->is_hasty = true; /* a redirection leads there */
    } else if (!was_ready && !route->is_between) {
        route->next = (route->next + 1) % n_known(route);
        route->is_hasty = ++route->n_failed < n_known(route);
    }
    route->is_between = false;
}

bool route_takes_no_pause(struct route *route)
{
    bool is_hasty = route->is_hasty;
    route->n_failed = is_hasty ? route->n_failed : 0;
    route->is_hasty = false;
    return is_hasty;
}

/* ---- redirections ---- */

/* A node that does not know where it is may stand in the map. */
static bool find_target(struct route *route, const struct redirection *redirection)
{
    const struct cluster_node *owner = &route->map.nodes[0];
    route->to = redirection->to;
    if (!route->to.host[0] && redirection->kind == REDIRECTION_MOVED && route->map.n > 0 &&
        owner->port == redirection->to.port) {
        route->to = *owner;
    }
    return route->to.host[0] != '\0';
}

enum route_step route_take(
    struct route *route, const struct redirection *redirection, nanoseconds now)
{
    if (redirection->kind != REDIRECTION_MOVED && route->moving_since == 0) {
        route->moving_since = now;
    }
    route->is_between = redirection->kind == REDIRECTION_TRY_AGAIN;
    if (route->is_between) {
        return ROUTE_STAY;
    }
    if (!find_target(route, redirection)) {
        return ROUTE_UNKNOWN;
    }
    if (++route->n_redirections > MAX_REDIRECTIONS) {
        route->to.host[0] = '\0';
        route->n_redirections = 0;
        return ROUTE_ROUND;
    }
    route->is_asking = redirection->kind == REDIRECTION_ASK;
    return ROUTE_FOLLOW;
}

void route_is_good(struct route *route)
{
    route->n_redirections = 0;
    route->n_failed = 0;
    route->is_between = false;
    route->moving_since = route->is_asking ? route->moving_since : 0;
}

void route_has_slot(struct route *route)
{
    route->is_asking = false;
    route_is_good(route);
}

void route_trouble(const struct route *route, char *out, size_t size)
{
    struct tm tm;
    char when[32];
    time_t since = (time_t)(route->moving_since / NANOSECONDS_PER_SECOND);
    out[0] = '\0';
    if (route->moving_since != 0) {
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&since, &tm));
        format_one_line(out, size, "its slot %u has been moving since %s", route->slot, when);
    }
}
