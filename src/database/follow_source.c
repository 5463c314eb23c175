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

static bool is_in_time(const struct ended_filter *filter, const struct history_entry *entry)
{
    return entry->ended_at >= filter->since;
}

static bool is_asked_by_key(const struct ended_filter *filter, const struct history_entry *entry)
{
    return is_in_time(filter, entry) && (!filter->has_user || entry->uid == filter->user) &&
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

/* Of one without a resource everybody sees that it was done, but names ask for others. */
static bool is_did_asked_by_name(const struct ended_filter *filter, const struct did *did)
{
    char name[NAME_BYTES + 1];
    bool is_asked = filter->asked.n == 0;
    for (size_t i = 0; !is_asked && did_resource(did, i, name); i++) {
        is_asked = asked_names_has(&filter->asked, name);
    }
    return is_asked;
}

static bool is_did_asked(const struct ended_filter *filter, const struct did *did)
{
    uint64_t lease;
    return (!filter->has_user || did->by.uid == filter->user) &&
        (!filter->has_lease ||
            (did->target && lease_id_parse(did->target, &lease) && lease == filter->lease)) &&
        is_did_asked_by_name(filter, did);
}

/* An entry, taken apart. */
struct taken_entry {
    struct history_entry entry;
    struct did did; /* of HISTORY_DID */
    struct saved_lease *lease; /* of HISTORY_ENDED; owned */
};

/* The next entry before `end` that its keys do not rule out. */
static bool next_entry(const struct server *server, const struct ended_filter *filter,
    uint64_t *positionp, uint64_t end, struct ended_budget *budget, struct history_entry *entry)
{
    while (*positionp < end && ended_budget_is_left(budget) &&
        history_next(server->history, positionp, entry)) {
        budget->n_left--;
        bool is_asked = entry->kind == HISTORY_DID ? filter->has_did && is_in_time(filter, entry)
                                                   : is_asked_by_key(filter, entry);
        if (is_asked) {
            return true;
        }
    }
    return false;
}

/* False: it is not asked for. */
static bool take_apart(
    const struct ended_filter *filter, struct taken_entry *taken, struct ended_budget *budget)
{
    const struct history_entry *entry = &taken->entry;
    taken->lease = NULL;
    budget->n_read_left--;
    if (entry->kind == HISTORY_DID) {
        return entry->ended_at < filter->until &&
            did_read(&taken->did, entry) && is_did_asked(filter, &taken->did);
    }
    struct saved_lease *lease = record_read(entry->record, entry->record_length);
    bool is_asked = lease && is_asked_by_name(filter, lease) &&
        lease->asked_at < filter->until;
    if (!is_asked) {
        record_free(lease);
    }
    taken->lease = is_asked ? lease : NULL;
    return is_asked;
}

bool ended_pass(const struct server *server, const struct ended_filter *filter,
    uint64_t *positionp, uint64_t end, struct ended_budget *budget)
{
    bool is_asked = false, needs_record = filter->until != NEVER || filter->asked.n > 0;
    struct taken_entry taken;
    while (!is_asked && next_entry(server, filter, positionp, end, budget, &taken.entry)) {
        taken.lease = NULL;
        is_asked = (taken.entry.kind == HISTORY_ENDED && !needs_record) ||
            take_apart(filter, &taken, budget);
        record_free(taken.lease);
    }
    return is_asked;
}

static void write_taken(const struct server *server, struct taken_entry *taken,
    const struct answer_moment *moment, struct text *out)
{
    const struct history_entry *entry = &taken->entry;
    uint64_t at = wall_milliseconds(entry->ended_at, moment);
    if (taken->lease) {
        const struct ended_lease ended = {
            .entry = entry, .lease = taken->lease, .database = record_database(taken->lease)};
        ended_line_write(out, &ended, at,
            viewer_sees_ended(moment->viewer, server->core, taken->lease, entry->hiding));
        return;
    }
    if (!viewer_sees_did(moment->viewer, server->core, &taken->did)) {
        taken->did.reason = NULL;
    }
    did_line_write(out, &taken->did, at, NULL);
}

bool ended_lines_write(const struct server *server, const struct ended_filter *filter,
    uint64_t *positionp, uint64_t end, const struct answer_moment *moment, struct text *out,
    size_t enough)
{
    struct ended_budget budget = ENDED_BUDGET;
    struct taken_entry taken;
    while (out->length < enough &&
        next_entry(server, filter, positionp, end, &budget, &taken.entry)) {
        if (take_apart(filter, &taken, &budget)) {
            write_taken(server, &taken, moment, out);
            record_free(taken.lease);
        }
    }
    return *positionp < end && (out->length >= enough || !ended_budget_is_left(&budget));
}

static bool add_ended(void *context, uint64_t *positionp, uint64_t end, bool *missedp,
    const struct answer_moment *moment, struct text *out, size_t enough)
{
    static const struct ended_filter all = {.until = NEVER};
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
