/* status.h - parses the answer to `status`, line by line, into structs. Pure.
 *
 * Doc: doc/protocol.md, status. Unknown keys and lines are ignored; missing known keys are 0 or
 * NULL. Strings are decoded, but not escaped. */
#ifndef BERTH_VIEW_STATUS_H
#define BERTH_VIEW_STATUS_H

#include "view/fields.h"
#include "view/shown.h"
#include "view/who.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A holder or a waiter. */
struct status_lease {
    char *line; /* all strings point into it */
    const char *id;
    const char *resource; /* in the answer to `watch` */
    struct words units; /* of a holder: items, or slots and ranges of slots, "3-7" */
    uint64_t token; /* of a holder */
    const char *bound, *stopping; /* of a holder */
    struct optional left; /* milliseconds, of a holder whose time is limited */
    uint64_t position, wants; /* of a waiter; `watch` has no position */
    struct optional
        ticket; /* of a waiter, in the answer to `watch`; not given: behind those with one */
    int64_t priority; /* of a waiter */
    const char *blocked, *blocker; /* of a waiter; the blocker is a resource */
    uint64_t kept; /* of a waiter */
    uint64_t pid, uid;
    uint64_t age; /* milliseconds */
    bool away; /* no connection has it at present */
    bool unread; /* of a holder: its client has not read the grant, the job has not started */
    bool hidden; /* its texts, from the user who asks */
    const char *host; /* in fleet scope */
    const char *holder;
    const char *shown[N_SHOWN];
    const char *user; /* the name of uid; whoever sets it owns it */
    char process[16]; /* the name of the process, or "", if no program is given: programs.h */
};

struct status_leases {
    struct status_lease *list;
    size_t n, size;
};

struct status_reserve {
    const char *item, *reason;
};

struct status_resource {
    char *line; /* all strings point into it */
    const char *name, *kind, *scope, *template;
    const char *database; /* fleet scope: the database's name */
    const char *database_state; /* why the database was not asked: figures are this host's alone */
    uint64_t limit, in_use, free, waiting, cooling; /* units; waiting: leases */
    uint64_t kept; /* of the free ones */
    struct optional keeper; /* the place of the first waiter for whom */
    bool paused, removed;
    const char *reason; /* of the pause */
    struct shown_user paused_by, paused_by_login; /* who, and who had logged in, if another */
    struct words changed;
    struct words items, reserved, draining; /* of semaphores: slots and ranges of slots */
    struct status_reserve *reserves; /* those with a reason */
    size_t n_reserves;
    struct status_leases holders, waiters;
};

/* Names one level below it are resources. */
struct status_template {
    char *line; /* all strings point into it */
    const char *name, *kind, *scope;
    const char *database, *database_state; /* as of a resource */
    uint64_t limit;
    uint64_t instances; /* that are alive */
    bool paused; /* all instances */
    const char *reason; /* of the pause, or NULL */
    struct shown_user paused_by, paused_by_login; /* as of a resource */
    struct words changed; /* keys changed at runtime, for all instances */
};

/* A Redis that grants the resources of fleet scope. */
struct status_database {
    char *line; /* all strings point into it */
    const char *name, *state;
    const char *why; /* why it is not up */
    const char *server, *version; /* NULL: never connected */
    const char *warning;
    const char *lacks; /* what the server does not allow: words, with commas between; or NULL */
    uint64_t ttl; /* milliseconds */
    struct optional grace; /* milliseconds */
    bool is_new; /* that is its first grace, which `found` can end */
    struct optional good; /* milliseconds for which leases there are good */
    uint64_t incarnation, differing, calls;
    struct optional layout; /* of its data, if it is up */
    /* In the answer to `hosts`, as far as they are known: */
    struct optional sessions; /* hosts that use it */
    struct optional rate; /* calls of all hosts in 1000 seconds */
    struct optional busy, cpu; /* with them, and with everything: of each second, microseconds */
};

/* One that a database has heard from; a line of the answer to `hosts`. */
struct status_host {
    char *line; /* all strings point into it */
    const char *name, *session, *database;
    const char *version; /* of its berthd; NULL: an older one */
    uint64_t heard; /* milliseconds ago */
    struct optional since; /* milliseconds ago its session began; only in a first grace */
    uint64_t held, waiting;
    struct optional layout_from, layout_to; /* the layouts of data that its berthd knows */
    struct optional ttl, failover_lag; /* its file's, milliseconds */
};

/* The answer to `status`; or to `hosts`, which has .hosts and .databases. */
struct status {
    bool begun; /* the `ok` line has come */
    bool draining;
    struct optional granting; /* 0: this host grants nothing at present */
    uint64_t held, waiting; /* leases on this host */
    struct optional grace; /* milliseconds */
    const char *closed; /* why this host grants nothing until that is mended; or NULL */
    struct status_resource *resources;
    size_t n_resources, size;
    size_t n_left_out; /* resources that status_choose() has taken out */
    struct status_template *templates;
    size_t n_templates, templates_size;
    struct status_database *databases;
    size_t n_databases, databases_size;
    struct status_host *hosts;
    size_t n_hosts, hosts_size;
};

#define STATUS_INIT                                                                                \
    {                                                                                              \
        0                                                                                          \
    }

void status_deinit(struct status *status);
void status_resource_deinit(struct status_resource *resource);
void status_template_deinit(struct status_template *template);
void status_lease_deinit(struct status_lease *lease);

enum answer_result {
    ANSWER_MORE,
    ANSWER_END,
    ANSWER_MALFORMED, /* no daemon sends that */
};

/* Takes one line after another, the `ok` line first. Copies what it keeps. */
enum answer_result status_take(struct status *status, const char *line);

/* Each takes one line of its kind into a record that is empty. False: malformed; the record is to
 * be freed all the same (a database by its .line). */
bool status_resource_take(struct status_resource *resource, const char *line);
bool status_lease_take(struct status_lease *lease, const char *line);
bool status_template_take(struct status_template *template, const char *line);
bool status_database_take(struct status_database *database, const char *line);
/* Takes the keys of the `ok` line, in place. */
bool status_figures_take(struct status *status, char *const words[], size_t n);

/* Of fleet scope: its database. NULL: the answer has none. */
const struct status_database *status_database_of(
    const struct status *status, const struct status_resource *resource);
/* Its database is in a grace, and grants nothing new yet. */
bool status_is_in_grace(const struct status *status, const struct status_resource *resource);
/* How many units this host could be granted now: of those free neither what is kept for waiters,
 * nor any in a drain or a grace. */
uint64_t status_grantable(const struct status *status, const struct status_resource *resource);
bool status_is_pool(const struct status_resource *resource);
bool words_contain(const struct words *words, const char *word);
/* Why an item or slot is reserved, or NULL. */
const char *status_reserve_reason(const struct status_resource *resource, const char *item);
/* Parses "3-7" or "3". False if malformed, or beyond any resource. */
bool slots_parse(const char *word, uint64_t *firstp, uint64_t *lastp);

#endif
