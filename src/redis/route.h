/* route.h - which node of a cluster is dialed next, and what its redirections mean: each node that
 * is known is asked once before a pause is due, and no chain of redirections is endless. Pure. */
#pragma once

#include "base/time.h"
#include "conf/redis_url.h"
#include "redis/cluster.h"

/* Zero without a cluster. */
struct route {
    const struct redis_url *url;
    uint16_t slot; /* of all our keys */
    struct cluster_map map; /* as a node last said it */
    size_t next; /* the node to begin with: of the url's, then of the map's */
    size_t n_failed; /* nodes in a row, without a pause */
    struct cluster_node at; /* the node that is being tried, or in use */
    struct cluster_node to; /* where a redirection leads; host "": nowhere */
    unsigned n_redirections; /* since the last good answer */
    bool is_asking; /* our keys are at this node ahead of their slot: ASKING precedes each call */
    bool is_hasty; /* the next try needs no pause */
    bool is_between; /* this node has not all keys, and no other one has */
    nanoseconds moving_since; /* time of day; 0: the slot is not being moved, as far as known */
};

/* `database` must outlive it. */
void route_init(struct route *route, const struct database *database);
/* Chooses the node to dial now, and returns it: route->at. */
const struct cluster_node *route_choose(struct route *route);

enum route_step {
    ROUTE_FOLLOW, /* route_choose() is the node where it leads */
    ROUTE_STAY, /* the keys are at two nodes: the same call to the same node, later */
    ROUTE_UNKNOWN, /* nobody says where that is */
    ROUTE_ROUND, /* too many in a row */
};
/* What to do about a redirection (MOVED, ASK, TRY_AGAIN). `now` is the time of day. */
enum route_step route_take(
    struct route *route, const struct redirection *redirection, nanoseconds now);
/* The connection was lost, or could not be made ready. */
void route_failed(struct route *route, bool was_ready);
/* Whether the next try needs no pause; asked once for each failure. */
bool route_takes_no_pause(struct route *route);
/* A script has answered. */
void route_is_good(struct route *route);
/* The slot has followed its keys to this node. */
void route_has_slot(struct route *route);
/* What is wrong with the slot at present; or "". */
void route_trouble(const struct route *route, char *out, size_t size);
