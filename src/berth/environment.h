/* environment.h - the BERTH_* variables of a job, as one block of NUL-terminated strings that the
 * wrapper fills and the child installs. */
#pragma once

#include "berth/grant.h"
#include "berth/options.h"

#include <stdbool.h>
#include <stddef.h>

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

/* How many bytes a list of all variables needs: of those inherited, and of those that
 * environment_enter() can add. */
size_t environment_size(void);
/* In the child: makes `list`, of environment_size() bytes, the list of variables, which must stay
 * from then on. Drops every inherited BERTH_... All before the grant, so that it does not delay the
 * job's start. */
void environment_prepare(char **list);
/* In the child, later: adds the block's variables; the block must stay. */
void environment_enter(struct environment *environment);
