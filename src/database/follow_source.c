#include "database/follow_source.h"

#include "admission/server.h"
#include "core/news.h"
#include "database/fleet_follows.h"
#include "database/fleet_sessions.h"
#include "database/fleet_views.h"
#include "journal/record.h"
#include "record/history.h"
#include "status/database_line.h"
#include "status/ended_line.h"

enum {
    MAX_LOOKED_AT = 512, /* entries of the history of one piece, whatever becomes of them */
    MAX_READ = 16, /* of these, those taken apart: each costs as much as six lines of status */
};

/* ---- databases ---- */

static void follow_source_add_database(void *context, struct text *out, uint8_t database)
{
    const struct server *server = context;
    fleet_write_line(server->fleet, database, NULL, out);
}

static void set_database(void *context, uint8_t database, struct scene *scene)
{
    const struct server *server = context;
    const struct session_view view = fleet_look(server->fleet, database);
    const struct fleet_followed *followed = &server->fleet_follows->databases[database - 1];
    scene->database = fleet_name_of(&server->databases, database);
    scene->state = view.state != SESSION_UP ? database_state_word(view.state)
        : followed->is_too_large            ? VIEW_TOO_LARGE
                                            : NULL;
    scene->listing = followed->listing;
    if (scene->listing) {
        scene->session = scene->listing->session;
        scene->rows = scene->listing->rows;
        scene->listed_at = scene->listing->made_at;
    }
}

static uint64_t hash_word(const char *word, uint64_t seed)
{
    return word ? hash_string(word, seed) : seed;
}

/* Not the number of calls, which changes all the time. */
static struct told_database follow_source_look_at(const struct server *server, uint8_t database)
{
    const struct link_info *info = fleet_server_info(server->fleet, database);
    const struct session_view view = fleet_look(server->fleet, database);
    struct told_database told = {
        .state = view.state,
        .is_too_large = server->fleet_follows->databases[database - 1].is_too_large,
    };
    const uint64_t numbers[] = {view.state, (uint64_t)view.grace_until, view.is_new,
        (uint64_t)view.good_until, view.incarnation, view.n_differing, told.is_too_large};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        told.line = hash_number(told.line ^ numbers[i]);
    }
    if (info) {
        told.line = hash_word(info->address, told.line);
        told.line = hash_word(info->version, told.line);
        told.line = hash_word(info->warning, told.line);
        told.line = hash_word(info->lacks, told.line);
    }
    told.line = view.state == SESSION_UP ? told.line : hash_word(view.why, told.line);
    return told;
}

/* Their lines say in which state the database is, or that what it lists is too large. */
static void tell_resources_of(struct server *server, uint8_t database)
{
    struct core_cursor cursor;
    const struct resource *resource;
    struct news *news = core_news(server->core);
    core_cursor_init(server->core, &cursor);
    while ((resource = core_cursor_next(server->core, &cursor))) {
        if (resource->definition->database == database) {
            news_resource(news, resource->name);
        }
    }
    core_cursor_deinit(server->core, &cursor);
    for (size_t i = 0; i < server->conf->n_definitions; i++) {
        const struct definition *definition = &server->conf->definitions[i];
        bool is_its = definition->database == database;
        if (is_its && core_find_template(server->core, definition->name)) {
            news_template(news, definition->name);
        }
    }
}

void follow_source_look(struct server *server)
{
    for (uint8_t i = 1; i <= server->databases.n; i++) {
        struct told_database *told = &server->followers.databases[i - 1];
        const struct told_database now = follow_source_look_at(server, i);
        if (now.line == told->line) {
            continue;
        }
        news_database(core_news(server->core), i);
        if (now.state != told->state || now.is_too_large != told->is_too_large) {
            tell_resources_of(server, i);
        }
        *told = now;
    }
    fleet_follows_look(server->fleet_follows);
}

static bool is_ready(void *context)
{
    const struct server *server = context;
    return fleet_follows_are_ready(server->fleet_follows);
}

/* ---- leases that are over ---- */

static uint64_t ended_end(void *context)
{
    const struct server *server = context;
    return history_ring_end(&server->history->ring);
}

static bool is_asked_by_key(const struct ended_filter *filter, const struct history_entry *entry)
{
    return entry->ended_at >= filter->since && (!filter->has_user || entry->uid == filter->user) &&
        (!filter->has_lease || entry->lease == filter->lease);
}

static bool is_asked_by_name(const struct ended_filter *filter, const struct saved_lease *saved)
{
    bool is_asked = false;
    for (size_t i = 0; i < saved->n_claims; i++) {
        is_asked |= asked_names_has(&filter->asked, saved->claims[i].name);
    }
    return is_asked;
}

/* Returns whether the entry had to be taken apart. */
static bool write_entry(const struct server *server, const struct ended_filter *filter,
    const struct history_entry *entry, const struct answer_moment *moment, struct text *out)
{
    struct saved_lease *lease =
        is_asked_by_key(filter, entry) ? record_read(entry->record, entry->record_length) : NULL;
    if (lease && is_asked_by_name(filter, lease)) {
        const struct ended_lease ended = {entry, lease, record_database(lease)};
        ended_line_write(out, &ended, wall_milliseconds(entry->ended_at, moment),
            viewer_sees_ended(moment->viewer, server->core, lease, entry->hiding));
    }
    bool was_read = lease;
    record_free(lease);
    return was_read;
}

bool ended_lines_write(const struct server *server, const struct ended_filter *filter,
    uint64_t *positionp, uint64_t end, const struct answer_moment *moment, struct text *out,
    size_t enough)
{
    unsigned n_left = MAX_LOOKED_AT, n_read = 0;
    struct history_entry entry;
    while (*positionp < end && n_read < MAX_READ && out->length < enough && n_left > 0) {
        if (!history_next_ended(server->history, positionp, &n_left, &entry)) {
            return n_left == 0;
        }
        n_read += write_entry(server, filter, &entry, moment, out);
    }
    return *positionp < end;
}

static bool add_ended(void *context, uint64_t *positionp, uint64_t end, bool *missedp,
    const struct answer_moment *moment, struct text *out, size_t enough)
{
    static const struct ended_filter all;
    const struct server *server = context;
    *missedp |= !history_ring_has(&server->history->ring, *positionp);
    return ended_lines_write(server, &all, positionp, end, moment, out, enough);
}

/* ---- all ---- */

struct follow_source follow_source_of(struct server *server)
{
    return (struct follow_source){
        .walked = {.core = server->core,
            .follows = true,
            .n_databases = (uint8_t)server->databases.n,
            .context = server,
            .set_database = set_database},
        .add_database = follow_source_add_database,
        .is_ready = is_ready,
        .ended_end = ended_end,
        .add_ended = add_ended,
    };
}
