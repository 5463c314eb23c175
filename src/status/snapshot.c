#include "status/snapshot.h"

#include "base/memory.h"
#include "base/pattern.h"
#include "base/words.h"
#include "core/fleet.h"
#include "status/fleet_lines.h"
#include "status/host_lines.h"
#include "wire/protocol.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_HOLDERS_SHOWN = 8, /* to show to a waiting lease */
    MAX_LOOKED_AT = 64, /* names that patterns leave out, in one piece */
};

enum part { PART_HOLDERS, PART_WAITERS };

/* A lease of this host that waits, for one of its resources. */
struct own_waiter {
    const struct resource *resource; /* to compare with; it may be gone */
    uint64_t id;
    size_t order;
};

/* What a database has said; or else what this host knows. */
struct fleet_part {
    struct view *view; /* or NULL */
    const char *why; /* why there is none; NULL: not asked */
    size_t next; /* among its resources, when they are shown because no other part has them */
    struct own_waiter *waiters; /* by resource, in order; NULL: not gathered yet */
    size_t n_waiters;
};

struct snapshot {
    struct snapshot_source source;
    struct core *core; /* the source's */
    const struct snapshot_moment *moment; /* while a piece is being made */
    struct text held_back;

    char *names[MAX_ARGUMENTS]; /* of these; owned */
    size_t n_names, next_name;
    char *patterns[MAX_ARGUMENTS]; /* then of what they match, if it is of_all; owned */
    size_t n_patterns; /* 0: of all there are */
    bool of_all;
    struct core_cursor cursor; /* of_all */
    uint8_t next_database; /* of_all, behind the cursor's end: whose instances are shown */
    size_t next_template; /* of_all, behind those: place in the file */
    uint64_t lease; /* the only waiter to show; 0: all */
    struct fleet_part fleet[MAX_DATABASES + 1];

    /* The resource being shown, if a database describes it: the next row. */
    const struct fleet_resource *fleet_resource; /* or NULL */
    uint8_t database;
    size_t row;

    unsigned n_holders; /* shown for this resource; with .lease */
    bool has_shown_lease; /* for this resource; with .lease */
    /* The place in the resource being shown: the holder with that token and lease, or behind the
     * waiter with that key. */
    char name[NAME_BYTES + 1]; /* empty between two resources */
    enum part part;
    uint64_t token, holder;
    uint64_t major, minor;
};

static struct snapshot *snapshot_make(const struct snapshot_source *source)
{
    struct snapshot *snapshot = memory_new(sizeof *snapshot);
    snapshot->source = *source;
    snapshot->core = source->core;
    snapshot->next_database = 1;
    return snapshot;
}

static void look_at_all(struct snapshot *snapshot)
{
    snapshot->of_all = true;
    core_cursor_init(snapshot->core, &snapshot->cursor);
}

struct snapshot *snapshot_new(const struct snapshot_source *source)
{
    struct snapshot *snapshot = snapshot_make(source);
    look_at_all(snapshot);
    return snapshot;
}

