/* acquire_command.c - `berth acquire`: a lease for somebody else, who is told of it on stdout. */
#include "berth/acquire_loop.h"
#include "berth/assignments.h"
#include "berth/environment.h"
#include "berth/explain.h"
#include "berth/request.h"
#include "berth/subcommands.h"
#include "client/exit_status.h"
#include "client/message.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Nobody will know of the lease. */
static int give_back(struct acquiring *acquiring, int status)
{
    struct request_line line;
    request_release_lease(&line, acquiring->asking.grant.lease);
    connection_send(&acquiring->connection, line.text, line.length);
    return status;
}

static bool print(const struct options *options, const struct environment *environment,
    const struct grant *grant, const char *socket)
{
    if (options->json) {
        assignments_print_json(stdout, grant, socket);
    } else {
        assignments_print(stdout, environment);
    }
    return fflush(stdout) == 0 && !ferror(stdout);
}

static int hand_over(struct acquiring *acquiring, const struct options *options)
{
    static struct environment environment; /* large */
    char socket_path[PATH_MAX];
    const struct grant *grant = &acquiring->asking.grant;

    if (options->pid != 0 && grant->is_bound_to_connection) {
        message("berthd cannot see process %ld, so the lease would end with berth: use --ttl",
            (long)options->pid);
        return give_back(acquiring, STATUS_DOWN);
    }
    endpoint_absolute(&acquiring->endpoint, socket_path);
    if (!environment_fill(&environment, grant, options, socket_path) && !options->json) {
        message("the lease does not fit into an environment");
        return give_back(acquiring, STATUS_DOWN);
    }
    if (!print(options, &environment, grant, socket_path)) {
        message("cannot write to stdout: %s; the lease is given back", strerror(errno));
        return give_back(acquiring, STATUS_DOWN);
    }
    if (options->verbose) {
        say_granted(grant);
    }
    return 0;
}

static int acquire(struct acquiring *acquiring, const struct options *options)
{
    for (;;) {
        switch (acquiring_wait(acquiring)) {
        case ACQUIRING_GRANTED:
            return hand_over(acquiring, options);
        case ACQUIRING_UNLEASED: /* refused as an option */
        case ACQUIRING_OVER:
            return acquiring->status;
        case ACQUIRING_CHILD: /* whoever executed us left some */
            break;
        }
    }
}

int command_acquire(const struct options *options)
{
    static struct acquiring acquiring; /* large */
    nanoseconds now = clock_now();
    if (!acquiring_init(&acquiring, options)) {
        return acquiring.status;
    }
    acquiring_begin(&acquiring, options, options->pid, now);
    int status = acquire(&acquiring, options);
    acquiring_end(&acquiring);
    if (acquiring.signal != 0) {
        signal_die(acquiring.signal, false);
    }
    return status;
}
