/* configuration.h - what the files say, or everything that is wrong with them. */
#pragma once

#include "conf/redis_url.h"
#include "core/definition.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONF_DEFAULT_SOCKET "/run/berth/berth.sock"

struct conf {
    /* [daemon] */
    char *socket; /* where to listen; absolute */
    uint32_t socket_mode;
    bool gives_socket, gives_socket_mode; /* whether the file gives them */
    struct id_set admin_users, admin_groups; /* besides root and the daemon's own uid */
    struct id_set view_users, view_groups; /* see everything, and change nothing */
    char *history_user; /* as given: a name, or a numeric id; there may be no such user */
    uint32_t max_clients; /* UNBOUNDED: as many as the open-file limit allows */
    struct user_bounds user_bounds;
    uint32_t max_requests_per_second; /* of one uid; UNBOUNDED if not set */
    bool logs_leases; /* each that is over */
    uint32_t history; /* bytes kept of leases that are over; 0: none */
    nanoseconds grace; /* after a start: how long clients may take to come back for their leases */
    char *include; /* file or directory, as given; NULL if none */

    struct definition *definitions; /* in file order: the main file, then what it includes */
    size_t n_definitions;

    struct database *databases; /* in file order; definition.database is an index + 1 */
    size_t n_databases;

    char *path; /* the main file, as given */
};

enum lookup_result {
    LOOKUP_FOUND,
    LOOKUP_UNKNOWN,
    LOOKUP_FAILED, /* errno says why */
};

/* Looks a user or a group up. */
typedef enum lookup_result conf_lookup(bool is_group, const char *name, uint32_t *idp);

/* Messages, each one line without control characters. Errors are "FILE:LINE: [section] key: what is
 * wrong", in the order of the files. */
struct conf_errors {
    char **messages;
    size_t n;
};

#define CONF_ERRORS_INIT                                                                           \
    {                                                                                              \
        0                                                                                          \
    }

struct conf *conf_free(struct conf *conf); /* accepts NULL; returns NULL */
void conf_errors_deinit(struct conf_errors *errors);

/* Copies the message. */
void conf_errors_add(struct conf_errors *errors, const char *message);

#define DEFAULT_DATABASE "default" /* the name that [redis] has */
/* For its section in a message: "[redis%s%s]" with REDIS_NAME(name). */
#define REDIS_NAME(name)                                                                           \
    strcmp(name, DEFAULT_DATABASE) == 0 ? "" : " ",                                                \
        strcmp(name, DEFAULT_DATABASE) == 0 ? "" : (name)
/* NULL if there is none. */
struct database *database_find(const struct conf *conf, const char *name);
