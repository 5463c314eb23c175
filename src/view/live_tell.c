/* live_tell.c - tells the watchers what a batch has changed. */
#include "view/live_internal.h"

#include <string.h>

/* A database that is up has listed its leases within this time. */
#define LISTED_AFTER (15 * NANOSECONDS_PER_SECOND)

/* ---- the host, and records ---- */

static void tell_host(const struct live *live, const struct live_watcher *watcher)
{
    if (watcher->host && !host_figures_equal(&live->host_before, &live->host)) {
        watcher->host(watcher->context, &live->host_before, &live->host);
    }
}

static bool has_changed(const struct live_record *record)
{
    bool has_come_or_gone = record->stood != record->is_there;
    return record->is_touched &&
        (has_come_or_gone || (record->is_there && record->print != record->print_before));
}

static void tell_records(
    const struct live *live, const struct live_watcher *watcher, enum status_line kind)
{
    const struct live_records *records = &live->records[kind];
    for (size_t i = 0; i < records->n && watcher->record; i++) {
        const struct live_record *record = records->list[i];
        if (has_changed(record)) {
            watcher->record(watcher->context, kind, live_record_before(kind, record),
                record->is_there ? live_record_shown(kind, record) : NULL);
        }
    }
}

/* ---- leases ---- */

static bool is_up(const struct status_database *database)
{
    return database && strcmp(database->state, "up") == 0;
}

static struct live_database *database_named(const struct live *live, const char *name)
{
    return name ? (struct live_database *)live_record_named(live, LINE_DATABASE, name) : NULL;
}

/* A database that is up may still not have listed its leases: its resources may say so. */
static void find_silent_databases(struct live *live)
{
    const struct live_records *databases = &live->records[LINE_DATABASE],
                              *resources = &live->records[LINE_RESOURCE];
    for (size_t i = 0; i < databases->n; i++) {
        struct live_database *database = (struct live_database *)databases->list[i];
        database->is_silent =
            !is_up(live_record_before(LINE_DATABASE, &database->record)) ||
            !is_up(&database->shown) || !database->has_listed;
    }
    for (size_t i = 0; i < resources->n && databases->n > 0; i++) {
        const struct live_record *resource = resources->list[i];
        const struct status_resource *before = live_record_before(LINE_RESOURCE, resource),
                                     *now = live_record_shown(LINE_RESOURCE, resource);
        struct live_database *database = database_named(live, now->database);
        if (database && (now->database_state || (before && before->database_state))) {
            database->is_silent = true;
            database->has_listed = database->has_listed && !now->database_state;
        }
    }
}

/* A line about a lease of another host has come. */
static void note_listed(const struct live *live, const struct live_lease *lease)
{
    struct live_database *database =
        lease->is_elsewhere ? database_named(live, lease->resource->shown.database) : NULL;
    if (database && !lease->resource->shown.database_state) {
        database->has_listed = true;
    }
}

/* berthd waits for a listing before it makes a snapshot; one that has nothing new is not seen. */
static void note_database(const struct live *live, struct live_database *database, nanoseconds now)
{
    bool is_up_now = is_up(&database->shown);
    if (!is_up_now) {
        database->has_listed = false;
    } else if (!database->was_up) {
        database->up_since = now;
    }
    if (is_up_now && (live->is_fresh || now - database->up_since > LISTED_AFTER)) {
        database->has_listed = true;
    }
    database->was_up = is_up_now;
}

void live_note_databases(struct live *live, nanoseconds now)
{
    const struct live_records *databases = &live->records[LINE_DATABASE];
    for (size_t i = 0; i < live->n_touched; i++) {
        note_listed(live, live->touched[i]);
    }
    for (size_t i = 0; i < databases->n; i++) {
        note_database(live, (struct live_database *)databases->list[i], now);
    }
}

/* That it comes or goes may be a matter of what the database says of other hosts. */
static bool is_quiet(const struct live *live, const struct live_lease *lease)
{
    const struct live_database *database =
        lease->is_elsewhere ? database_named(live, lease->resource->shown.database) : NULL;
    return lease->is_elsewhere && (!database || database->is_silent);
}

static void tell_leases(const struct live *live, const struct live_watcher *watcher, bool are_gone)
{
    for (size_t i = 0; i < live->n_touched && watcher->lease; i++) {
        const struct live_lease *lease = live->touched[i];
        bool is_of_these = (lease->state == LIVE_ABSENT) == are_gone;
        bool differs = lease->state != lease->previous_state ||
            (lease->state != LIVE_ABSENT && lease->record.print != lease->record.print_before);
        if (is_of_these && differs && !is_quiet(live, lease)) {
            watcher->lease(watcher->context, lease);
        }
    }
}

static void tell_ended(const struct live *live, const struct live_watcher *watcher)
{
    for (size_t i = 0; i < live->ended.n && watcher->ended; i++) {
        watcher->ended(watcher->context, &live->ended.leases[i]);
    }
    if (live->has_missed && watcher->missed) {
        watcher->missed(watcher->context);
    }
}

static void tell(const struct live *live, const struct live_watcher *watcher)
{
    tell_host(live, watcher);
    tell_records(live, watcher, LINE_DATABASE);
    tell_records(live, watcher, LINE_RESOURCE);
    tell_records(live, watcher, LINE_TEMPLATE);
    tell_leases(live, watcher, true);
    tell_leases(live, watcher, false);
    tell_ended(live, watcher);
}

void live_tell(struct live *live)
{
    find_silent_databases(live);
    for (size_t i = 0; i < live->n_watchers; i++) {
        const struct live_watcher *watcher = live->watchers[i];
        if (live->is_known) {
            tell(live, watcher);
        } else if (watcher->begun) {
            watcher->begun(watcher->context);
        }
    }
}
