/* client.h - a client: in the daemon, one connection. Embedded in the caller's struct. */
#pragma once

#include "core/account.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct lease;

LIST_HEAD(lease_list, lease);

struct client {
    uint32_t uid;
    bool is_nobody; /* the core's own client, for leases without one */
    uint64_t number; /* larger than that of each earlier client; 0 for an uncounted one */
    struct charge charge; /* one connection of that uid */
    struct lease_list leases; /* held and waiting */
};
