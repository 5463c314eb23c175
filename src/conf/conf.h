/* conf.h - the configuration file(s) -> one immutable object, or all errors of one run.
 *
 * Reload = conf_load() a second object and swap; nothing is ever half applied. */
#ifndef BERTH_CONF_CONF_H
#define BERTH_CONF_CONF_H

#include "conf/redis_url.h"
#include "core/definition.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define CONF_DEFAULT_SOCKET "/run/berth/berth.sock"

struct conf {
    /* [daemon] */
    char *socket; /* where to listen; absolute */
    uint32_t socket_mode;
    bool gives_socket, gives_socket_mode; /* they stand in the file */
    struct id_set admin_users, admin_groups; /* besides root and the daemon's own uid */
    uint32_t max_clients; /* UNBOUNDED: as many as the open-file limit allows */
    struct user_bounds user_bounds;
    uint32_t max_requests_per_second; /* of one uid; UNBOUNDED if not set */
    nanoseconds grace; /* after a start: for leases whose clients are not back yet */
    char *include; /* file or directory, as given; NULL if none */

    struct definition *definitions; /* in file order: the main file, then what it includes */
    size_t n_definitions;

    struct database *databases; /* in file order; definition.database is an index + 1 */
    size_t n_databases;

    char *path; /* the main file, as given */
};

/* Messages; of errors: one each, "FILE:LINE: [section] key: what is wrong", in the order of the
 * files. One line each, without control characters. */
struct conf_errors {
    char **messages;
    size_t n;
};

#define CONF_ERRORS_INIT                                                                           \
    {                                                                                              \
        0                                                                                          \
    }

/* Reads `path` and what it includes. NULL if there was any error; then `errors` has at least one
 * message. Resolves user and group names, so it may block in the name service. */
struct conf *conf_load(const char *path, struct conf_errors *errors);
/* The same file once more, while `running` is in force: its databases, which only a restart
 * changes, are those that definition.database numbers, and no others can be used. So what this
 * returns is whole after conf_keep_fixed(). */
struct conf *conf_reload(const struct conf *running, struct conf_errors *errors);
struct conf *conf_free(struct conf *conf); /* NULL is fine; returns NULL */
void conf_errors_deinit(struct conf_errors *errors);

/* What differs but takes effect at the next start only, one message each, such as "socket" or
 * "ttl of [redis x]". */
void conf_fixed_changes(
    const struct conf *running, const struct conf *loaded, struct conf_errors *changes);
/* `loaded` takes that over from `running`, which is about to be freed: it goes on to hold, and the
 * databases stay where they are in memory. */
void conf_keep_fixed(struct conf *running, struct conf *loaded);

/* Whether two resources have the same name and kind, and the same value of every key. */
bool conf_same_definition(const struct definition *a, const struct definition *b);

/* The key table, one "SECTION KEY DEFAULT" a line; DEFAULT is "(required)" or "(empty)" where
 * there is none. */
void conf_print_keys(FILE *out);

#endif
