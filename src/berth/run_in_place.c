/* run_in_place.c - `berth run --no-fork`: berth becomes the job. Only berthd watches it. */
#include "berth/acquire_loop.h"
#include "berth/child.h"
#include "berth/environment.h"
#include "berth/explain.h"
#include "berth/subcommands.h"
#include "client/exit_status.h"
#include "client/message.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns only if it fails. The exec, or our end, closes the connection. */
static int execute_leased(struct acquire_loop *acquire_loop, const struct options *options)
{
    static struct environment environment; /* large */
    char socket_path[PATH_MAX];
    const struct grant *grant = &acquire_loop->acquisition.grant;
    if (grant->is_bound_to_connection) {
        message("berthd cannot see this process, so the lease would end at once: do not use -F");
        return STATUS_DOWN;
    }
    endpoint_absolute(&acquire_loop->endpoint, socket_path);
    if (!environment_fill(&environment, grant, options, socket_path)) {
        message("the lease does not fit into the environment");
        return STATUS_CANNOT_EXECUTE;
    }
    if (options->verbose) {
        say_granted(grant);
    }
    environment_enter(&environment);
    signals_restore(&acquire_loop->signals);
    return child_execute(options->command);
}

static int wait_and_execute(struct acquire_loop *acquire_loop, const struct options *options)
{
    for (;;) {
        switch (acquire_loop_wait(acquire_loop)) {
        case ACQUIRE_LOOP_GRANTED:
            return execute_leased(acquire_loop, options);
        case ACQUIRE_LOOP_UNLEASED:
            signals_restore(&acquire_loop->signals);
            return child_execute(options->command);
        case ACQUIRE_LOOP_OVER:
            return acquire_loop->status;
        case ACQUIRE_LOOP_CHILD: /* a child that was there before our exec */
            break;
        }
    }
}

int command_run_in_place(const struct options *options)
{
    static struct acquire_loop acquire_loop; /* large */
    nanoseconds now = clock_now();
    if (!acquire_loop_init(&acquire_loop, options)) {
        return acquire_loop.status;
    }
    acquire_loop_begin(&acquire_loop, options, getpid(), now);
    char **variables = malloc(environment_size());
    if (!variables) {
        message("cannot start a job: %s", strerror(errno));
        return STATUS_CANNOT_EXECUTE;
    }
    environment_prepare(variables); /* before the exec, as everything in it has been read */
    int status = wait_and_execute(&acquire_loop, options);
    acquire_loop_end(&acquire_loop);
    if (acquire_loop.signal != 0) {
        signal_die(acquire_loop.signal, false);
    }
    return status;
}
