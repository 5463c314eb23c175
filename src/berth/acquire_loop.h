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

struct acquire_loop {
    struct endpoint endpoint;
    struct signals signals;
    struct alarm alarm;
    struct connection connection;
    struct acquisition acquisition;
    int status; /* ACQUIRE_LOOP_OVER: the exit status; or, */
    int signal; /* if not 0, what to die by */
};

enum acquire_loop_result {
    ACQUIRE_LOOP_GRANTED, /* acquire_loop.acquisition.grant */
    ACQUIRE_LOOP_UNLEASED, /* as ACQUISITION_UNLEASED */
    ACQUIRE_LOOP_OVER, /* it will not be; why has been said */
    ACQUIRE_LOOP_CHILD, /* a child has changed: call again */
};

/* False: `status` is set, and why has been said. Closed by acquire_loop_end(). */
bool acquire_loop_init(struct acquire_loop *acquire_loop, const struct options *options);

/* `pid` as of struct wish; `now` is when berth was started. */
void acquire_loop_begin(
    struct acquire_loop *acquire_loop, const struct options *options, pid_t pid, nanoseconds now);
enum acquire_loop_result acquire_loop_wait(struct acquire_loop *acquire_loop);

/* Leaves the queue; or, gives up the connection of what was granted. */
void acquire_loop_end(struct acquire_loop *acquire_loop);

#endif
