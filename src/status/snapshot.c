#include "status/snapshot.h"

#include "base/memory.h"
#include "base/words.h"
#include "status/asked_names.h"
#include "status/host_leases.h"
#include "status/host_lines.h"
#include "status/listed_leases.h"
#include "status/own_waiters.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_LOOKED_AT = 64 }; /* names that patterns leave out, in one piece */

/* What a database has said; or else what this host knows. */
struct fleet_part {
    struct view *view; /* or NULL */
    const char *why; /* why there is none; NULL: not asked */
    size_t next; /* among its resources, when they are shown because no other part has them */
    struct own_waiters waiters;
};

struct snapshot {
    struct long_answer answer;
    struct snapshot_source source;
    struct core *core; /* the source's */
    const struct answer_moment *moment; /* while a piece is being made */
    struct fleet_part fleet[MAX_DATABASES + 1];

    /* Which resources are shown, in this order. */
    struct asked_names asked;
    size_t next_name; /* of those asked for */
    bool of_all; /* then of all there are */
    struct core_cursor cursor; /* of_all */
    uint8_t next_database; /* of_all, behind the cursor's end: whose instances are shown */
    size_t next_template; /* of_all, behind those: place in the file */
    uint64_t lease; /* the only waiter to show; 0: all */

    /* The leases of the resource being shown: one of these, if any. */
    struct host_leases host_leases;
    struct listed_leases listed_leases;
    uint8_t database; /* that has listed them */
};

/* ---- life ---- */

static const struct long_answer_kind snapshot_kind;

struct snapshot *snapshot_new_of(
    const struct snapshot_source *source, const char *const names[], size_t n)
{
    struct snapshot *snapshot = memory_new(sizeof *snapshot);
    snapshot->answer.kind = &snapshot_kind;
    snapshot->source = *source;
    snapshot->core = source->core;
    snapshot->next_database = 1;
    asked_names_init(&snapshot->asked, names, n);
    snapshot->of_all = asked_names_search(&snapshot->asked);
    if (snapshot->of_all) {
        core_cursor_init(snapshot->core, &snapshot->cursor);
    }
    return snapshot;
}

struct snapshot *snapshot_new(const struct snapshot_source *source)
{
    return snapshot_new_of(source, NULL, 0);
}

struct snapshot *snapshot_new_of_lease(
    const struct snapshot_source *source, const struct lease *lease)
{
    const char *names[MAX_RESOURCES_PER_LEASE];
    for (size_t i = 0; i < lease->n_claims; i++) {
        names[i] = lease->claims[i].resource->name;
    }
    struct snapshot *snapshot = snapshot_new_of(source, names, lease->n_claims);
    snapshot->lease = lease->id;
    return snapshot;
}

static struct snapshot *snapshot_of(struct long_answer *answer)
{
    return container_of(answer, struct snapshot, answer);
}

static void free_snapshot(struct long_answer *answer)
{
    struct snapshot *snapshot = snapshot_of(answer);
    if (snapshot->of_all) {
        core_cursor_deinit(snapshot->core, &snapshot->cursor);
    }
    asked_names_deinit(&snapshot->asked);
    for (size_t i = 0; i <= MAX_DATABASES; i++) {
        view_release(snapshot->fleet[i].view);
        own_waiters_deinit(&snapshot->fleet[i].waiters);
    }
    free(snapshot);
}

struct long_answer *snapshot_answer(struct snapshot *snapshot)
{
    return &snapshot->answer;
}

struct snapshot *snapshot_free(struct snapshot *snapshot)
{
    if (snapshot) {
        long_answer_free(&snapshot->answer);
    }
    return NULL;
}

void snapshot_set_view(
    struct snapshot *snapshot, uint8_t database, struct view *view, const char *why)
{
    snapshot->fleet[database] = (struct fleet_part){.view = view, .why = view ? NULL : why};
}

static uint32_t view_weight(const struct long_answer *answer)
{
    const size_t heavy = (size_t)8 << 20;
    const struct snapshot *snapshot = container_of(answer, const struct snapshot, answer);
    size_t bytes = 0;
    bool has_views = false;
    for (size_t i = 0; i <= MAX_DATABASES; i++) {
        const struct view *view = snapshot->fleet[i].view;
        has_views |= view != NULL;
        bytes += view ? view->rows->n_bytes : 0;
    }
    return has_views + (uint32_t)(bytes / heavy);
}

