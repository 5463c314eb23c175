#include "status/lease_row.h"

#include "base/memory.h"
#include "core/units.h"
#include "fleet/session.h"
#include "status/answer_lines.h"
#include "status/unit_list.h"

#include <string.h>

enum { HOST_BYTES = 64 }; /* before encoding */

/* base/attributes.def makes both. */
_Static_assert((size_t)N_SHOWN == (size_t)N_ATTRIBUTES, "what is shown is an attribute");
#define ATTRIBUTE(word, type, bound, initial, title)                                               \
    _Static_assert((title) == NULL || (size_t)(bound) <= REASON_BYTES, #word " would be cut here");
#include "base/attributes.def"
#undef ATTRIBUTE

static const char blocked_by_quota[] = "quota", blocked_by_identity[] = "identity",
                  blocked_otherwise[] = "other";

/* ---- from the core ---- */

const struct claim *lease_claim_on(const struct lease *lease, const char *name)
{
    for (size_t i = 0; lease && i < lease_n_all(lease); i++) {
        if (strcmp(lease->claims[i].resource->name, name) == 0) {
            return &lease->claims[i];
        }
    }
    return NULL;
}

void lease_row_identify(
    struct lease_row *row, const struct lease *lease, const struct scene *scene)
{
    row->own = lease;
    row->max_hold = lease_max_hold(lease);
    bool is_held = lease->state == LEASE_HELD;
    row->line = (struct status_lease){
        .id = row->id,
        .is_held = is_held,
        .since = instant_of(is_held ? lease->granted_at : lease->asked_at),
        .pid = (uint64_t)scene->viewer->pid_of(lease),
        .uid = lease->uid,
        .user = viewer_user_of(scene->viewer, lease->uid),
        .away = lease_is_detached(lease),
        .hidden = !viewer_sees(scene->viewer, lease),
        .holder = lease->attributes.holder,
    };
    lease_id_format(row->id, lease->id);
    /* No loop over the few that are shown: a status of many leases would cost a tenth more. */
#define ATTRIBUTE(word, type, bound, initial, title)                                               \
    if ((title) != NULL) {                                                                         \
        row->line.shown[SHOWN_##word] =                                                            \
            lease_attributes_text(&lease->attributes, &attribute_rows[ATTRIBUTE_##word]);          \
    }
#include "base/attributes.def"
#undef ATTRIBUTE
}

/* What only a held lease's own host knows. */
static void fill_life(
    struct status_lease *line, const struct lease *lease, const struct scene *scene)
{
    nanoseconds until = lease_own_until(lease);
    line->bound = lease_bound_word(lease);
    if (until != NEVER) {
        line->until = instant_of(until);
    }
    if (lease->stopping != OUTCOME_OK) {
        line->stopping = lease->is_ending
            ? "shares"
            : code_table[outcome_code((enum outcome)lease->stopping)].word;
    }
    line->unread = viewer_sees_not_started(scene->viewer, lease, scene->now);
}

/* Why a waiter is passed over at present, if it is, and because of which resource. */
static void fill_blocker(
    struct status_lease *line, const struct claim *claim, const struct core *core)
{
    const struct resource *resource;
    enum wait_kind kind = lease_waits_for(core, claim->lease, &resource);
    static const char *const words[] = {
        [WAIT_TURN] = blocked_otherwise,
        [WAIT_QUOTA] = blocked_by_quota,
        [WAIT_BLOCKED] = blocked_otherwise,
        [WAIT_AWAY] = "away",
        [WAIT_IDENTITY] = blocked_by_identity,
    };
    if (kind != WAIT_TURN || (resource && resource != claim->resource)) {
        line->blocked = words[kind];
        line->blocker = resource ? resource->name : NULL;
    }
}

static void fill_waiter(
    struct lease_row *row, const struct claim *claim, const struct core *core)
{
    const struct lease *lease = claim->lease;
    struct status_lease *line = &row->line;
    enum standing standing = claim_place(claim)->standing;
    line->position = lease->position;
    bool is_own = lease->ticket == 0 && lease->database == 0;
    line->ticket.number = is_own ? lease->id : lease->ticket;
    line->ticket.is_given = line->ticket.number != 0;
    line->wants = claim->count;
    line->priority = lease->attributes.priority;
    line->kept = standing == STANDS_KEEPING ? claim->count : 0;
    row->is_aside = standing == STANDS_ASIDE;
    fill_blocker(line, claim, core);
}

void lease_row_fill(struct lease_row *row, const struct claim *claim, const struct scene *scene)
{
    lease_row_identify(row, claim->lease, scene);
    row->units = claim->count;
    row->line.all = claim->is_all;
    row->line.resource = claim->resource->name;
    if (!row->line.is_held) {
        fill_waiter(row, claim, scene->core);
        return;
    }
    row->unit_words.length = 0;
    text_add(&row->unit_words, "");
    units_write_claim(&row->unit_words, claim, UNITS_OF_HOLDER_BYTES);
    row->line.units.joined = row->unit_words.bytes;
    row->line.token = claim->token;
    if (claim_is_share(claim)) {
        lease_id_format(row->sharer, claim->sharer);
        row->line.shares = row->sharer;
    }
    fill_life(&row->line, claim->lease, scene);
}

/* ---- from a listing ---- */

const struct lease *lease_row_own(const struct fleet_row *fields, const struct scene *scene)
{
    const char *key = fleet_field(fields, ROW_KEY);
    uint64_t id;
    bool is_own =
        fleet_key_parse(key, &id) && strncmp(key, scene->session, SESSION_ID_SIZE - 1) == 0;
    return is_own ? core_find_lease(scene->core, id) : NULL;
}

static bool is_seen(const struct fleet_row *fields, uint32_t uid, const struct scene *scene)
{
    const char *name = fleet_field(fields, ROW_NAME), *info = fleet_field(fields, ROW_INFO);
    const struct viewer *viewer = scene->viewer;
    char hiding[NAME_BYTES + 1];
    uint64_t n_unknown = fleet_info_number(info, "hide", INT32_MAX);
    bool sees = viewer_sees_remote(viewer, uid, false, definition_of_name(scene->core, name));
    for (size_t i = 0; sees && n_unknown > 0 && fleet_info_name(info, "hides", i, hiding); i++) {
        sees = viewer_sees_remote(viewer, uid, true, definition_of_name(scene->core, hiding));
        n_unknown--;
    }
    return sees && (n_unknown == 0 || viewer_sees_remote(viewer, uid, true, NULL));
}

#define MAX_SPAN (NEVER / 4 / NANOSECONDS_PER_MILLISECOND) /* milliseconds */

/* The database knows since when a lease is held. Since when it waits, only its host's clock says,
 * and hosts' clocks differ. */
static nanoseconds since_of(
    const struct fleet_row *fields, enum fleet_lease kind, const struct scene *scene)
{
    if (kind == FLEET_HOLDER) {
        nanoseconds held_for = (nanoseconds)fleet_number_of(fields, HOLDER_HELD_FOR, MAX_SPAN);
        return scene->listed_at - held_for * NANOSECONDS_PER_MILLISECOND;
    }
    nanoseconds at = (nanoseconds)fleet_info_number(
        fleet_field(fields, ROW_INFO), "at", INT32_MAX * UINT64_C(2000));
    nanoseconds age = scene->wall_now - at * NANOSECONDS_PER_MILLISECOND;
    return scene->now - (at > 0 ? later(age, 0) : 0);
}

/* As its own host has it. */
static nanoseconds max_hold_of(const char *info)
{
    uint64_t span = fleet_info_number(info, "hold", MAX_SPAN);
    return span > 0 ? (nanoseconds)span * NANOSECONDS_PER_MILLISECOND : NEVER;
}

static void identify_remote(struct lease_row *row, const struct fleet_row *fields,
    enum fleet_lease kind, const struct scene *scene)
{
    const char *info = fleet_field(fields, ROW_INFO), *holder = fleet_field(fields, ROW_HOLDER);
    uint32_t uid = (uint32_t)fleet_number_of(fields, ROW_UID, UINT32_MAX);
    row->own = NULL;
    row->max_hold = max_hold_of(info);
    row->line = (struct status_lease){
        .id = fleet_field(fields, ROW_KEY),
        .since = instant_of(since_of(fields, kind, scene)),
        .pid = fleet_info_number(info, "pid", INT32_MAX),
        .uid = uid,
        .user = viewer_user_of(scene->viewer, uid),
        .hidden = !is_seen(fields, uid, scene),
        .holder = fleet_text(row->texts[SHOWN_holder], holder, strlen(holder), HOLDER_BYTES),
    };
    for (size_t i = 0; i < N_SHOWN; i++) {
        size_t n;
        const struct attribute_row *attribute = &attribute_rows[i];
        const char *value = attribute->is_shown ? fleet_info_find(info, attribute->word, &n) : NULL;
        row->line.shown[i] = value ? fleet_text(row->texts[i], value, n, attribute->bound) : NULL;
    }
}

static void fill_listed_holder(struct lease_row *row, const struct fleet_row *fields, bool is_pool,
    const struct scene *scene)
{
    struct unit_list units = {.max = UNITS_OF_HOLDER_BYTES, .text = row->unit_words};
    units.text.length = 0;
    text_add(&units.text, ""); /* shown even if there is none */
    unit_list_add_all(&units, fleet_field(fields, HOLDER_UNITS), is_pool);
    row->unit_words = units.text;
    row->line.units.joined = row->unit_words.bytes;
    row->line.token = fleet_number_of(fields, HOLDER_TOKEN, INT64_MAX);
    if (row->own && row->own->state == LEASE_HELD) {
        fill_life(&row->line, row->own, scene);
    } else if (!row->own && row->max_hold != NEVER) {
        row->line.until =
            (struct instant){true, row->line.since.at + (int64_t)milliseconds(row->max_hold)};
    }
}

static bool wants_all(const struct fleet_row *fields, const char *resource)
{
    const char *info = fleet_field(fields, ROW_INFO);
    char name[NAME_BYTES + 1];
    bool is_all = false;
    for (size_t i = 0; !is_all && fleet_info_name(info, "all", i, name); i++) {
        is_all = strcmp(name, resource) == 0;
    }
    return is_all;
}

/* What it lacks, unless it is its turn there; or that something is kept for it. */
static void fill_listed_waiter(struct lease_row *row, const struct fleet_row *fields)
{
    struct status_lease *line = &row->line;
    const char *blocked = fleet_field(fields, WAITER_BLOCKED);
    const char *blocker = fleet_field(fields, WAITER_BLOCKER);
    line->position = fleet_number_of(fields, WAITER_POSITION, FLEET_NUMBER_MAX);
    line->ticket.number = fleet_number_of(fields, ROW_TICKET, INT64_MAX);
    line->ticket.is_given = line->ticket.number != 0;
    line->wants = row->units;
    signed_number_parse(fleet_field(fields, ROW_PRIORITY), MAX_PRIORITY, &line->priority);
    line->blocked = strcmp(blocked, blocked_by_quota) == 0 ? blocked_by_quota
        : strcmp(blocked, blocked_by_identity) == 0        ? blocked_by_identity
        : strcmp(blocked, blocked_otherwise) == 0          ? blocked_otherwise
                                                           : NULL;
    line->blocker = line->blocked && name_is_valid(blocker) ? blocker : NULL;
    line->kept = fleet_number_of(fields, WAITER_KEPT, FLEET_NUMBER_MAX);
    row->is_aside = blocked[0] != '\0' && line->kept == 0;
}

bool lease_row_fill_listed(struct lease_row *row, const struct fleet_row *fields,
    const struct fleet_resource *resource, const struct scene *scene)
{
    enum fleet_lease kind = fleet_row_kind(fields, resource);
    const struct lease *own = lease_row_own(fields, scene);
    if (kind == FLEET_NEITHER) {
        return false;
    }
    if (own) {
        lease_row_identify(row, own, scene);
    } else {
        identify_remote(row, fields, kind, scene);
    }
    row->line.is_held = kind == FLEET_HOLDER;
    row->line.resource = resource->name;
    row->line.host = fleet_bounded(
        row->host, fleet_field(fields, row->line.is_held ? HOLDER_HOST : WAITER_HOST), HOST_BYTES);
    row->units = fleet_number_of(fields, ROW_COUNT, FLEET_NUMBER_MAX);
    row->line.all = wants_all(fields, resource->name);
    if (row->line.is_held) {
        fill_listed_holder(
            row, fields, fleet_is_pool(&scene->rows->rows[resource->row]), scene);
    } else {
        fill_listed_waiter(row, fields);
    }
    return true;
}

/* ---- its line ---- */

/* Who follows is not told whose quota is used up: that may change for a whole queue at once. */
void lease_row_write(struct text *out, struct lease_row *row, const struct scene *scene)
{
    struct status_lease *line = &row->line;
    unsigned trusted = line->hidden ? 0 : 1 << FOR_TRUSTED;
    unsigned here = 1U << (scene->follows ? FOR_FOLLOWERS : FOR_ASKERS);
    here |= (unsigned)line->all << FOR_THOSE_OF_ALL;
    line->blocker = scene->follows && line->blocked == blocked_by_quota ? NULL : line->blocker;
    status_line_begin(out, line->is_held ? LINE_HOLDER : LINE_WAITER, line->id,
        1 << FOR_ANYBODY | trusted | here, line);
#define ATTRIBUTE(word, type, bound, initial, title)                                               \
    if ((title) != NULL && !line->hidden) {                                                        \
        text_add_key(out, #word, line->shown[SHOWN_##word]);                                       \
    }
#include "base/attributes.def"
#undef ATTRIBUTE
    text_add(out, "\n");
}

void lease_walk_begin(struct lease_walk *walk, const char *name, uint64_t only)
{
    *walk = (struct lease_walk){.only = only};
    strcpy(walk->name, name);
}

/* ---- one after the other: in the core ---- */

static struct sorted_set_node *node_at(const struct sorted_set *order, uint32_t rank)
{
    return rank < sorted_set_size(order) ? sorted_set_at(order, rank) : NULL;
}

static void find_waiters(struct lease_walk *walk)
{
    const struct resource *resource = walk->here;
    const struct sorted_set *sets[N_STANDINGS] = {
        &resource->queue, &resource->kept, &resource->aside};
    walk->position = 1;
    for (size_t i = 0; i < N_STANDINGS; i++) {
        uint32_t n = sorted_set_count_below(sets[i], walk->major, walk->minor + 1);
        walk->nodes[i] = node_at(sets[i], n);
        walk->position += n;
    }
}

static bool next_holder(
    struct lease_walk *walk, const struct scene *scene, struct lease_row *row)
{
    const struct claim *claim = walk->claim;
    while (claim && walk->listed && !scene->follows && !claim_is_share(claim)) {
        claim = claim_next_holder(claim); /* it is listed */
    }
    if (!claim || (walk->only != 0 && walk->n_holders++ == MAX_HOLDERS_SHOWN)) {
        return false;
    }
    lease_row_fill(row, claim, scene);
    walk->token = claim->token;
    walk->holder = claim->lease->id + 1;
    walk->claim = claim_next_holder(claim);
    return true;
}

/* All sets together, in the one order: a waiter aside keeps its place. In fleet scope only the
 * database knows the place. */
static bool next_waiter(
    struct lease_walk *walk, const struct scene *scene, struct lease_row *row)
{
    struct sorted_set_node **firstp = NULL;
    for (size_t i = 0; i < N_STANDINGS; i++) {
        bool is_first =
            walk->nodes[i] && (!firstp || sorted_set_node_is_before(walk->nodes[i], *firstp));
        firstp = is_first ? &walk->nodes[i] : firstp;
    }
    if (!firstp || walk->only != 0 || (walk->listed && !scene->follows)) {
        return false;
    }
    lease_row_fill(row, container_of(*firstp, struct place, node)->claim, scene);
    row->line.position = scene->database ? row->line.position : walk->position;
    walk->position++;
    walk->major = (*firstp)->major;
    walk->minor = (*firstp)->minor;
    *firstp = sorted_set_next(*firstp);
    return true;
}

/* ---- one after the other: in a listing ---- */

/* With .only: few of the holders, and no other waiter. */
static bool is_for_waiter(
    struct lease_walk *walk, const struct fleet_row *fields, const struct scene *scene)
{
    enum fleet_lease kind = fleet_row_kind(fields, walk->listed);
    if (kind == FLEET_HOLDER) {
        return walk->n_holders++ < MAX_HOLDERS_SHOWN;
    }
    const struct lease *own = kind == FLEET_WAITER ? lease_row_own(fields, scene) : NULL;
    bool is_itself = own && own->id == walk->only;
    walk->has_seen |= is_itself;
    return is_itself;
}

static bool next_listed(
    struct lease_walk *walk, const struct scene *scene, struct lease_row *row)
{
    while (walk->listed && walk->next < walk->listed->end) {
        const struct fleet_row *fields = &scene->rows->rows[walk->next++];
        bool is_wanted = scene->follows ? !listing_is_own(scene->listing, fields)
            : walk->only != 0           ? is_for_waiter(walk, fields, scene)
                                        : true;
        if (is_wanted && lease_row_fill_listed(row, fields, walk->listed, scene)) {
            return true;
        }
    }
    return false;
}

/* The listing may be a little older than the lease's place in line. */
static bool next_own_waiter(
    struct lease_walk *walk, const struct scene *scene, struct lease_row *row)
{
    const struct lease *lease =
        walk->has_seen ? NULL : core_find_lease(scene->core, walk->only);
    const struct claim *claim = lease_claim_on(lease, walk->name);
    walk->has_seen = true;
    if (!claim || lease->state != LEASE_WAITING || claim_is_share(claim)) {
        return false;
    }
    lease_row_fill(row, claim, scene);
    row->line.position = claim_position(claim);
    return true;
}

/* ---- one after the other: all ---- */

void lease_walk_resume(struct lease_walk *walk, const struct scene *scene)
{
    uint64_t listing = scene->listing ? scene->listing->number : 0;
    walk->here = core_find_resource(scene->core, walk->name);
    walk->listed = scene->rows ? fleet_rows_find(scene->rows, walk->name) : NULL;
    bool is_all_listed = walk->listed && !scene->follows; /* but shares */
    if (walk->part < WALK_LISTED && (!walk->here || (is_all_listed && walk->here->n_shares == 0))) {
        walk->part = WALK_LISTED;
    }
    if (walk->part < WALK_LISTED) {
        walk->claim = resource_holder_from(walk->here, walk->token, walk->holder);
        find_waiters(walk);
    }
    if (walk->listed && (walk->next == 0 || walk->listing != listing)) {
        walk->next = walk->listed->row + 1;
        walk->listing = listing;
    }
}

void lease_walk_skip_holders(struct lease_walk *walk, const struct scene *scene)
{
    walk->major = walk->minor = 0;
    if (walk->listed) {
        walk->part = WALK_LISTED;
        walk->next = fleet_first_waiter(scene->rows, walk->listed);
    } else if (walk->here) {
        walk->part = WALK_WAITERS;
        find_waiters(walk);
    }
}

bool lease_walk_next(struct lease_walk *walk, const struct scene *scene, struct lease_row *row)
{
    static bool (*const parts[])(
        struct lease_walk *walk, const struct scene *scene, struct lease_row *row) = {
        [WALK_HOLDERS] = next_holder,
        [WALK_WAITERS] = next_waiter,
        [WALK_LISTED] = next_listed,
        [WALK_OWN_WAITER] = next_own_waiter,
    };
    while (walk->part != WALK_OVER) {
        if (parts[walk->part](walk, scene, row)) {
            return true;
        }
        walk->part++;
    }
    return false;
}

void lease_walk_write(
    struct lease_walk *walk, const struct scene *scene, struct text *out, size_t enough)
{
    struct lease_row row = {.unit_words = TEXT_INIT};
    lease_walk_resume(walk, scene);
    while (out->length < enough) {
        if (!lease_walk_next(walk, scene, &row)) {
            walk->name[0] = '\0';
            break;
        }
        lease_row_write(out, &row, scene);
    }
    text_deinit(&row.unit_words);
}
