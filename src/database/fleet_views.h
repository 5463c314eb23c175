/* fleet_views.h - shared snapshots of a database's resources: one request serves all connections
 * that want the same at the same time. So a thousand clients that look at one queue cost the
 * database two requests, and the daemon the memory of one. */
#pragma once

#include "core/types.h"
#include "status/database_load.h"

#include <sys/queue.h>

struct conn;
struct server;
struct view_batch;

/* Why a database that is up has not said what was asked: no answer in time, or one that takes too
 * much memory or time. */
#define VIEW_NO_ANSWER "no-answer"
#define VIEW_TOO_LARGE "too-large"

/* What a database has said, shared by all who asked; give it back with view_release(). */
struct view {
    unsigned n_users;
    nanoseconds made_at;
    struct fleet_rows *rows; /* NULL: the database has not said it, for this reason: */
    const char *why; /* a word for `database_state`; static */
};

/* Accepts NULL; returns NULL. */
struct view *view_release(struct view *view);

/* A connection that waits for a view; its owner has the memory. */
struct view_asker {
    TAILQ_ENTRY(view_asker) link;
    struct conn *conn; /* parked */
    struct view_batch *batch; /* NULL: it does not wait */
    void (*done)(struct conn *conn, struct view *view); /* takes the view over */
};

TAILQ_HEAD(view_askers, view_asker);
LIST_HEAD(view_batches, view_batch);

struct views {
    struct database_load loads[MAX_DATABASES]; /* as last asked; database 1 first */
    struct view_batches batches;
    struct server *server;
};

void views_init(struct views *views, struct server *server);

/* Asks for these resources, or for all (n = 0). The view is no older than the request, or than
 * `age`. Returns it if there is one; NULL: done() will be called, unless the asker leaves
 * before. */
struct view *views_ask(struct views *views, struct view_asker *asker, uint8_t database, size_t n,
    const char *const names[], nanoseconds age);
/* How busy the database is. Keeps what the view of all hosts or sums says, for the next one. Its
 * rows must be there. */
struct load_view views_load(struct views *views, uint8_t database, const struct view *view);
/* Does nothing if it does not wait. */
void views_leave(struct view_asker *asker);
/* Nobody waits any more. */
void views_deinit(struct views *views);
