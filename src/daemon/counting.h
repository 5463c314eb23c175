/* counting.h - where counters live: `<socket>.counters` in the runtime directory. */
#ifndef BERTH_DAEMON_COUNTING_H
#define BERTH_DAEMON_COUNTING_H

#include "core/counts.h"
#include "journal/counts_file.h"

struct counting {
    struct counts_file file;
    struct counts_memory memory; /* the core's */
    bool has_said; /* that the file cannot be had */
};

/* Of a daemon that listens there; the core counts in it from then on. */
void counting_begin(
    struct counting *counting, struct core *core, const char *socket_path, const char *boot_id);
/* What ends from now on ends for this process alone: the next berthd takes the leases over. */
void counting_freeze(struct counting *counting);
/* After the core has gone. */
void counting_end(struct counting *counting);

#endif
