/* environment.h - the BERTH_* variables of a job, as one block of NUL-terminated strings that the
 * wrapper fills and the child installs, or as `berth acquire` prints them. */
#pragma once

#include "base/time.h"
#include "berth/grant.h"
#include "berth/options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum {
    ENVIRONMENT_BYTES = 256 * 1024,
    /* In longer lists the ranges stay as berthd sent them ("0-65535"): a job that takes so many
     * slots uses the semaphore as a weight, and one variable must not exceed 128 KiB. */
    ENVIRONMENT_MAX_SLOTS = 1024,
};

struct environment {
    size_t n;
    char bytes[ENVIRONMENT_BYTES];
};

/* False if it does not fit. `socket` is absolute. */
bool environment_fill(struct environment *environment, const struct grant *grant,
    const struct options *options, const char *socket);

/* How long the job has waited for its lease. False if it does not fit. */
bool environment_fill_waited(struct environment *environment, nanoseconds waited);

/* How many bytes a list of all variables needs: of those inherited, and of those that
 * environment_enter() can add. */
size_t environment_size(void);
/* In the child: makes `list`, of environment_size() bytes, the list of variables, which must stay
 * from then on. Drops every inherited BERTH_... All before the grant, so that it does not delay the
 * job's start. */
void environment_prepare(char **list);
/* In the child, later: adds the block's variables; the block must stay. */
void environment_enter(struct environment *environment);

/* ---- what `berth acquire` prints ---- */

/* NAME=value lines that shells and systemd's EnvironmentFile= read alike. */
void environment_print(FILE *out, const struct environment *environment);
/* One JSON object on one line; doc: `berth acquire --help`. */
void grant_print_json(FILE *out, const struct grant *grant, const char *socket);