/* ---- what databases say ---- */

static const struct snapshot_database *database_of(
    const struct snapshot *snapshot, uint8_t database)
{
    return &snapshot->source.databases[database - 1];
}

static struct fleet_scene fleet_scene_of(const struct snapshot *snapshot, uint8_t database)
{
    const struct view *view = snapshot->fleet[database].view;
    return (struct fleet_scene){
        .core = snapshot->core,
        .viewer = snapshot->moment->viewer,
        .database = database_of(snapshot, database)->name,
        .session = database_of(snapshot, database)->session,
        .now = snapshot->moment->now,
        .wall_now = snapshot->moment->wall_now,
        .listed_at = view ? view->made_at : snapshot->moment->now,
    };
}

static void begin_listed(struct snapshot *snapshot, struct text *out, uint8_t database,
    const struct fleet_resource *resource)
{
    const struct fleet_rows *rows = snapshot->fleet[database].view->rows;
    struct fleet_scene scene = fleet_scene_of(snapshot, database);
    fleet_describe_resource(out, rows, resource, &scene);
    listed_leases_begin(&snapshot->listed_leases, rows, resource);
    snapshot->database = database;
}

/* False if the database has said nothing about it. */
static bool begin_as_fleet_says(
    struct snapshot *snapshot, struct text *out, uint8_t database, const char *name)
{
    const struct view *view = snapshot->fleet[database].view;
    const struct fleet_resource *resource = view ? fleet_rows_find(view->rows, name) : NULL;
    if (resource) {
        begin_listed(snapshot, out, database, resource);
    }
    return resource;
}

/* Instances that only other hosts use: of those that this host's file allows, if they are asked
 * for. */
static void begin_database(struct snapshot *snapshot, struct text *out, uint8_t database,
    const struct fleet_resource *resource)
{
    const struct definition *definition = core_find_definition(snapshot->core, resource->name);
    if (definition && definition->database == database &&
        asked_names_match(&snapshot->asked, resource->name) &&
        !core_find_resource(snapshot->core, resource->name) &&
        !core_find_template(snapshot->core, resource->name)) {
        begin_listed(snapshot, out, database, resource);
    }
}

/* Looks at one. False if there is no next one. */
static bool begin_next_database(struct snapshot *snapshot, struct text *out)
{
    for (; snapshot->next_database <= MAX_DATABASES; snapshot->next_database++) {
        struct fleet_part *part = &snapshot->fleet[snapshot->next_database];
        if (part->view && part->next < part->view->rows->n_resources) {
            begin_database(snapshot, out, snapshot->next_database,
                &part->view->rows->resources[part->next++]);
            return true;
        }
    }
    return false;
}

/* ---- what this host knows ---- */

/* `waiters` are this host's, of that database. */
static const struct own_waiters *own_waiters(struct snapshot *snapshot, uint8_t database)
{
    struct own_waiters *waiters = &snapshot->fleet[database].waiters;
    own_waiters_gather(waiters, snapshot->core, database);
    return waiters;
}

static struct host_scene host_scene_of(const struct snapshot *snapshot, uint8_t database)
{
    return (struct host_scene){
        .database = database_of(snapshot, database)->name,
        .state = snapshot->fleet[database].why,
    };
}

static void describe(struct snapshot *snapshot, struct text *out, const struct resource *resource)
{
    uint8_t database = resource->definition->database;
    if (database == 0) {
        host_describe_resource(out, resource, NULL);
        return;
    }
    struct host_scene scene = host_scene_of(snapshot, database);
    scene.n_waiting = (uint32_t)own_waiters_count(own_waiters(snapshot, database), resource);
    host_describe_resource(out, resource, &scene);
}

static void begin(struct snapshot *snapshot, struct text *out, const struct resource *resource)
{
    uint8_t database = resource->definition->database;
    if (database == 0 || !begin_as_fleet_says(snapshot, out, database, resource->name)) {
        describe(snapshot, out, resource);
        host_leases_begin(&snapshot->host_leases, resource);
    }
}

/* Looking at an instance that nobody uses does not make it. */
static void show_idle_instance(
    struct snapshot *snapshot, struct text *out, const char *name, struct template *template)
{
    uint8_t database = template->definition->database;
    if (database != 0 && begin_as_fleet_says(snapshot, out, database, name)) {
        return;
    }
    struct resource *idle = resource_new(name, template->definition);
    idle->is_instance = true;
    idle->template = template;
    describe(snapshot, out, idle);
    resource_free(idle);
}

