/* run_in_place.c - `berth run --no-fork`: berth becomes the job. berthd alone watches it. */
#include "berth/acquire_loop.h"
#include "berth/child.h"
#include "berth/environment.h"
#include "berth/explain.h"
#include "berth/subcommands.h"
#include "client/exit_status.h"
#include "client/message.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Returns if it cannot. The connection is closed by the exec, or by our end. */
static int execute_leased(struct acquiring *acquiring, const struct options *options)
{
    static struct environment environment; /* large */
    char socket_path[PATH_MAX];
    const struct grant *grant = &acquiring->asking.grant;
    if (grant->is_bound_to_connection) {
        message("berthd cannot see this process, so the lease would end at once: leave out -F");
        return STATUS_DOWN;
    }
    endpoint_absolute(&acquiring->endpoint, socket_path);
    if (!environment_fill(&environment, grant, options, socket_path)) {
        message("the lease does not fit into the environment");
        return STATUS_CANNOT_EXECUTE;
    }
    if (options->verbose) {
        say_granted(grant);
    }
    environment_enter(&environment);
    signals_restore(&acquiring->signals);
    return child_execute(options->command);
}

static int wait_and_execute(struct acquiring *acquiring, const struct options *options)
{
    for (;;) {
        switch (acquiring_wait(acquiring)) {
        case ACQUIRING_GRANTED:
            return execute_leased(acquiring, options);
        case ACQUIRING_UNLEASED:
            signals_restore(&acquiring->signals);
            return child_execute(options->command);
        case ACQUIRING_OVER:
            return acquiring->status;
        case ACQUIRING_CHILD: /* whoever executed us left some */
            break;
        }
    }
}

int command_run_in_place(const struct options *options)
{
    static struct acquiring acquiring; /* large */
    nanoseconds now = clock_now();
    if (!acquiring_init(&acquiring, options)) {
        return acquiring.status;
    }
    acquiring_begin(&acquiring, options, getpid(), now);
    if (!environment_prepare()) { /* what was in it has been read */
        message("cannot start a job: %s", strerror(errno));
        return STATUS_CANNOT_EXECUTE;
    }
    int status = wait_and_execute(&acquiring, options);
    acquiring_end(&acquiring);
    if (acquiring.signal != 0) {
        signal_die(acquiring.signal, false);
    }
    return status;
}