struct snapshot *snapshot_new_of(
    const struct snapshot_source *source, const char *const names[], size_t n)
{
    struct snapshot *snapshot = snapshot_make(source);
    for (size_t i = 0; i < n; i++) {
        if (pattern_is_valid(names[i])) {
            snapshot->patterns[snapshot->n_patterns++] = memory_string(names[i]);
        } else {
            snapshot->names[snapshot->n_names++] = memory_string(names[i]);
        }
    }
    if (snapshot->n_patterns > 0) {
        look_at_all(snapshot);
    }
    return snapshot;
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

struct snapshot *snapshot_free(struct snapshot *snapshot)
{
    if (snapshot) {
        if (snapshot->of_all) {
            core_cursor_deinit(snapshot->core, &snapshot->cursor);
        }
        for (size_t i = 0; i < snapshot->n_names; i++) {
            free(snapshot->names[i]);
        }
        for (size_t i = 0; i < snapshot->n_patterns; i++) {
            free(snapshot->patterns[i]);
        }
        for (size_t i = 0; i <= MAX_DATABASES; i++) {
            view_release(snapshot->fleet[i].view);
            free(snapshot->fleet[i].waiters);
        }
        text_deinit(&snapshot->held_back);
        free(snapshot);
    }
    return NULL;
}

void snapshot_set_view(
    struct snapshot *snapshot, uint8_t database, struct view *view, const char *why)
{
    snapshot->fleet[database] = (struct fleet_part){.view = view, .why = view ? NULL : why};
}

bool snapshot_has_views(const struct snapshot *snapshot)
{
    for (size_t i = 0; i <= MAX_DATABASES; i++) {
        if (snapshot->fleet[i].view) {
            return true;
        }
    }
    return false;
}

struct text *snapshot_held_back(struct snapshot *snapshot)
{
    return &snapshot->held_back;
}

/* Of all there are, is it one that is asked for, and has not been shown by its name? */
static bool is_meant(const struct snapshot *snapshot, const char *name)
{
    bool is_meant = snapshot->n_patterns == 0;
    for (size_t i = 0; i < snapshot->n_patterns && !is_meant; i++) {
        is_meant = pattern_matches(snapshot->patterns[i], name);
    }
    for (size_t i = 0; i < snapshot->n_names && is_meant; i++) {
        is_meant = strcmp(snapshot->names[i], name) != 0;
    }
    return is_meant;
}

/* ---- what databases say ---- */

static const struct claim *claim_on(const struct lease *lease, const char *name)
{
    for (size_t i = 0; lease && i < lease->n_claims; i++) {
        if (strcmp(lease->claims[i].resource->name, name) == 0) {
            return &lease->claims[i];
        }
    }
    return NULL;
}

static const struct snapshot_database *database_of(const struct snapshot *snapshot, uint8_t database)
{
    return &snapshot->source.databases[database - 1];
}

static struct fleet_scene scene_of(const struct snapshot *snapshot, uint8_t database)
{
    return (struct fleet_scene){
        .core = snapshot->core,
        .viewer = snapshot->moment->viewer,
        .database = database_of(snapshot, database)->name,
        .session = database_of(snapshot, database)->session,
        .now = snapshot->moment->now,
        .wall_now = snapshot->moment->wall_now,
    };
}

static void begin_fleet(struct snapshot *snapshot, struct text *out, uint8_t database,
    const struct fleet_resource *resource)
{
    struct fleet_scene scene = scene_of(snapshot, database);
    fleet_describe_resource(out, snapshot->fleet[database].view->rows, resource, &scene);
    snapshot->fleet_resource = resource;
    snapshot->database = database;
    snapshot->row = resource->row + 1;
    snapshot->n_holders = 0;
    snapshot->has_shown_lease = false;
}

/* False if the database has said nothing about it. */
static bool begin_as_fleet_says(
    struct snapshot *snapshot, struct text *out, uint8_t database, const char *name)
{
    const struct view *view = snapshot->fleet[database].view;
    const struct fleet_resource *resource = view ? fleet_rows_find(view->rows, name) : NULL;
    if (resource) {
        begin_fleet(snapshot, out, database, resource);
    }
    return resource;
}

/* To the lease itself: few of the holders, and no waiter but itself. */
static bool lease_is_shown(
    struct snapshot *snapshot, const struct fleet_row *row, const struct fleet_scene *scene)
{
    enum fleet_lease kind = fleet_row_kind(row, snapshot->fleet_resource);
    if (kind == FLEET_HOLDER) {
        return snapshot->n_holders++ < MAX_HOLDERS_SHOWN;
    }
    const struct lease *own = kind == FLEET_WAITER ? fleet_own_lease(row, scene) : NULL;
    snapshot->has_shown_lease |= own && own->id == snapshot->lease;
    return own && own->id == snapshot->lease;
}

/* The view may be a little older than its place in line. */
static void show_lease_itself(
    struct snapshot *snapshot, struct text *out, const char *name)
{
    const struct lease *lease = core_find_lease(snapshot->core, snapshot->lease);
    const struct claim *claim = claim_on(lease, name);
    if (claim && lease->state == LEASE_WAITING) {
        host_describe_waiter(out, claim, claim_position(claim), snapshot->moment->viewer, snapshot->moment->now);
    }
}

static void show_fleet_leases(struct snapshot *snapshot, struct text *out, size_t enough)
{
    const struct fleet_rows *rows = snapshot->fleet[snapshot->database].view->rows;
    const struct fleet_resource *resource = snapshot->fleet_resource;
    struct fleet_scene scene = scene_of(snapshot, snapshot->database);
    for (; snapshot->row < resource->end && out->length < enough; snapshot->row++) {
        if (snapshot->lease == 0 || lease_is_shown(snapshot, &rows->rows[snapshot->row], &scene)) {
            fleet_describe_lease(out, rows, resource, snapshot->row, &scene);
        }
    }
    if (snapshot->row == resource->end) {
        if (snapshot->lease != 0 && !snapshot->has_shown_lease) {
            show_lease_itself(snapshot, out, resource->name);
        }
        snapshot->fleet_resource = NULL;
    }
}

/* Instances that only other hosts use: of those that this host's file allows, if they are meant. */
static void begin_database(struct snapshot *snapshot, struct text *out, uint8_t database,
    const struct fleet_resource *resource)
{
    const struct definition *definition = core_find_definition(snapshot->core, resource->name);
    if (definition && definition->database == database && is_meant(snapshot, resource->name) &&
        !core_find_resource(snapshot->core, resource->name)) {
        begin_fleet(snapshot, out, database, resource);
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

/* ---- what this host knows about a database's resources ---- */

static int waiter_compare(const void *left, const void *right)
{
    const struct own_waiter *a = left, *b = right;
    int order = (a->resource > b->resource) - (a->resource < b->resource);
    return order != 0 ? order : (a->order > b->order) - (a->order < b->order);
}

static void gather_waiter(struct lease *lease, void *context)
{
    struct fleet_part *part = context;
    part->waiters = memory_resize(
        part->waiters, part->n_waiters + lease->n_claims + 1, sizeof part->waiters[0]);
    for (size_t i = 0; i < lease->n_claims; i++) {
        struct own_waiter waiter = {lease->claims[i].resource, lease->id, part->n_waiters};
        part->waiters[part->n_waiters++] = waiter;
    }
}

/* Where the resource's waiters begin, and how many there are. */
static const struct own_waiter *own_waiters(
    struct snapshot *snapshot, const struct resource *resource, size_t *np)
{
    uint8_t database = resource->definition->database;
    struct fleet_part *part = &snapshot->fleet[database];
    if (!part->waiters) {
        part->waiters = memory_new(sizeof part->waiters[0]);
        core_fleet_for_each_waiter(snapshot->core, database, gather_waiter, part);
        qsort(part->waiters, part->n_waiters, sizeof part->waiters[0], waiter_compare);
    }
    size_t low = 0, high = part->n_waiters;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        bool is_before = part->waiters[middle].resource < resource;
        low = is_before ? middle + 1 : low;
        high = is_before ? high : middle;
    }
    size_t end = low;
    while (end < part->n_waiters && part->waiters[end].resource == resource) {
        end++;
    }
    *np = end - low;
    return &part->waiters[low];
}

/* Those that still wait. */
static bool show_own_waiters(struct snapshot *snapshot, const struct resource *resource,
    struct text *out, size_t enough)
{
    size_t n;
    const struct own_waiter *waiters = own_waiters(snapshot, resource, &n);
    for (; snapshot->minor < n; snapshot->minor++) {
        if (out->length >= enough) {
            return false;
        }
        const struct lease *lease = core_find_lease(snapshot->core, waiters[snapshot->minor].id);
        const struct claim *claim = claim_on(lease, resource->name);
        if (claim && lease->state == LEASE_WAITING) {
            host_describe_waiter(out, claim, claim_position(claim), snapshot->moment->viewer, snapshot->moment->now);
        }
    }
    return true;
}

/* ---- from resource to resource ---- */

static void describe(struct snapshot *snapshot, struct text *out, const struct resource *resource)
{
    uint8_t database = resource->definition->database;
    if (database == 0) {
        host_describe_resource(out, resource, NULL);
        return;
    }
    size_t n_waiters;
    own_waiters(snapshot, resource, &n_waiters);
    struct host_scene where = {
        .database = database_of(snapshot, database)->name,
        .state = snapshot->fleet[database].why,
        .n_waiting = (uint32_t)n_waiters,
    };
    host_describe_resource(out, resource, &where);
}

static void begin(struct snapshot *snapshot, struct text *out, const struct resource *resource)
{
    uint8_t database = resource->definition->database;
    if (database != 0 && begin_as_fleet_says(snapshot, out, database, resource->name)) {
        return;
    }
    describe(snapshot, out, resource);
    strcpy(snapshot->name, resource->name);
    snapshot->part = PART_HOLDERS;
    snapshot->n_holders = 0;
    snapshot->token = snapshot->holder = snapshot->major = snapshot->minor = 0;
}

/* Looking at an instance that nobody uses does not make it. */
static void show_idle_instance(struct snapshot *snapshot, struct text *out, const char *name,
    const struct definition *template)
{
    if (template->database != 0 && begin_as_fleet_says(snapshot, out, template->database, name)) {
        return;
    }
    struct resource *idle = resource_new(name, template);
    idle->is_instance = true;
    describe(snapshot, out, idle);
    resource_free(idle);
}

static void show_template(
    struct snapshot *snapshot, struct text *out, const struct definition *template)
{
    uint8_t database = template->database;
    const struct fleet_part *part = &snapshot->fleet[database];
    struct host_scene where = {.state = part->why};
    if (database != 0) {
        where.database = database_of(snapshot, database)->name;
    }
    uint32_t n = part->view ? fleet_rows_n_instances(part->view->rows, template->name)
                            : core_n_instances(snapshot->core, template->name);
    host_describe_template(out, template, n, database != 0 ? &where : NULL);
}

/* One of the file, if it is one. False if that has no more. */
static bool show_next_template(struct snapshot *snapshot, struct text *out)
{
    const struct snapshot_moment *moment = snapshot->moment;
    if (snapshot->next_template >= moment->n_definitions) {
        return false;
    }
    const struct definition *definition = &moment->definitions[snapshot->next_template++];
    if (template_name_is_valid(definition->name) && is_meant(snapshot, definition->name)) {
        show_template(snapshot, out, definition);
    }
    return true;
}

static void begin_named(struct snapshot *snapshot, struct text *out, const char *name)
{
    const struct definition *definition = core_find_definition(snapshot->core, name);
    const struct resource *resource = core_find_resource(snapshot->core, name);
    if (resource) {
        begin(snapshot, out, resource);
    } else if (definition) {
        show_idle_instance(snapshot, out, name, definition);
    }
}

/* Looks at the next one; it is perhaps none that is asked for. False if there is no next one. */
static bool begin_next(struct snapshot *snapshot, struct text *out)
{
    if (snapshot->next_name < snapshot->n_names) {
        begin_named(snapshot, out, snapshot->names[snapshot->next_name++]);
        return true;
    }
    if (!snapshot->of_all) {
        return false;
    }
    const struct resource *resource = core_cursor_next(snapshot->core, &snapshot->cursor);
    if (resource) {
        if (is_meant(snapshot, resource->name)) {
            begin(snapshot, out, resource);
        }
        return true;
    }
    return begin_next_database(snapshot, out) || show_next_template(snapshot, out);
}

/* ---- within a resource ---- */

/* Holders stand in the order of their tokens. False when `out` has enough. */
static bool show_holders(struct snapshot *snapshot, const struct resource *resource,
    struct text *out, size_t enough)
{
    const struct claim *claim = resource_holder_from(resource, snapshot->token, snapshot->holder);
    for (; claim; claim = claim_next_holder(claim)) {
        if (snapshot->lease != 0 && snapshot->n_holders++ == MAX_HOLDERS_SHOWN) {
            break;
        }
        if (out->length >= enough) {
            return false;
        }
        host_describe_holder(out, claim, snapshot->moment->viewer, snapshot->moment->now);
        snapshot->token = claim->token;
        snapshot->holder = claim->lease->id + 1;
    }
    return true;
}

static struct order_node *next_in(const struct order *order, uint32_t rank)
{
    return rank < order_size(order) ? order_at(order, rank) : NULL;
}

/* All sets together, in the one order: a waiter aside keeps its place. */
static bool show_waiters(struct snapshot *snapshot, const struct resource *resource,
    struct text *out, size_t enough)
{
    const struct order *sets[N_STANDINGS] = {&resource->queue, &resource->kept, &resource->aside};
    struct order_node *nodes[N_STANDINGS];
    uint32_t position = 1;
    for (size_t i = 0; i < N_STANDINGS; i++) {
        uint32_t n = order_count_below(sets[i], snapshot->major, snapshot->minor + 1);
        nodes[i] = next_in(sets[i], n);
        position += n;
    }
    for (;; position++) {
        struct order_node **firstp = NULL;
        for (size_t i = 0; i < N_STANDINGS; i++) {
            bool is_first = nodes[i] && (!firstp || order_node_is_before(nodes[i], *firstp));
            firstp = is_first ? &nodes[i] : firstp;
        }
        if (!firstp) {
            return true;
        }
        if (out->length >= enough) {
            return false;
        }
        host_describe_waiter(out, container_of(*firstp, struct place, node)->claim, position,
            snapshot->moment->viewer, snapshot->moment->now);
        snapshot->major = (*firstp)->major;
        snapshot->minor = (*firstp)->minor;
        *firstp = order_next(*firstp);
    }
}

static bool show_all_waiters(struct snapshot *snapshot, const struct resource *resource,
    struct text *out, size_t enough)
{
    if (snapshot->lease != 0) {
        show_lease_itself(snapshot, out, resource->name);
        return true;
    }
    return resource->definition->database == 0
        ? show_waiters(snapshot, resource, out, enough)
        : show_own_waiters(snapshot, resource, out, enough);
}

static void go_on(struct snapshot *snapshot, struct text *out, size_t enough)
{
    const struct resource *resource = core_find_resource(snapshot->core, snapshot->name);
    if (resource && snapshot->part == PART_HOLDERS) {
        if (!show_holders(snapshot, resource, out, enough)) {
            return;
        }
        snapshot->part = PART_WAITERS;
    }
    if (!resource || show_all_waiters(snapshot, resource, out, enough)) {
        snapshot->name[0] = '\0';
    }
}

static bool make_more(struct snapshot *snapshot, struct text *out, size_t enough)
{
    for (unsigned n_left_out = 0; out->length < enough && n_left_out < MAX_LOOKED_AT;) {
        size_t length = out->length;
        if (snapshot->fleet_resource) {
            show_fleet_leases(snapshot, out, enough);
        } else if (snapshot->name[0] != '\0') {
            go_on(snapshot, out, enough);
        } else if (!begin_next(snapshot, out)) {
            text_add(out, "end\n");
            text_add_bytes(out, snapshot->held_back.bytes, snapshot->held_back.length);
            return false;
        }
        n_left_out += out->length == length;
    }
    return true;
}

bool snapshot_continue(struct snapshot *snapshot, const struct snapshot_moment *moment,
    struct text *out, size_t enough)
{
    snapshot->moment = moment;
    bool is_unfinished = make_more(snapshot, out, enough);
    snapshot->moment = NULL;
    return is_unfinished;
}
