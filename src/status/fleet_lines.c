#include "status/fleet_lines.h"

#include "base/words.h"
#include "fleet/session.h"
#include "status/host_lines.h"

#include <string.h>

enum { HOST_BYTES = 64 }; /* before encoding */

/* ---- words of a row ---- */

#define ATTRIBUTE(word, type, bound, initial, title)                                               \
    _Static_assert((title) == NULL || (size_t)(bound) <= REASON_BYTES, #word " would be cut here");
#include "base/attributes.def"
#undef ATTRIBUTE

/* Copies at most `max` bytes. NULL: the value is empty. */
static const char *bounded(char room[static REASON_BYTES + 1], const char *value, size_t max)
{
    size_t n = strnlen(value, max);
    if (n == 0 || n > REASON_BYTES) {
        return NULL;
    }
    memcpy(room, value, n);
    room[n] = '\0';
    return room;
}

/* The same for `n` bytes that the writer encoded. NULL: they are malformed, or encode nothing. */
static const char *decoded(
    char room[static REASON_BYTES + 1], const char *value, size_t n, size_t max)
{
    char copy[3 * REASON_BYTES + 1];
    return fleet_decode(copy, sizeof copy, value, n) ? bounded(room, copy, max) : NULL;
}

/* A number; 0 unless the field is one. */
static uint64_t number_of(const struct fleet_row *row, size_t i, uint64_t max)
{
    uint64_t number;
    fleet_number(row, i, max, &number);
    return number;
}

/* ---- a resource ---- */

static bool unit_is_valid(const char *unit, bool is_pool)
{
    uint64_t slot;
    return is_pool ? item_is_valid(unit) : number_parse(unit, FLEET_NUMBER_MAX, &slot);
}

/* A reserved unit, and why. */
struct pair {
    char unit[ITEM_BYTES + 1 + 3 * REASON_BYTES + 1];
    char *reason; /* in .unit, encoded; NULL if there is none */
};

/* Takes the next pair off a list "UNIT,REASON UNIT,REASON ..."; the result is the rest, or NULL. */
static const char *take_pair(const char *list, struct pair *pair)
{
    const char *rest = fleet_take_word(list, ' ', pair->unit, sizeof pair->unit);
    char *comma = rest ? strchr(pair->unit, ',') : NULL;
    pair->reason = comma && comma[1] != '\0' ? comma + 1 : NULL;
    if (comma) {
        *comma = '\0';
    }
    return rest;
}

void fleet_for_each_reserved(const struct fleet_row *row,
    void (*function)(void *context, const char *unit, const char *reason), void *context)
{
    struct pair pair;
    bool is_pool = fleet_is_pool(row);
    for (const char *rest = fleet_field(row, RESOURCE_RESERVED); (rest = take_pair(rest, &pair));) {
        bool has_reason = pair.reason && percent_decode(pair.reason) &&
            strlen(pair.reason) <= REASON_BYTES;
        if (unit_is_valid(pair.unit, is_pool)) {
            function(context, pair.unit, has_reason ? pair.reason : NULL);
        }
    }
}

static void add_reserved(void *context, const char *unit, const char *reason)
{
    struct resource_line *line = context;
    unit_list_add(&line->reserved, unit, UNITS_OF_RESOURCE_BYTES);
    if (reason) {
        reserve_list_add(&line->reserve_reasons, unit, reason);
    }
}

static void fill_figures(struct status_resource *line, const struct fleet_row *row)
{
    line->limit = number_of(row, RESOURCE_LIMIT, FLEET_NUMBER_MAX);
    line->in_use = number_of(row, RESOURCE_IN_USE, FLEET_NUMBER_MAX);
    line->free = number_of(row, RESOURCE_FREE, FLEET_NUMBER_MAX);
    line->waiting = number_of(row, RESOURCE_WAITING, FLEET_NUMBER_MAX);
    line->cooling = number_of(row, RESOURCE_COOLING, FLEET_NUMBER_MAX);
    line->kept_for.is_given =
        fleet_number(row, RESOURCE_KEEPER, FLEET_NUMBER_MAX, &line->kept_for.number);
    line->kept = line->kept_for.is_given ? number_of(row, RESOURCE_KEPT, FLEET_NUMBER_MAX) : 0;
    line->kept_for.is_given = line->kept > 0;
}

/* What operators have changed. */
static void fill_changes(struct status_resource *line, char reason_room[static REASON_BYTES + 1],
    const struct fleet_row *row)
{
    const char *reason = fleet_field(row, RESOURCE_REASON);
    const char *changed = fleet_field(row, RESOURCE_CHANGED);
    bool is_changed = strcmp(changed, "limit") == 0 || strcmp(changed, "items") == 0;
    line->changed.joined = is_changed ? changed : NULL;
    resource_set_pause(line, strcmp(fleet_field(row, RESOURCE_PAUSED), "1") == 0,
        decoded(reason_room, reason, strlen(reason), REASON_BYTES),
        by_whom_parse(fleet_field(row, RESOURCE_PAUSED_BY)));
}

static void fill_origin(
    struct status_resource *line, const struct fleet_row *row, const struct fleet_scene *scene)
{
    const char *definition = fleet_field(row, RESOURCE_DEFINITION);
    const struct resource *here = core_find_resource(scene->core, line->name);
    line->removed = here && !here->is_defined;
    line->template = template_name_is_valid(definition) ? definition : NULL;
}

static void fill_items(struct resource_line *line, const char *items)
{
    text_add(&line->items.text, ""); /* shown even if there is none */
    unit_list_add_all(&line->items, items, true, UNITS_OF_RESOURCE_BYTES);
}

struct status_resource fleet_resource_line(char reason_room[static REASON_BYTES + 1],
    const struct fleet_rows *rows, const struct fleet_resource *resource,
    const struct fleet_scene *scene)
{
    const struct fleet_row *row = &rows->rows[resource->row];
    struct status_resource line = {.name = resource->name};
    resource_set_kind(&line, fleet_field(row, RESOURCE_KIND), scene->database, scene->state);
    fill_figures(&line, row);
    fill_changes(&line, reason_room, row);
    fill_origin(&line, row, scene);
    return line;
}

void fleet_fill_units(struct resource_line *line, const struct fleet_row *row)
{
    if (fleet_is_pool(row)) {
        fill_items(line, fleet_field(row, RESOURCE_ITEMS));
    }
    fleet_for_each_reserved(row, add_reserved, line);
}

void fleet_describe_resource(struct text *out, const struct fleet_rows *rows,
    const struct fleet_resource *resource, const struct fleet_scene *scene)
{
    char reason_room[REASON_BYTES + 1];
    struct resource_line line = {
        .shown = fleet_resource_line(reason_room, rows, resource, scene)};
    fleet_fill_units(&line, &rows->rows[resource->row]);
    resource_line_write(out, &line);
    resource_line_deinit(&line);
}

void fleet_describe_template(struct text *out, const struct fleet_rows *rows,
    const struct template *template, const struct fleet_scene *scene)
{
    const struct definition *definition = template->definition;
    const struct fleet_resource *changed = fleet_rows_find(rows, definition->name);
    const struct fleet_row *row = changed ? &rows->rows[changed->row] : NULL;
    char reason_room[REASON_BYTES + 1];
    struct status_resource line = {
        .name = definition->name,
        .limit = row ? number_of(row, RESOURCE_LIMIT, FLEET_NUMBER_MAX) : template_limit(template),
        .instances = fleet_rows_n_instances(rows, definition->name),
    };
    resource_set_kind(&line, host_kind_word(definition->kind), scene->database, scene->state);
    if (row) {
        fill_changes(&line, reason_room, row);
    }
    record_line_write(out, LINE_TEMPLATE, line.name, &line);
}

/* ---- leases ---- */

const struct lease *fleet_own_lease(const struct fleet_row *row, const struct fleet_scene *scene)
{
    const char *key = fleet_field(row, ROW_KEY);
    uint64_t id;
    bool is_own =
        fleet_key_parse(key, &id) && strncmp(key, scene->session, SESSION_ID_SIZE - 1) == 0;
    return is_own ? core_find_lease(scene->core, id) : NULL;
}

/* The value of a word in INFO. */
static const char *info_find(const char *info, const char *key, size_t *lengthp)
{
    size_t n = strlen(key);
    for (const char *word = info; *word; word += strspn(word, " ")) {
        size_t length = strcspn(word, " ");
        if (length > n && strncmp(word, key, n) == 0 && word[n] == '=') {
            *lengthp = length - n - 1;
            return word + n + 1;
        }
        word += length;
    }
    return NULL;
}

static uint64_t info_number(const char *info, const char *key, uint64_t max)
{
    char digits[24];
    size_t length;
    uint64_t number = 0;
    const char *value = info_find(info, key, &length);
    if (value && length < sizeof digits) {
        memcpy(digits, value, length);
        digits[length] = '\0';
        number_parse(digits, max, &number);
    }
    return number;
}

static const struct definition *definition_of(const struct fleet_row *row, struct core *core)
{
    const char *name = fleet_field(row, ROW_NAME);
    const struct resource *here = core_find_resource(core, name);
    return here ? here->definition : core_find_definition(core, name);
}

static bool is_seen(const struct fleet_row *row, const char *info, const struct lease *own,
    const struct fleet_scene *scene)
{
    uint64_t uid;
    if (own) {
        return viewer_sees(scene->viewer, own);
    }
    return fleet_number(row, ROW_UID, UINT32_MAX, &uid) &&
        viewer_sees_remote(scene->viewer, (uint32_t)uid, info_number(info, "hide", INT32_MAX),
            definition_of(row, scene->core));
}

static void fill_texts(
    struct status_lease *line, struct fleet_lease_room *room, const struct fleet_row *row)
{
    const char *holder = fleet_field(row, ROW_HOLDER), *info = fleet_field(row, ROW_INFO);
    struct terms terms;
    terms_init(&terms);
    terms.holder = decoded(room->rooms[ATTRIBUTE_holder], holder, strlen(holder), HOLDER_BYTES);
    for (enum attribute i = 0; i < N_ATTRIBUTES; i++) {
        const struct attribute_row *attribute = &attribute_rows[i];
        size_t n;
        const char *value = attribute->is_shown ? info_find(info, attribute->word, &n) : NULL;
        if (value) {
            terms_parse(&terms, i, decoded(room->rooms[i], value, n, attribute->bound));
        }
    }
    lease_set_texts(line, &terms);
}

/* Hosts' clocks differ. */
static nanoseconds since_by_wall_clocks(const char *info, const struct fleet_scene *scene)
{
    uint64_t ms = info_number(info, "at", INT32_MAX * UINT64_C(2000));
    nanoseconds age = scene->wall_now - (nanoseconds)ms * NANOSECONDS_PER_MILLISECOND;
    return scene->now - (ms > 0 ? later(age, 0) : 0);
}

/* Another host's lease. The database knows since when it is held. */
static nanoseconds since_of_remote(const struct fleet_row *row, const char *info,
    enum lease_field host, const struct fleet_scene *scene)
{
    uint64_t max = NEVER / 4 / NANOSECONDS_PER_MILLISECOND, held_for;
    if (host == HOLDER_HOST) {
        fleet_number(row, HOLDER_HELD_FOR, max, &held_for);
        return scene->listed_at - (nanoseconds)held_for * NANOSECONDS_PER_MILLISECOND;
    }
    return since_by_wall_clocks(info, scene);
}

struct status_lease fleet_lease_line(struct fleet_lease_room *room, const struct fleet_row *row,
    enum lease_field host, const struct fleet_scene *scene)
{
    const char *key = fleet_field(row, ROW_KEY), *info = fleet_field(row, ROW_INFO);
    const struct lease *own = fleet_own_lease(row, scene);
    struct status_lease line = {.hidden = !is_seen(row, info, own, scene)};
    room->own = own;
    fleet_number(row, ROW_UID, UINT32_MAX, &line.uid);
    line.user = viewer_user_of(scene->viewer, (uint32_t)line.uid);
    line.host = bounded(room->host, fleet_field(row, host), HOST_BYTES);
    if (own) {
        line.id = key + SESSION_ID_SIZE;
        line.since = instant_of(own->state == LEASE_HELD ? own->granted_at : own->asked_at);
        line.pid = (uint64_t)scene->viewer->pid_of(own);
    } else {
        line.id = key;
        line.since = instant_of(since_of_remote(row, info, host, scene));
        line.pid = info_number(info, "pid", INT32_MAX);
    }
    line.resource = fleet_field(row, ROW_NAME);
    fill_texts(&line, room, row);
    return line;
}

static void describe_holder(
    struct text *out, const struct fleet_row *row, bool is_pool, const struct fleet_scene *scene)
{
    struct fleet_lease_room room;
    struct unit_list units = {0};
    struct status_lease line = fleet_lease_line(&room, row, HOLDER_HOST, scene);
    text_add(&units.text, ""); /* shown even if there is none */
    unit_list_add_all(&units, fleet_field(row, HOLDER_UNITS), is_pool, UNITS_OF_HOLDER_BYTES);
    line.units.joined = units.text.bytes;
    line.token = number_of(row, HOLDER_TOKEN, INT64_MAX);
    if (room.own && room.own->state == LEASE_HELD) {
        host_fill_life(&line, room.own, scene->viewer, scene->now);
    }
    lease_line_write(out, LINE_HOLDER, &line, scene->follows);
    text_deinit(&units.text);
}

/* What the waiter lacks, unless it is its turn there; or that something is kept for it. */
static void fill_blocker(struct status_lease *line, const struct fleet_row *row)
{
    const char *blocked = fleet_field(row, WAITER_BLOCKED);
    const char *blocker = fleet_field(row, WAITER_BLOCKER);
    bool is_quota = strcmp(blocked, "quota") == 0;
    line->blocked = is_quota || strcmp(blocked, "other") == 0 ? blocked : NULL;
    line->blocker = line->blocked && name_is_valid(blocker) ? blocker : NULL;
    line->kept = number_of(row, WAITER_KEPT, FLEET_NUMBER_MAX);
}

struct status_lease fleet_waiter_line(struct fleet_lease_room *room, const struct fleet_row *row,
    const struct fleet_scene *scene)
{
    struct status_lease line = fleet_lease_line(room, row, WAITER_HOST, scene);
    signed_number_parse(fleet_field(row, ROW_PRIORITY), MAX_PRIORITY, &line.priority);
    line.position = number_of(row, WAITER_POSITION, FLEET_NUMBER_MAX);
    line.ticket.number = number_of(row, ROW_TICKET, INT64_MAX);
    line.ticket.is_given = line.ticket.number != 0;
    line.wants = number_of(row, ROW_COUNT, FLEET_NUMBER_MAX);
    line.away = room->own && lease_is_detached(room->own);
    fill_blocker(&line, row);
    return line;
}

/* The resource as host_describe_waiter() does. */
static void describe_waiter(
    struct text *out, const struct fleet_row *row, const struct fleet_scene *scene)
{
    struct fleet_lease_room room;
    struct status_lease line = fleet_waiter_line(&room, row, scene);
    bool is_quota = line.blocked && strcmp(line.blocked, "quota") == 0;
    line.blocker = scene->follows && is_quota ? NULL : line.blocker;
    lease_line_write(out, LINE_WAITER, &line, scene->follows);
}

enum fleet_lease fleet_describe_lease(struct text *out, const struct fleet_rows *rows,
    const struct fleet_resource *resource, size_t row, const struct fleet_scene *scene)
{
    bool is_pool = fleet_is_pool(&rows->rows[resource->row]);
    enum fleet_lease kind = fleet_row_kind(&rows->rows[row], resource);
    if (kind == FLEET_HOLDER) {
        describe_holder(out, &rows->rows[row], is_pool, scene);
    } else if (kind == FLEET_WAITER) {
        describe_waiter(out, &rows->rows[row], scene);
    }
    return kind;
}
