#include "database/fleet_views.h"

#include "admission/server.h"
#include "base/clock.h"
#include "base/memory.h"
#include "database/fleet_sessions.h"
#include "wire/protocol.h"

#include <stdlib.h>
#include <string.h>

/* How long a view is kept for connections that do not need the newest. */
#define KEPT_FOR NANOSECONDS_PER_SECOND

/* All connections that want the same view. The database is asked for one view at a time: a
 * connection that comes while it is being asked may have changed something that this view does not
 * show, and waits for the next. */
struct view_batch {
    LIST_ENTRY(view_batch) link; /* in views->batches */
    struct views *views;
    uint8_t database;
    char *key; /* the names, joined by blanks; owned */
    bool is_asked; /* for .askers */
    bool is_telling;
    struct view_askers askers; /* of the view being requested */
    struct view_askers later; /* of the next one */
    struct view *latest; /* or NULL */
};

/* ---- views ---- */

static struct view *view_keep(struct view *view)
{
    view->n_users++;
    return view;
}

struct view *view_release(struct view *view)
{
    if (view && --view->n_users == 0) {
        fleet_rows_free(view->rows);
        free(view);
    }
    return NULL;
}

/* ---- batches ---- */

static void batch_free(struct view_batch *batch)
{
    LIST_REMOVE(batch, link);
    view_release(batch->latest);
    free(batch->key);
    free(batch);
}

static bool batch_is_busy(const struct view_batch *batch)
{
    return batch->is_asked || batch->is_telling;
}

static struct view_batch *batch_find(struct views *views, uint8_t database, const char *key)
{
    struct view_batch *batch;
    LIST_FOREACH (batch, &views->batches, link) {
        if (batch->database == database && strcmp(batch->key, key) == 0) {
            return batch;
        }
    }
    batch = memory_new(sizeof *batch);
    batch->views = views;
    batch->database = database;
    batch->key = memory_string(key);
    TAILQ_INIT(&batch->askers);
    TAILQ_INIT(&batch->later);
    LIST_INSERT_HEAD(&views->batches, batch, link);
    return batch;
}

static void forget_old_ones(struct views *views, nanoseconds now)
{
    struct view_batch *next;
    for (struct view_batch *batch = LIST_FIRST(&views->batches); batch; batch = next) {
        next = LIST_NEXT(batch, link);
        if (!batch_is_busy(batch) && now - batch->latest->made_at >= KEPT_FOR) {
            batch_free(batch);
        }
    }
}

static void on_result(void *context, struct session_result *result);

static void batch_ask(struct view_batch *batch)
{
    struct views *views = batch->views;
    if (views->server->turn.stopping) {
        return; /* all have gone */
    }
    const char *names[MAX_ARGUMENTS];
    char *copy = memory_string(batch->key);
    size_t n = words_split(copy, (char **)names, MAX_ARGUMENTS);
    batch->is_asked = true;
    session_snapshot(
        fleet_session(views->server->fleet, batch->database), on_result, batch, n, names);
    free(copy);
}

/* Asks for those that came too late for the last view. */
static void batch_go_on(struct view_batch *batch)
{
    TAILQ_CONCAT(&batch->askers, &batch->later, link);
    if (!TAILQ_EMPTY(&batch->askers)) {
        batch_ask(batch);
    } else if (!batch->latest) {
        batch_free(batch);
    }
}

static void on_result(void *context, struct session_result *result)
{
    struct view_batch *batch = context;
    struct view_asker *asker;
    struct view_askers answered = TAILQ_HEAD_INITIALIZER(answered);
    TAILQ_CONCAT(&answered, &batch->askers, link);
    batch->is_asked = false;
    batch->is_telling = true;
    view_release(batch->latest);
    bool is_answer = result->outcome == OUTCOME_OK;
    batch->latest = memory_new(sizeof *batch->latest);
    *batch->latest = (struct view){
        .n_users = 1,
        .made_at = clock_now(),
        .rows = is_answer ? fleet_rows_new(&result->rows) : NULL,
        .why = result->outcome == OUTCOME_NO_SPACE ? VIEW_TOO_LARGE : VIEW_NO_ANSWER,
    };
    while ((asker = TAILQ_FIRST(&answered))) {
        TAILQ_REMOVE(&answered, asker, link);
        asker->batch = NULL;
        asker->done(asker->conn, view_keep(batch->latest));
    }
    batch->is_telling = false;
    if (batch->key[0] == '\0') {
        batch->latest = view_release(batch->latest); /* of everything: only the newest will do */
    }
    batch_go_on(batch);
}

/* ---- asking ---- */

static char *key_of(size_t n, const char *const names[])
{
    struct text key = TEXT_INIT;
    for (size_t i = 0; i < n; i++) {
        text_add(&key, i > 0 ? " " : "");
        text_add(&key, names[i]);
    }
    return text_take(&key);
}

struct view *views_ask(struct views *views, struct view_asker *asker, uint8_t database, size_t n,
    const char *const names[], nanoseconds age)
{
    nanoseconds now = clock_now();
    char *key = key_of(n, names);
    forget_old_ones(views, now);
    struct view_batch *batch = batch_find(views, database, key);
    free(key);
    if (age > 0 && batch->latest && batch->latest->rows && now - batch->latest->made_at <= age) {
        return view_keep(batch->latest);
    }
    asker->batch = batch;
    if (batch_is_busy(batch)) {
        TAILQ_INSERT_TAIL(&batch->later, asker, link);
    } else {
        TAILQ_INSERT_TAIL(&batch->askers, asker, link);
        batch_ask(batch);
    }
    return NULL;
}

struct load_view views_load(struct views *views, uint8_t database, const struct view *view)
{
    struct load_sample sample;
    const struct session_view session = fleet_look(views->server->fleet, database);
    if (!load_read(view->rows, view->made_at, &sample)) {
        return (struct load_view){0}; /* it does not say, or no longer */
    }
    load_note(&views->loads[database - 1], &sample);
    return load_view(&views->loads[database - 1], session.call_rate);
}

static bool is_in(const struct view_askers *askers, const struct view_asker *wanted)
{
    const struct view_asker *asker;
    TAILQ_FOREACH (asker, askers, link) {
        if (asker == wanted) {
            return true;
        }
    }
    return false;
}

void views_leave(struct view_asker *asker)
{
    struct view_batch *batch = asker->batch;
    if (!batch) {
        return;
    }
    bool is_now = is_in(&batch->askers, asker);
    TAILQ_REMOVE(is_now ? &batch->askers : &batch->later, asker, link);
    asker->batch = NULL;
    if (batch->is_asked && TAILQ_EMPTY(&batch->askers)) {
        fleet_forget(batch->views->server->fleet, batch);
        batch->is_asked = false;
        batch_go_on(batch);
    }
}

void views_init(struct views *views, struct server *server)
{
    *views = (struct views){.server = server};
}

void views_deinit(struct views *views)
{
    while (!LIST_EMPTY(&views->batches)) {
        batch_free(LIST_FIRST(&views->batches));
    }
}
