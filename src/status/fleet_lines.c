#include "status/fleet_lines.h"

#include "base/words.h"
#include "fleet/session.h"
#include "status/describe.h"

#include <stdio.h>
#include <string.h>

/* Sizes of a line's parts, in bytes. */
enum {
    UNITS_BYTES = 1200,
    LIST_BYTES = 600,
    RESERVATIONS_BYTES = 1000,
    HOST_BYTES = 64, /* before encoding */
};

/* ---- words of a line ---- */

#define ATTRIBUTE(word, type, bound, initial, title)                                               \
    _Static_assert((title) == NULL || (size_t)(bound) <= REASON_BYTES, #word " would be cut here");
#include "base/attributes.def"
#undef ATTRIBUTE

/* Appends at most `max` bytes of the value. */
static void add_bounded(struct text *out, const char *key, const char *value, size_t max)
{
    char copy[REASON_BYTES + 1];
    size_t n = strnlen(value, max);
    if (n > 0 && n < sizeof copy) {
        memcpy(copy, value, n);
        copy[n] = '\0';
        text_add_key(out, key, copy);
    }
}

static void add_decoded(struct text *out, const char *key, const char *value, size_t n, size_t max)
{
    char copy[3 * REASON_BYTES + 1];
    if (fleet_decode(copy, sizeof copy, value, n)) {
        add_bounded(out, key, copy, max);
    }
}

/* Items, or slot numbers with runs as first-last. */
struct unit_list {
    struct text *out;
    size_t start, max;
    bool is_pool;
    bool is_full; /* no more fits */
    uint64_t first, last; /* of the run; first > last: no run */
};

static void add_separated(struct unit_list *list, const char *first, const char *last)
{
    bool follows = list->out->length > list->start;
    if (list->is_full) {
        return;
    }
    text_add(list->out, follows ? "," : "");
    list->is_full = list->out->length - list->start + ITEM_BYTES + sizeof ",..." > list->max;
    text_add(list->out, list->is_full ? "..." : first);
    if (!list->is_full && last) {
        text_add(list->out, "-");
        text_add(list->out, last);
    }
}

static void end_run(struct unit_list *list)
{
    char first[24], last[24];
    if (list->first <= list->last) {
        snprintf(first, sizeof first, "%llu", (unsigned long long)list->first);
        snprintf(last, sizeof last, "%llu", (unsigned long long)list->last);
        add_separated(list, first, list->first < list->last ? last : NULL);
    }
    list->first = 1;
    list->last = 0;
}

static void add_slots(struct unit_list *list, const char *word)
{
    uint64_t first, last;
    if (!range_parse(word, strlen(word), FLEET_NUMBER_MAX, &first, &last)) {
        return;
    }
    bool goes_on = list->first <= list->last && first == list->last + 1;
    if (!goes_on) {
        end_run(list);
        list->first = first;
    }
    list->last = last;
}

static void add_units(struct text *out, const char *units, bool is_pool, size_t max)
{
    char word[ITEM_BYTES + 1];
    struct unit_list list = {
        .out = out, .start = out->length, .max = max, .is_pool = is_pool, .first = 1};
    while (!list.is_full && (units = fleet_take_word(units, ',', word, sizeof word))) {
        if (!is_pool) {
            add_slots(&list, word);
        } else if (item_is_valid(word)) {
            add_separated(&list, word, NULL);
        }
    }
    end_run(&list);
}

/* ---- a resource ---- */

static bool unit_is_valid(const char *unit, bool is_pool)
{
    uint64_t slot;
    return is_pool ? item_is_valid(unit) : number_parse(unit, FLEET_NUMBER_MAX, &slot);
}

/* RESERVED is "UNIT,REASON UNIT,REASON ...". Appends the units as one key, and a key for each
 * reason. */
static void add_reserved(struct text *out, const char *reserved, bool is_pool)
{
    char pair[ITEM_BYTES + 1 + 3 * REASON_BYTES + 1];
    struct unit_list list = {.out = out, .max = LIST_BYTES, .is_pool = is_pool};
    for (const char *rest = reserved; (rest = fleet_take_word(rest, ' ', pair, sizeof pair));) {
        pair[strcspn(pair, ",")] = '\0';
        if (unit_is_valid(pair, is_pool)) {
            if (list.start == 0) {
                text_add_key(out, "reserved", "");
                list.start = out->length;
            }
            add_separated(&list, pair, NULL);
        }
    }
    size_t start = out->length;
    for (const char *rest = reserved; (rest = fleet_take_word(rest, ' ', pair, sizeof pair));) {
        char *reason = strchr(pair, ',');
        if (!reason || reason[1] == '\0') {
            continue;
        }
        *reason++ = '\0';
        if (!unit_is_valid(pair, is_pool) || !percent_decode(reason) ||
            strlen(reason) > REASON_BYTES) {
            continue;
        }
        size_t max = sizeof " reserve=," + ITEM_BYTES + percent_encode(NULL, 0, reason);
        if (out->length - start + max > RESERVATIONS_BYTES) {
            return;
        }
        text_add_key(out, "reserve", pair);
        text_add(out, ",");
        text_add_encoded(out, reason);
    }
}

static void add_figures(struct text *out, const struct fleet_row *row)
{
    static const struct {
        const char *key;
        enum resource_field field;
    } figures[] = {
        {"limit", RESOURCE_LIMIT},
        {"in_use", RESOURCE_IN_USE},
        {"free", RESOURCE_FREE},
        {"waiting", RESOURCE_WAITING},
        {"cooling", RESOURCE_COOLING},
    };
    for (size_t i = 0; i < sizeof figures / sizeof figures[0]; i++) {
        uint64_t number;
        fleet_number(row, figures[i].field, FLEET_NUMBER_MAX, &number);
        if (number > 0 || figures[i].field != RESOURCE_COOLING) {
            text_add_number_key(out, figures[i].key, number);
        }
    }
}

static void add_kept(struct text *out, const struct fleet_row *row)
{
    uint64_t kept, keeper;
    if (fleet_number(row, RESOURCE_KEPT, FLEET_NUMBER_MAX, &kept) && kept > 0 &&
        fleet_number(row, RESOURCE_KEEPER, FLEET_NUMBER_MAX, &keeper)) {
        text_add_number_key(out, "kept", kept);
        text_add_number_key(out, "keeper", keeper);
    }
}

static void add_origin(
    struct text *out, const struct fleet_row *row, const struct fleet_scene *scene)
{
    const char *name = fleet_field(row, RESOURCE_NAME);
    const char *definition = fleet_field(row, RESOURCE_DEFINITION);
    const char *changed = fleet_field(row, RESOURCE_CHANGED);
    const struct resource *here = core_find_resource(scene->core, name);
    if (here && !here->is_defined) {
        text_add_key(out, "removed", "1");
    }
    if (template_name_is_valid(definition)) {
        text_add_key(out, "template", definition);
    }
    if (strcmp(changed, "limit") == 0 || strcmp(changed, "items") == 0) {
        text_add_key(out, "changed", changed);
    }
}

void fleet_describe_resource(struct text *out, const struct fleet_rows *rows,
    const struct fleet_resource *resource, const struct fleet_scene *scene)
{
    const struct fleet_row *row = &rows->rows[resource->row];
    bool is_pool = fleet_is_pool(row);
    text_add(out, "resource ");
    text_add(out, resource->name);
    text_add_key(out, "kind", fleet_field(row, RESOURCE_KIND));
    text_add_key(out, "scope", "fleet");
    text_add_key(out, "database", scene->database);
    add_figures(out, row);
    add_kept(out, row);
    if (strcmp(fleet_field(row, RESOURCE_PAUSED), "1") == 0) {
        const char *reason = fleet_field(row, RESOURCE_REASON);
        text_add_key(out, "paused", "1");
        add_decoded(out, "reason", reason, strlen(reason), REASON_BYTES);
    }
    add_origin(out, row, scene);
    if (is_pool) {
        text_add_key(out, "items", "");
        add_units(out, fleet_field(row, RESOURCE_ITEMS), true, LIST_BYTES);
    }
    add_reserved(out, fleet_field(row, RESOURCE_RESERVED), is_pool);
    text_add(out, "\n");
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

static void add_info(struct text *out, const char *info, const char *key, size_t max)
{
    size_t length;
    const char *value = info_find(info, key, &length);
    if (value) {
        add_decoded(out, key, value, length, max);
    }
}

static void add_shown(struct text *out, const char *info)
{
    for (size_t i = 0; i < N_ATTRIBUTES; i++) {
        if (attribute_rows[i].is_shown) {
            add_info(out, info, attribute_rows[i].word, attribute_rows[i].bound);
        }
    }
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

/* Hosts' clocks differ: an age is never below 0. */
static void add_age(
    struct text *out, const char *info, const struct lease *own, const struct fleet_scene *scene)
{
    nanoseconds at =
        (nanoseconds)info_number(info, "at", INT32_MAX * UINT64_C(2)) * NANOSECONDS_PER_SECOND;
    nanoseconds age = at > 0 ? scene->wall_now - at : 0;
    if (own) {
        age = scene->now - (own->state == LEASE_HELD ? own->granted_at : own->asked_at);
    }
    text_add_number_key(out, "age", (uint64_t)(age > 0 ? age : 0) / 1000000);
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

/* About a lease of another host, only what that host has reported is known. */
static void add_who(struct text *out, const struct fleet_row *row, enum lease_field host,
    const struct lease *own, const struct fleet_scene *scene)
{
    const char *info = fleet_field(row, ROW_INFO);
    const char *holder = fleet_field(row, ROW_HOLDER);
    uint64_t uid;
    add_age(out, info, own, scene);
    text_add_number_key(
        out, "pid", own ? (uint64_t)scene->viewer->pid_of(own) : info_number(info, "pid", INT32_MAX));
    if (fleet_number(row, ROW_UID, UINT32_MAX, &uid)) {
        text_add_number_key(out, "uid", uid);
    }
    add_bounded(out, "host", fleet_field(row, host), HOST_BYTES);
    if (is_seen(row, info, own, scene)) {
        add_decoded(out, "holder", holder, strlen(holder), HOLDER_BYTES);
        add_shown(out, info);
    }
    text_add(out, "\n");
}

static void add_id(struct text *out, const struct fleet_row *row, const struct lease *own)
{
    const char *key = fleet_field(row, ROW_KEY);
    text_add(out, own ? key + SESSION_ID_SIZE : key);
}

static void add_holder(
    struct text *out, const struct fleet_row *row, bool is_pool, const struct fleet_scene *scene)
{
    const struct lease *own = fleet_own_lease(row, scene);
    uint64_t token;
    text_add(out, "holder ");
    add_id(out, row, own);
    text_add_key(out, "units", "");
    add_units(out, fleet_field(row, HOLDER_UNITS), is_pool, UNITS_BYTES);
    fleet_number(row, HOLDER_TOKEN, INT64_MAX, &token);
    text_add_number_key(out, "token", token);
    if (own && own->state == LEASE_HELD) {
        describe_life(out, own, scene->now);
    }
    add_who(out, row, HOLDER_HOST, own, scene);
}

/* Appends what the waiter lacks, unless it is its turn there; or that something is kept for it. */
static void add_blocker(struct text *out, const struct fleet_row *row)
{
    const char *blocked = fleet_field(row, WAITER_BLOCKED);
    const char *blocker = fleet_field(row, WAITER_BLOCKER);
    uint64_t kept;
    if (strcmp(blocked, "quota") == 0 || strcmp(blocked, "other") == 0) {
        text_add_key(out, "blocked", blocked);
        text_add_key(out, "blocker", name_is_valid(blocker) ? blocker : NULL);
    }
    if (fleet_number(row, WAITER_KEPT, FLEET_NUMBER_MAX, &kept) && kept > 0) {
        text_add_number_key(out, "kept", kept);
    }
}

static void add_waiter(
    struct text *out, const struct fleet_row *row, const struct fleet_scene *scene)
{
    const struct lease *own = fleet_own_lease(row, scene);
    uint64_t position, wants;
    int64_t priority = 0;
    text_add(out, "waiter ");
    add_id(out, row, own);
    fleet_number(row, WAITER_POSITION, FLEET_NUMBER_MAX, &position);
    fleet_number(row, ROW_COUNT, FLEET_NUMBER_MAX, &wants);
    signed_number_parse(fleet_field(row, ROW_PRIORITY), MAX_PRIORITY, &priority);
    text_add_number_key(out, "position", position);
    text_add_number_key(out, "wants", wants);
    text_add_format(out, " priority=%d", (int)priority);
    if (own && lease_is_detached(own)) {
        text_add_key(out, "away", "1");
    }
    add_blocker(out, row);
    add_who(out, row, WAITER_HOST, own, scene);
}

enum fleet_lease fleet_describe_lease(struct text *out, const struct fleet_rows *rows,
    const struct fleet_resource *resource, size_t row, const struct fleet_scene *scene)
{
    bool is_pool = fleet_is_pool(&rows->rows[resource->row]);
    enum fleet_lease kind = fleet_row_kind(&rows->rows[row], resource);
    if (kind == FLEET_HOLDER) {
        add_holder(out, &rows->rows[row], is_pool, scene);
    } else if (kind == FLEET_WAITER) {
        add_waiter(out, &rows->rows[row], scene);
    }
    return kind;
}
