/* acquire_loop.h - waits for a lease: the loop that joins asking, the clock and signals, for every
 * subcommand that acquires. */
#pragma once

#include "berth/acquisition.h"
#include "berth/environment.h"
#include "berth/options.h"
#include "berth/signals.h"
#include "client/connection.h"
#include "client/endpoint.h"

/* A descriptor that becomes readable at an instant, even one that passed while the machine was
 * suspended. */
struct alarm {
    int fd; /* close-on-exec */
    nanoseconds at; /* NEVER: not set */
};

struct acquire_loop {
    struct endpoint endpoint;
    struct signals signals;
    struct alarm alarm;
    int status; /* ACQUISITION_REFUSED: the exit status; or, */
    int signal; /* if not 0, the signal to die by */
    struct connection connection;
    struct acquisition acquisition;
};

/* `acquire_loop` is zeroed: it is large, and memory that nobody touches costs nothing. False, after
 * a message: `status` is set. acquisition_init() follows; at the end the connection is closed,
 * which leaves the queue or ends what was granted. */
bool acquire_loop_init(struct acquire_loop *acquire_loop, const struct options *options);

/* ACQUISITION_GOES_ON: a child has changed; call again. */
enum acquisition_result acquire_loop_wait(struct acquire_loop *acquire_loop);

/* What can be read: signals, and from the connection. */
struct acquire_loop_ready {
    bool signals, connection;
};
/* Waits for one of them, or until `at`. */
struct acquire_loop_ready acquire_loop_poll(struct acquire_loop *acquire_loop, nanoseconds at);

/* What the job learns of the grant: nothing, if it takes the lock of a file. With -v says what was
 * granted. False after a message: it is too much. */
bool acquire_loop_fill(const struct acquire_loop *acquire_loop, const struct options *options,
    struct environment *environment);

/* All of it, for a subcommand that forks no child: `use` is called when the wait has ended with a
 * lease, or so that there is to be none. Returns its exit status, or why there was no lease; or
 * dies by a signal. `pid` is wish.pid. */
typedef int use_lease(
    struct acquire_loop *acquire_loop, const struct options *options, bool is_leased);
int acquire_loop_run(const struct options *options, pid_t pid, use_lease *use);
