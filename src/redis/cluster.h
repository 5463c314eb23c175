/* cluster.h - hash slots, and what the nodes of a Redis Cluster say about them. Pure. */
#pragma once

#include "fleet/resp_value.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    N_CLUSTER_SLOTS = 16384,
    CLUSTER_HOST_BYTES = 254, /* with its NUL */
    MAX_CLUSTER_NODES = 16, /* that are remembered */
};

/* Of all keys that have this hash tag, or are this text. */
uint16_t cluster_slot(const char *tag);

struct cluster_node {
    char host[CLUSTER_HOST_BYTES]; /* a name, or a numeric address (IPv6 without brackets) */
    uint16_t port;
};

struct cluster_map {
    struct cluster_node nodes[MAX_CLUSTER_NODES]; /* each once: the slot's owner, its replicas, and
                                                     other nodes as they come */
    size_t n;
};

/* The reply to CLUSTER SLOTS of the node that was reached at `asked_host`: a node that does not
 * know its own address may leave it out. NULL: map->nodes[0] owns the slot; else what is wrong
 * (static text). */
const char *cluster_map_read(
    struct cluster_map *map, const struct resp *reply, uint16_t slot, const char *asked_host);

enum redirection_kind {
    REDIRECTION_NONE, /* another error */
    REDIRECTION_MOVED, /* another node owns the slot */
    REDIRECTION_ASK, /* it is being moved, and these keys are at another node already */
    REDIRECTION_TRY_AGAIN, /* it is being moved, and its keys are at both nodes */
    REDIRECTION_DOWN, /* the cluster does not serve the slot at present */
};

/* In each case the call was not carried out. */
struct redirection {
    enum redirection_kind kind;
    struct cluster_node to; /* MOVED, ASK; host "": the node does not know */
};

/* From the text of an error about a call for that slot. False: it is a redirection, but makes no
 * sense. */
bool redirection_read(
    struct redirection *redirection, const char *error, uint16_t slot, const char *asked_host);
