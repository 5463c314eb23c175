/* acquire_command.c - `berth acquire`: takes a lease for another process, and prints it on
 * stdout. */
#include "berth/acquire_loop.h"
#include "berth/environment.h"
#include "berth/explain.h"
#include "berth/request.h"
#include "client/exit_status.h"
#include "client/message.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* For a lease that nobody will know about. */
static int give_back(struct acquire_loop *acquire_loop, int status)
{
    struct request_line line;
    request_release_lease(&line, acquire_loop->acquisition.grant.lease,
        &(struct job_end){.kind = JOB_END_UNKNOWN});
    connection_send(&acquire_loop->connection, line.text, line.length);
    return status;
}

static bool print(const struct options *options, const struct environment *environment,
    const struct grant *grant, const char *socket)
{
    if (options->json) {
        grant_print_json(stdout, grant, socket);
    } else {
        environment_print(stdout, environment);
    }
    return fflush(stdout) == 0 && !ferror(stdout);
}

static int hand_over(
    struct acquire_loop *acquire_loop, const struct options *options, bool is_leased)
{
    (void)is_leased; /* without one it would not be called: berth acquire runs nothing */
    static struct environment environment; /* large */
    char socket_path[PATH_MAX];
    const struct grant *grant = &acquire_loop->acquisition.grant;

    if (options->pid != 0 && grant->is_bound_to_connection) {
        message("berthd cannot see process %ld, so the lease would end when berth exits: use --ttl",
            (long)options->pid);
        return give_back(acquire_loop, STATUS_DOWN);
    }
    endpoint_absolute(&acquire_loop->endpoint, socket_path);
    if (!environment_fill(&environment, grant, options, socket_path) && !options->json) {
        message("the lease's variables are too large for an environment");
        return give_back(acquire_loop, STATUS_DOWN);
    }
    if (!print(options, &environment, grant, socket_path)) {
        message("cannot write to stdout: %s; the lease is given back", strerror(errno));
        return give_back(acquire_loop, STATUS_DOWN);
    }
    if (options->verbose) {
        say_granted(grant);
    }
    return 0;
}

int command_acquire(const struct options *options)
{
    return acquire_loop_run(options, options->pid, hand_over);
}
