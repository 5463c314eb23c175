#include "status/listed_news.h"

#include "base/words.h"
#include "status/fleet_lines.h"
#include "status/follower.h"
#include "status/listing.h"

#include <string.h>

/* ---- where it is listed ---- */

struct listed {
    const struct listing *listing; /* or NULL */
    const struct fleet_resource *resource; /* in it, or NULL */
    const struct resource *here; /* the core's, or NULL */
    uint8_t database;
};

/* In the database that the core or the file names. */
static struct listed find(const struct follow_source *source, const char *name)
{
    struct listed found = {.here = core_find_resource(source->core, name)};
    const struct definition *definition = found.here ? found.here->definition : NULL;
    if (!definition && !core_find_template(source->core, name)) {
        definition = core_find_definition(source->core, name);
    }
    if (definition && definition->database != 0) {
        found.database = definition->database;
        found.listing = source->listing_of(source->context, found.database);
        found.resource = found.listing ? fleet_rows_find(found.listing->rows, name) : NULL;
    }
    return found;
}

/* `moment` may be NULL: for what has no age. */
static struct fleet_scene scene_of(const struct follow_source *source, uint8_t database,
    const struct listing *listing, const struct answer_moment *moment)
{
    const struct host_scene here = source->scene_of(source->context, database);
    struct fleet_scene scene = {
        .core = source->core,
        .database = here.database,
        .state = here.state,
        .session = listing->session,
        .listed_at = listing->made_at,
        .follows = true,
    };
    if (moment) {
        scene.viewer = moment->viewer;
        scene.now = moment->now;
        scene.wall_now = moment->wall_now;
    }
    return scene;
}

/* ---- resources and templates ---- */

/* This host's part of the figures is the core's: it knows first. */
static void bring_up_to_date(struct status_resource *line, const struct listed *listed)
{
    const struct listed_own *own =
        &listed->listing->own[listed->resource - listed->listing->rows->resources];
    uint64_t held = listed->here ? resource_in_use(listed->here) : 0;
    uint64_t waiting = listed->here ? resource_waiting(listed->here) : 0;
    uint64_t others = line->in_use > own->held ? line->in_use - own->held : 0;
    bool goes_on = line->waiting > 0 || line->paused; /* what has come free is not free */
    line->waiting = waiting + (line->waiting > own->waiting ? line->waiting - own->waiting : 0);
    line->in_use = others + held;
    if (held > own->held) {
        uint64_t more = held - own->held;
        line->free = line->free > more ? line->free - more : 0;
    } else if (!goes_on) {
        line->free += own->held - held;
    }
}

bool listed_tell_resource(const struct follow_source *source, struct text *out, const char *name)
{
    const struct listed listed = find(source, name);
    if (!listed.resource) {
        return false;
    }
    const struct fleet_scene scene = scene_of(source, listed.database, listed.listing, NULL);
    char reason_room[REASON_BYTES + 1];
    struct resource_line line = {.shown = fleet_resource_line(
        reason_room, listed.listing->rows, listed.resource, &scene)};
    bring_up_to_date(&line.shown, &listed);
    fleet_fill_units(&line, &listed.listing->rows->rows[listed.resource->row]);
    resource_line_write(out, &line);
    resource_line_deinit(&line);
    return true;
}

bool listed_tell_template(
    const struct follow_source *source, struct text *out, const struct template *template)
{
    uint8_t database = template->definition->database;
    const struct listing *listing = source->listing_of(source->context, database);
    if (listing) {
        const struct fleet_scene scene = scene_of(source, database, listing, NULL);
        fleet_describe_template(out, listing->rows, template, &scene);
    }
    return listing;
}

/* ---- leases ---- */

void listed_tell_lease(const struct follow_source *source, const struct answer_moment *moment,
    struct text *out, const char *name, const char *key)
{
    const struct listed listed = find(source, name);
    const struct fleet_row *row =
        listed.resource ? listing_find(listed.listing, listed.resource, key) : NULL;
    if (row) {
        const struct fleet_rows *rows = listed.listing->rows;
        const struct fleet_scene scene = scene_of(source, listed.database, listed.listing, moment);
        fleet_describe_lease(out, rows, listed.resource, (size_t)(row - rows->rows), &scene);
    } else {
        text_add(out, "gone ");
        text_add(out, key);
        text_add_key(out, "resource", name);
        text_add(out, "\n");
    }
}

void listed_walk_begin(struct listed_walk *walk, const char *name)
{
    *walk = (struct listed_walk){0};
    memcpy(walk->name, name, strlen(name) + 1);
}

void listed_walk_continue(struct listed_walk *walk, const struct follow_source *source,
    const struct answer_moment *moment, struct text *out, size_t enough)
{
    const struct listed listed = find(source, walk->name);
    if (!listed.resource) {
        walk->name[0] = '\0';
        return;
    }
    if (walk->listing != listed.listing->number) {
        walk->listing = listed.listing->number;
        walk->next = listed.resource->row + 1;
    }
    const struct fleet_rows *rows = listed.listing->rows;
    const struct fleet_scene scene = scene_of(source, listed.database, listed.listing, moment);
    for (; walk->next < listed.resource->end && out->length < enough; walk->next++) {
        if (!listing_is_own(listed.listing, &rows->rows[walk->next])) {
            fleet_describe_lease(out, rows, listed.resource, walk->next, &scene);
        }
    }
    if (walk->next == listed.resource->end) {
        walk->name[0] = '\0';
    }
}

/* ---- instances that only other hosts use ---- */

const char *listed_next_foreign(const struct follow_source *source, uint8_t database,
    char after[static NAME_BYTES + 1], unsigned *n_leftp)
{
    const struct listing *listing = source->listing_of(source->context, database);
    size_t n = listing ? listing->rows->n_resources : 0;
    size_t i = n > 0 ? fleet_rows_place(listing->rows, after) : 0;
    for (; i < n && *n_leftp > 0; i++) {
        const char *name = listing->rows->resources[i].name;
        if (strcmp(name, after) == 0) {
            continue;
        }
        --*n_leftp;
        memcpy(after, name, strlen(name) + 1);
        const struct listed listed = find(source, name);
        if (listed.resource && listed.database == database && !listed.here) {
            return name;
        }
    }
    return NULL;
}
