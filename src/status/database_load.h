/* database_load.h - how busy the Redis of a database is, as far as it says so: from the row `load`
 * of the script `snapshot`, of one moment or of two. Pure. */
#pragma once

#include "base/time.h"
#include "status/fleet_rows.h"

/* What its server has counted since it was started. */
struct load_sample {
    nanoseconds at;
    uint64_t sessions; /* of this database */
    uint64_t calls, in_calls; /* of scripts, and microseconds in them; whoever has called */
    uint64_t cpu; /* microseconds of its main thread; 0: it does not say */
};

struct database_load {
    struct load_sample last, before; /* .at is 0: there is none */
};

/* What is shown. */
struct load_view {
    bool is_known;
    uint64_t sessions;
    uint64_t rate; /* calls of all hosts, in 1000 seconds */
    uint64_t busy; /* with them, microseconds of each second */
    bool has_cpu;
    uint64_t cpu; /* with everything, microseconds of each second */
};

/* False: there is no such row, or it makes no sense. */
bool load_read(const struct fleet_rows *rows, nanoseconds now, struct load_sample *sample);
void load_note(struct database_load *load, const struct load_sample *sample);
/* `rate`: calls of all hosts in 1000 seconds; 0: not known. */
struct load_view load_view(const struct database_load *load, uint64_t rate);
