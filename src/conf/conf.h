/* conf.h - the configuration file(s) -> one immutable object, or all errors of one run.
 *
 * Reload = conf_load() a second object and swap; nothing is ever half applied. */
#ifndef BERTH_CONF_CONF_H
#define BERTH_CONF_CONF_H

#include "core/definition.h"

#include <stddef.h>
#include <stdint.h>

struct conf {
    /* [daemon] */
    char *socket; /* where to listen; absolute */
    uint32_t socket_mode;
    struct id_set admin_users, admin_groups; /* besides root and the daemon's own uid */
    uint32_t max_clients; /* UNBOUNDED: as many as the open-file limit allows */
    struct user_bounds user_bounds;

    struct definition *definitions; /* in file order */
    size_t n_definitions;

    char *path; /* the main file, as given */
};

/* Messages, one per error, "FILE:LINE: [section] key: what is wrong". */
struct conf_errors {
    char **messages;
    size_t n;
};

#define CONF_ERRORS_INIT {0}

/* Reads `path` and what it includes. NULL if there was any error; then `errors` has at least one
 * message. Resolves user and group names, so it may block in the name service. */
struct conf *conf_load(const char *path, struct conf_errors *errors);
struct conf *conf_free(struct conf *conf); /* NULL is fine; returns NULL */
void conf_errors_deinit(struct conf_errors *errors);

#endif
