/* live.h - a copy of what berthd shows, kept up to date by the lines of `watch`; and who wants to
 * hear of each change. Pure: instants come in as arguments.
 *
 * Doc: doc/protocol.md, watch. The copy is whole after each LIVE_END. Then, and only then, the
 * watchers hear what this batch has changed against the copy that was whole before: a lease that
 * leaves and comes back within a batch, or that a fresh snapshot has again, is no change. So a
 * fresh snapshot, and a new connection, tell what has happened in between, and no more. The first
 * snapshot of all tells nothing but .begun.
 *
 * While the database of a resource does not answer, and when it is up again and lists for the first
 * time, leases of other hosts appear in and vanish from the copy without being reported to
 * watchers.
 *
 * Running out of memory ends the program. */
#pragma once

#include "base/table.h"
#include "base/time.h"
#include "view/past.h"
#include "view/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct live_resource;

enum live_state {
    LIVE_ABSENT, /* neither of these */
    LIVE_WAITS,
    LIVE_HOLDS,
};

/* What the kinds below have in common, as their first member. Private. */
struct live_record {
    struct table_node node;
    uint64_t generation; /* of the last line */
    uint64_t print, print_before; /* hashes of lines; of leases, but for times */
    bool is_there, stood; /* .stood: when the copy was last whole */
    bool is_touched; /* since then */
};

/* A lease on one resource; one that is on several has one of these for each. */
struct live_lease {
    struct live_record record; /* .stood: .previous_state is not LIVE_ABSENT */
    struct status_lease shown; /* as the last line has it: .position is not set */
    struct live_resource *resource;
    enum live_state state, previous_state; /* .previous_state: when the copy was last whole */
    bool is_elsewhere; /* of another host of the fleet */
    struct status_lease before; /* as it stood, if a later line has replaced that */

    /* private */
    uint64_t came; /* breaks ties of order */
};

struct live_lease_list {
    struct live_lease **list; /* holders as they came, then waiters in the order of the queue */
    size_t n, n_held;
};

struct live_records {
    struct live_record **list;
    size_t n;
    struct table by_name;
};

/* Or a template, which has no leases. */
struct live_resource {
    struct live_record record;
    struct status_resource shown; /* without its leases */
    struct live_lease_list leases;
    uint64_t changed; /* the serial of the last batch with a line about it or one of its leases */

    /* private */
    struct status_resource before; /* as it stood, if a later line has replaced that */
    struct status_leases shown_leases; /* for live_status(); an array alone */
    bool is_stale; /* that is not what .leases are */
};

struct live_database {
    struct live_record record;
    struct status_database shown;

    /* private */
    struct status_database before;
    bool has_listed; /* the leases of other hosts, since it is up */
    bool was_up; /* when the copy was last whole */
    nanoseconds up_since; /* while .was_up */
    bool is_silent; /* when the copy was last whole, or now, it tells nothing of other hosts */
};

/* Who hears of changes. Each function may be NULL. They are called within live_take(), after a
 * whole batch, in this order; all pointers are good until they return, and the copy may be read. */
struct live_watcher {
    void *context;
    /* The first snapshot is whole: there is no other call for it. */
    void (*begun)(void *context);
    /* The figures of the host: .draining .granting .held .waiting .grace_until of both are set. */
    void (*host)(void *context, const struct status *before, const struct status *now);
    /* Of each kind of record but leases: databases, then resources, then templates. before NULL: it
     * is new; now NULL: it is gone. The lines differ, if only in a figure. Neither has leases;
     * live_resource_at() has them. */
    void (*record)(void *context, enum status_line kind, const void *before, const void *now);
    /* Leases that are gone come first. .state differs from .previous_state; or both are the same,
     * and the line differs from that of .before in more than times: .stopping, .away, .blocked ...
     */
    void (*lease)(void *context, const struct live_lease *lease);
    /* Follows the call that its lease is gone. */
    void (*ended)(void *context, const struct past_lease *lease);
    /* Some leases that have ended since the batch before are not told. */
    void (*missed)(void *context);
};

struct live {
    uint64_t serial; /* of the last whole batch; from 1 on */

    /* private */
    struct live_records records[N_STATUS_LINES]; /* of resources, templates and databases */
    struct table leases;
    struct live_lease **touched; /* since the copy was whole, in order */
    size_t n_touched;
    struct status host, host_before; /* figures alone */
    char *drain_reason; /* of .host; owned */
    int64_t ahead; /* berthd's clock, of ours, as the line that came soonest says: ms */
    struct status shown; /* owns its arrays, and nothing in them */
    struct past ended; /* of this batch */
    uint64_t generation, came;
    bool has_ok; /* it has come on this connection */
    bool has_snapshot; /* the same */
    bool is_fresh; /* this batch is a snapshot */
    bool is_known; /* there has been a whole one */
    bool has_missed; /* ended leases, in this batch */
    const struct live_watcher *watchers[2];
    size_t n_watchers;
};

void live_init(struct live *live);
void live_deinit(struct live *live);

/* At most two; the watcher must outlive the copy. */
void live_watch(struct live *live, const struct live_watcher *watcher);

enum live_result {
    LIVE_MORE,
    LIVE_END, /* the copy is whole */
    LIVE_MALFORMED, /* no daemon sends that: close the connection */
};

/* Takes a line after another of the answer to `watch`, the `ok` line first. An `error` line is the
 * caller's business. Leases of a resource that is not there are ignored. */
enum live_result live_take(struct live *live, const char *line, nanoseconds now);

/* Before the first line of a new connection.
 * The copy stays to be shown until the first snapshot is whole, and is what this is compared with.
 */
void live_forget(struct live *live);

/* What berthd's clock says at `now`. */
struct instant live_now(const struct live *live, nanoseconds now);

/* The copy as the answer to `status` would be at `now`. Empty before the first whole batch. Good
 * until the next live_take(); nobody may change, move or free anything in it. In time proportional
 * to the number of leases. */
const struct status *live_status(struct live *live, nanoseconds now);

/* Resources in the order of live_status(); n: how many there are. */
size_t live_resource_count(const struct live *live);
const struct live_resource *live_resource_at(const struct live *live, size_t i);
/* NULL: it is not there. */
const struct live_resource *live_resource_find(const struct live *live, const char *name);
/* Its place in the queue of its resource, from 1 on; 0: it does not wait. */
size_t live_lease_place(const struct live_lease *lease);