static void show_template(
    struct snapshot *snapshot, struct text *out, const struct template *template)
{
    uint8_t database = template->definition->database;
    const struct view *view = snapshot->fleet[database].view;
    if (database == 0) {
        host_describe_template(out, template, NULL);
    } else if (view) {
        struct fleet_scene scene = fleet_scene_of(snapshot, database);
        fleet_describe_template(out, view->rows, template, &scene);
    } else {
        struct host_scene scene = host_scene_of(snapshot, database);
        host_describe_template(out, template, &scene);
    }
}

/* ---- from resource to resource ---- */

static void begin_named(struct snapshot *snapshot, struct text *out, const char *name)
{
    const struct definition *definition = core_find_definition(snapshot->core, name);
    const struct resource *resource = core_find_resource(snapshot->core, name);
    if (resource) {
        begin(snapshot, out, resource);
    } else if (definition) {
        show_idle_instance(
            snapshot, out, name, core_find_template(snapshot->core, definition->name));
    }
}

/* One of the file, if it is one. False if that has no more. */
static bool show_next_template(struct snapshot *snapshot, struct text *out)
{
    const struct answer_moment *moment = snapshot->moment;
    if (snapshot->next_template >= moment->n_definitions) {
        return false;
    }
    const struct definition *definition = &moment->definitions[snapshot->next_template++];
    const struct template *template = core_find_template(snapshot->core, definition->name);
    if (template && asked_names_match(&snapshot->asked, definition->name)) {
        show_template(snapshot, out, template);
    }
    return true;
}

/* Looks at the next one; it is perhaps none that is asked for. False if there is no next one. */
static bool begin_next(struct snapshot *snapshot, struct text *out)
{
    if (snapshot->next_name < snapshot->asked.n_names) {
        begin_named(snapshot, out, snapshot->asked.names[snapshot->next_name++]);
        return true;
    }
    if (!snapshot->of_all) {
        return false;
    }
    const struct resource *resource = core_cursor_next(snapshot->core, &snapshot->cursor);
    if (!resource) {
        return begin_next_database(snapshot, out) || show_next_template(snapshot, out);
    }
    if (asked_names_match(&snapshot->asked, resource->name)) {
        begin(snapshot, out, resource);
    }
    return true;
}

/* ---- pieces ---- */

static void show_listed_leases(struct snapshot *snapshot, struct text *out, size_t enough)
{
    struct fleet_scene scene = fleet_scene_of(snapshot, snapshot->database);
    listed_leases_continue(&snapshot->listed_leases, &scene, snapshot->lease, out, enough);
}

static void show_host_leases(struct snapshot *snapshot, struct text *out, size_t enough)
{
    const struct resource *resource =
        core_find_resource(snapshot->core, snapshot->host_leases.name);
    uint8_t database = resource ? resource->definition->database : 0;
    const struct lease_scene scene = {
        .core = snapshot->core,
        .viewer = snapshot->moment->viewer,
        .now = snapshot->moment->now,
        .only_waiter = snapshot->lease,
    };
    host_leases_continue(&snapshot->host_leases, &scene,
        database != 0 ? own_waiters(snapshot, database) : NULL, out, enough);
}

static bool make_more(struct snapshot *snapshot, struct text *out, size_t enough)
{
    for (unsigned n_left_out = 0; out->length < enough && n_left_out < MAX_LOOKED_AT;) {
        size_t length = out->length;
        if (snapshot->listed_leases.resource) {
            show_listed_leases(snapshot, out, enough);
        } else if (snapshot->host_leases.name[0] != '\0') {
            show_host_leases(snapshot, out, enough);
        } else if (!begin_next(snapshot, out)) {
            return false;
        }
        n_left_out += out->length == length;
    }
    return true;
}

static bool make_piece(struct long_answer *answer, const struct answer_moment *moment,
    struct text *out, size_t enough)
{
    struct snapshot *snapshot = snapshot_of(answer);
    snapshot->moment = moment;
    bool is_unfinished = make_more(snapshot, out, enough);
    snapshot->moment = NULL;
    return is_unfinished;
}

static const struct long_answer_kind snapshot_kind = {
    .more = make_piece, .view_weight = view_weight, .free = free_snapshot};
