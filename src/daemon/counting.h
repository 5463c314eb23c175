/* counting.h - what berthd counts of itself and of its databases, and where all counters live:
 * `<socket>.counters` in the runtime directory. */
#ifndef BERTH_DAEMON_COUNTING_H
#define BERTH_DAEMON_COUNTING_H

#include "base/words.h"
#include "core/counts.h"
#include "journal/counts_file.h"
#include "wire/protocol.h"

enum {
    DAEMON_N_NONE = 1,
    DAEMON_N_VERB = N_COMMANDS,
    DAEMON_N_CODE = N_CODES,
    DAEMON_N_CAUSE = N_REFUSED_CAUSES,
};

struct daemon_counts {
#define DAEMON_COUNTER(id, name, label, help) uint64_t id[DAEMON_N_##label];
#define DAEMON_HISTOGRAM(id, name, label, help) struct metric_histogram id;
#include "base/metrics.def"
};

struct database_counts {
    char name[NAME_BYTES + 8]; /* "": unused */
#define DATABASE_COUNTER(id, name, label, help) uint64_t id[DAEMON_N_##label];
#define DATABASE_HISTOGRAM(id, name, label, help) struct metric_histogram id;
#include "base/metrics.def"
};

struct counting {
    struct counts_file file;
    struct counts_memory memory; /* the core's */
    bool has_said; /* that the file cannot be had */
};

/* Of a daemon that listens there; the core counts in it from then on. */
void counting_begin(
    struct counting *counting, struct core *core, const char *socket_path, const char *boot_id);
struct daemon_counts *counting_daemon(const struct counting *counting);
/* NULL: there are too many. */
struct database_counts *counting_database(const struct counting *counting, const char *name);
/* Logs once if the next berthd will count from zero: the file cannot be had, or was cut. */
void counting_say_if_lost(struct counting *counting);
/* What ends from now on ends for this process alone: the next berthd takes the leases over. */
void counting_freeze(struct counting *counting);
/* After the core and the connections have gone. */
void counting_end(struct counting *counting);

/* An answer that begins with "error CODE". */
void counting_refused(struct daemon_counts *counts, const char *answer);

#endif
