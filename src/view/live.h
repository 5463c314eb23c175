/* live.h - a copy of what berthd shows, kept up to date by the lines of `watch`; and who wants to
 * hear of each change. Pure: instants come in as arguments.
 *
 * Doc: doc/protocol.md, watch. The copy is whole after each LIVE_END. Then, and only then, the
 * watchers hear what this batch has changed against the copy that was whole before: a lease that
 * leaves and comes back within a batch, or that a fresh snapshot has again, is no change. So a fresh
 * snapshot, and a new connection, tell what has happened in between, and no more. The first snapshot
 * of all tells nothing but .begun.
 *
 * While the database of a resource does not answer, and when it answers again, leases of other
 * hosts come and go in the copy, and nobody hears of them.
 *
 * Running out of memory ends the program. */
#ifndef BERTH_VIEW_LIVE_H
#define BERTH_VIEW_LIVE_H

#include "base/table.h"
#include "base/time.h"
#include "view/past.h"
#include "view/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct live_resource;

enum live_standing {
    LIVE_ABSENT, /* neither of these */
    LIVE_WAITS,
    LIVE_HOLDS,
};

/* A lease on one resource; one that is on several has one of these for each. */
struct live_lease {
    /* As the last line has it; .position is not set; .age and .left are those of that time. Strings
     * are good until the next live_take(). */
    struct status_lease shown;
    struct live_resource *resource;
    enum live_standing standing, stood; /* .stood: when the copy was last whole */
    nanoseconds since; /* when it was granted, or asked for */
    nanoseconds left_until; /* of a holder whose time is limited; else NEVER */
    bool is_elsewhere; /* of another host of the fleet */

    /* private */
    struct table_node node; /* live.leases */
    uint64_t came; /* breaks ties of order */
    uint64_t generation;
    struct status_lease before; /* if .stood: as it was when the copy was last whole */
    bool is_touched;
    bool was_quiet; /* .before was told to nobody, as .stood was not either */
};

struct live_lease_list {
    struct live_lease **list; /* holders as they came, waiters in the order of the queue */
    size_t n, size;
};

struct live_resource {
    struct status_resource shown; /* .holders and .waiters: as of the last live_status() */
    struct live_lease_list holders, waiters;
    /* The serial of the last batch that has changed a line of the resource or of its leases. */
    uint64_t changed;

    /* private */
    struct table_node node; /* live.resources_by_name */
    uint64_t generation;
    struct status_resource before; /* if .stood */
    bool stood, is_there, is_touched, is_stale;
};

struct live_template;
struct live_database;

/* Who hears of changes. Each function may be NULL. They are called within live_take(), after a
 * whole batch, in this order; all pointers are good until they return, and the copy may be read. */
struct live_watcher {
    void *context;
    /* The first snapshot is whole: it has no other calls. */
    void (*begun)(void *context);
    /* The figures of the host: .draining .granting .held .waiting .grace of both are set. */
    void (*host)(void *context, const struct status *before, const struct status *now);
    /* before NULL: it is new; now NULL: it is gone. The lines differ, if only in a figure. Leases
     * are not set in `before`. */
    void (*database)(
        void *context, const struct status_database *before, const struct status_database *now);
    void (*resource)(
        void *context, const struct status_resource *before, const struct status_resource *now);
    void (*template)(
        void *context, const struct status_template *before, const struct status_template *now);
    /* It has units that it did not have: .stood says whether it is known to have waited for them. */
    void (*granted)(void *context, const struct live_lease *lease);
    void (*waits)(void *context, const struct live_lease *lease);
    /* It neither has nor awaits anything of the resource any more: .stood says what it did. */
    void (*gone)(void *context, const struct live_lease *lease);
    /* It stands as before, and its line differs from `before`: .stopping, .away, .blocked ... */
    void (*changed)(
        void *context, const struct live_lease *lease, const struct status_lease *before);
    /* Follows the .gone of the same lease. User names are not set. */
    void (*ended)(void *context, const struct past_lease *lease);
    /* Some leases that have ended since the batch before are not told. */
    void (*missed)(void *context);
};

struct live {
    /* One for each batch that has changed something; also for a snapshot. */
    uint64_t serial;
    bool is_whole; /* there is something to show */
    struct live_resource **resources; /* parallel to .resources of live_status() */
    size_t n_resources;

    /* private */
    struct status host; /* its figures alone */
    struct status host_before;
    struct status shown; /* what live_status() returns; owns its arrays of resources alone */
    struct table resources_by_name, leases, templates_by_name;
    struct live_template **templates;
    size_t n_templates;
    struct live_database *databases;
    size_t n_databases;
    struct live_lease **touched; /* since the copy was whole, in order */
    size_t n_touched, touched_size;
    struct past ended; /* of this batch */
    uint64_t generation, came;
    size_t resources_size, templates_size, databases_size, shown_size;
    bool has_ok, has_snapshot, has_told, has_missed, has_changed;
    const struct live_watcher *watchers[2];
    size_t n_watchers;
    const char *(*user_name)(uint64_t uid);
};

void live_init(struct live *live);
void live_deinit(struct live *live);

/* At most two; the watcher must outlive the copy. */
void live_watch(struct live *live, const struct live_watcher *watcher);
/* Sets where the names of users come from (users.h has one); else they stay NULL. They are asked
 * for once for each line, and must stay good. */
void live_name_users(struct live *live, const char *(*user_name)(uint64_t uid));

enum live_result {
    LIVE_MORE,
    LIVE_END, /* the copy is whole */
    LIVE_MALFORMED, /* no daemon sends that: close the connection */
};

/* Takes a line after another of the answer to `watch`, the `ok` line first. An `error` line is the
 * caller's business. Leases of a resource that is not there are ignored. */
enum live_result live_take(struct live *live, const char *line, nanoseconds now);

/* Before the first line of a new connection. The copy stays to be shown until the first snapshot is
 * whole, and is what this is compared with. */
void live_forget(struct live *live);

/* The copy as the answer to `status` would be, with ages, places and what is left of limited times
 * as they are at `now`. Good until the next call of a function here; whoever changes, moves or frees
 * anything in it breaks it. In time proportional to the number of leases. */
const struct status *live_status(struct live *live, nanoseconds now);

/* NULL: it is not there. */
const struct live_resource *live_resource_find(const struct live *live, const char *name);
const struct live_lease *live_lease_find(
    const struct live *live, const char *resource, const char *id);

#endif
