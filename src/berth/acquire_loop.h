/* acquire_loop.h - waits for a lease: the loop that joins asking, the clock, and signals. For every
 * subcommand that acquires. */
#ifndef BERTH_BERTH_ACQUIRE_LOOP_H
#define BERTH_BERTH_ACQUIRE_LOOP_H

#include "berth/acquisition.h"
#include "berth/options.h"
#include "berth/signals.h"
#include "client/alarm.h"
#include "client/connection.h"
#include "client/endpoint.h"

struct acquiring {
    struct endpoint endpoint;
    struct signals signals;
    struct alarm alarm;
    struct connection connection;
    struct asking asking;
    int status; /* ACQUIRING_OVER: the exit status; or, */
    int signal; /* if not 0, what to die by */
};

enum acquiring_result {
    ACQUIRING_GRANTED, /* acquiring.asking.grant */
    ACQUIRING_UNLEASED, /* as ASKING_UNLEASED */
    ACQUIRING_OVER, /* it will not be; why has been said */
    ACQUIRING_CHILD, /* a child has changed: call again */
};

/* False: `status` is set, and why has been said. Closed by acquiring_end(). */
bool acquiring_init(struct acquiring *acquiring, const struct options *options);

/* `pid` as of struct wish; `now` is when berth was started. */
void acquiring_begin(
    struct acquiring *acquiring, const struct options *options, pid_t pid, nanoseconds now);
enum acquiring_result acquiring_wait(struct acquiring *acquiring);

/* Leaves the queue; or, gives up the connection of what was granted. */
void acquiring_end(struct acquiring *acquiring);

#endif
