/* counting.h - what berthd counts of itself and of its databases, from zero. */
#ifndef BERTH_RECORD_COUNTING_H
#define BERTH_RECORD_COUNTING_H

#include "base/words.h"
#include "core/counts.h"
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
#define DATABASE_COUNTER(id, name, label, help) uint64_t id[DAEMON_N_##label];
#define DATABASE_HISTOGRAM(id, name, label, help) struct metric_histogram id;
#include "base/metrics.def"
};

#endif
