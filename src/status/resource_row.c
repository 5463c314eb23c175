#include "status/resource_row.h"

#include "base/memory.h"
#include "base/words.h"
#include "core/meter.h"
#include "status/unit_list.h"
#include "wire/protocol.h"

#include <stdio.h>
#include <string.h>

const struct definition *definition_of_name(struct core *core, const char *name)
{
    const struct resource *resource = core_find_resource(core, name);
    return resource ? resource->definition : core_find_definition(core, name);
}

uint8_t database_of_name(struct core *core, const char *name)
{
    const struct definition *definition = definition_of_name(core, name);
    return definition ? definition->database : 0;
}

struct shown_decision decision_shown(const struct decision *decision)
{
    return (struct shown_decision){
        .at = {decision->at != 0, decision->at},
        .by.uid = {decision->by.is_known, decision->by.uid},
        .login.uid = {decision->by.has_login, decision->by.login},
        .host = decision->host,
        .reason = decision->reason,
    };
}

void resource_set_pause(struct status_resource *line, const struct decision *decision)
{
    const struct shown_decision shown = decision_shown(decision);
    line->paused = true;
    line->paused_at = shown.at;
    line->paused_by = shown.by;
    line->paused_by_login = shown.login;
    line->paused_host = shown.host;
    line->pause_reason = shown.reason;
}

/* That the limit or the items are changed; `limit`: the file's, if it is the limit. */
static void set_changed(struct status_resource *line, const char *what, struct optional limit,
    const struct decision *decision)
{
    const struct shown_decision shown = decision_shown(decision);
    line->changed.joined = what;
    line->file_limit = limit;
    line->changed_at = shown.at;
    line->changed_by = shown.by;
    line->changed_by_login = shown.login;
    line->changed_host = shown.host;
    line->change_reason = shown.reason;
}

/* As this host's file says; NULL: fifo. */
static const char *order_word(const struct definition *definition)
{
    enum queue_order order = definition ? definition->order : ORDER_FIFO;
    bool by_share = definition && definition->fair_by_share;
    return order == ORDER_FIRST_FIT ? "first-fit"
        : order != ORDER_FAIR       ? NULL
        : by_share                  ? "fair-by-share"
                                    : "fair";
}

static struct status_resource line_of(
    const char *name, const char *kind, const struct scene *scene)
{
    return (struct status_resource){
        .name = name,
        .kind = kind,
        .scope = scene->database ? "fleet" : "host",
        .database = scene->database,
        .database_state = scene->state,
        .order = order_word(definition_of_name(scene->core, name)),
    };
}

static const char *kind_word(enum kind kind)
{
    static const char *const words[] = {
        [KIND_SEMAPHORE] = "semaphore",
        [KIND_LOCK] = "lock",
        [KIND_POOL] = "pool",
    };
    return words[kind];
}

static void fill_rate(struct status_resource *line, char room[static RATE_SIZE],
    const struct definition *definition)
{
    int n = snprintf(room, RATE_SIZE, "%u/", definition->rate.units);
    duration_format(room + n, RATE_SIZE - (size_t)n, definition->rate.window);
    line->rate = room;
    line->burst = (struct optional){true, definition->burst};
}

/* What is owed until then changes by time alone, which is no news: so the instant is shown. */
static void fill_resource_rate(
    struct resource_row *row, const struct scene *scene, nanoseconds paid_at)
{
    const struct definition *definition = row->definition;
    row->rated = definition && definition->rate.units > 0 ? definition : NULL;
    if (!row->rated) {
        return;
    }
    nanoseconds next = rate_goes_at(definition, paid_at, 1);
    row->paid_at = paid_at;
    fill_rate(&row->line, row->rate_room, definition);
    if (next > scene->now) {
        row->line.next = instant_of(next);
    }
}

/* ---- from the core ---- */

/* How many units are kept, and the first waiter for whom they are. */
static void fill_kept(struct status_resource *line, const struct resource *resource)
{
    const struct sorted_set_node *first = sorted_set_first(&resource->kept);
    if (first) {
        const struct place *place = container_of(first, struct place, node);
        line->kept = resource_kept(resource);
        line->kept_for = (struct optional){true, claim_position(place->claim)};
    }
}

/* While a database does not say what is free, it gives nothing out. */
static void fill_here(struct resource_row *row, const struct scene *scene)
{
    const struct resource *resource = row->here;
    const struct pause *pause = resource_pause(resource);
    struct status_resource *line = &row->line;
    bool gives_nothing = resource_is_blocked(resource) || scene->state;
    *line = line_of(resource->name, kind_word(resource->definition->kind), scene);
    line->limit = resource_limit(resource);
    line->in_use = resource_in_use(resource);
    line->free = gives_nothing ? 0 : resource_free_units(resource);
    line->waiting = resource_waiting(resource);
    line->cooling = resource->n_in_state[UNIT_COOLING];
    line->removed = !resource->is_defined;
    line->template = resource->is_instance ? resource->definition->name : NULL;
    if (resource_decision(resource)) {
        bool is_limit = resource_limit_is_changed(resource);
        set_changed(line, is_limit ? "limit" : "items",
            (struct optional){is_limit, resource->definition->limit}, resource_decision(resource));
    }
    if (pause->is_on) {
        resource_set_pause(line, &pause->decision);
    }
    fill_kept(line, resource);
    row->definition = resource->definition;
    fill_resource_rate(row, scene, resource_rate(resource).paid_at);
}

/* ---- from a listing ---- */

static uint64_t number_of(const struct fleet_row *row, enum resource_field i)
{
    return fleet_number_of(row, i, FLEET_NUMBER_MAX);
}

/* AT, BY, HOST, REASON with tabs between, the reason encoded, and the file's limit. What is
 * malformed, or missing, is not known. */
static struct decision decision_of(
    struct decision_room *room, const char *text, struct optional *limit)
{
    enum { AT, BY, HOST, REASON, LIMIT, N };
    char words[N][3 * REASON_BYTES + 1] = {""};
    for (size_t i = 0; i < N && text; i++) {
        text = fleet_take_word(text, '\t', words[i], sizeof words[i]);
    }
    struct decision decision = {.by = actor_parse(words[BY])};
    number_parse(words[AT], INT64_MAX, &decision.at);
    decision.host = fleet_bounded(room->host, words[HOST], REASON_BYTES) ? room->host : NULL;
    decision.reason = fleet_text(room->reason, words[REASON], strlen(words[REASON]), REASON_BYTES)
        ? room->reason
        : NULL;
    limit->is_given = number_parse(words[LIMIT], FLEET_NUMBER_MAX, &limit->number);
    return decision;
}

/* What operators have changed. */
static void fill_changes(struct status_resource *line, struct decision_room *pause_room,
    struct decision_room *change_room, const struct fleet_row *row)
{
    const char *changed = fleet_field(row, RESOURCE_CHANGED);
    struct optional file_limit;
    line->limit = number_of(row, RESOURCE_LIMIT);
    if (strcmp(changed, "limit") == 0 || strcmp(changed, "items") == 0) {
        const struct decision decision =
            decision_of(change_room, fleet_field(row, RESOURCE_CHANGE_SAID), &file_limit);
        set_changed(line, changed, file_limit, &decision);
    }
    if (strcmp(fleet_field(row, RESOURCE_PAUSED), "1") == 0) {
        const struct decision decision =
            decision_of(pause_room, fleet_field(row, RESOURCE_PAUSE_SAID), &file_limit);
        resource_set_pause(line, &decision);
    }
}

/* To who follows, this host's part of the figures is the core's: it knows first. */
static void bring_up_to_date(struct resource_row *row)
{
    struct status_resource *line = &row->line;
    const struct fleet_resource *listed = row->listed;
    uint64_t held = row->here ? resource_in_use(row->here) : 0;
    uint64_t waiting = row->here ? resource_waiting(row->here) : 0;
    uint64_t was_held = listed->own_held, was_waiting = listed->own_waiting;
    bool goes_on = line->waiting > 0 || line->paused; /* what has come free is not free */
    line->waiting = waiting + (line->waiting > was_waiting ? line->waiting - was_waiting : 0);
    line->in_use = held + (line->in_use > was_held ? line->in_use - was_held : 0);
    if (held > was_held) {
        uint64_t more = held - was_held;
        line->free = line->free > more ? line->free - more : 0;
    } else if (!goes_on) {
        line->free += was_held - held;
    }
}

#define MAX_FULL_IN (NEVER / 4 / NANOSECONDS_PER_MILLISECOND)

static void fill_listed(struct resource_row *row, const struct scene *scene)
{
    const struct fleet_row *fields = row->fields;
    const char *definition = fleet_field(fields, RESOURCE_DEFINITION);
    struct status_resource *line = &row->line;
    *line = line_of(row->listed->name, fleet_field(fields, RESOURCE_KIND), scene);
    line->in_use = number_of(fields, RESOURCE_IN_USE);
    line->free = number_of(fields, RESOURCE_FREE);
    line->waiting = number_of(fields, RESOURCE_WAITING);
    line->cooling = number_of(fields, RESOURCE_COOLING);
    line->kept_for.is_given =
        fleet_number(fields, RESOURCE_KEEPER, FLEET_NUMBER_MAX, &line->kept_for.number);
    line->kept = line->kept_for.is_given ? number_of(fields, RESOURCE_KEPT) : 0;
    line->kept_for.is_given = line->kept > 0;
    fill_changes(line, &row->pause_room, &row->change_room, fields);
    line->removed = row->here && !row->here->is_defined;
    line->template = template_name_is_valid(definition) ? definition : NULL;
    row->definition = definition_of_name(scene->core, row->listed->name);
    fill_resource_rate(row, scene,
        scene->listed_at +
            (nanoseconds)fleet_number_of(fields, RESOURCE_FULL_IN, MAX_FULL_IN) *
                NANOSECONDS_PER_MILLISECOND);
    if (scene->follows) {
        bring_up_to_date(row);
    }
}

/* ---- its row ---- */

bool resource_row_find(struct resource_row *row, const struct scene *scene, const char *name)
{
    row->idle = NULL;
    row->here = core_find_resource(scene->core, name);
    row->listed = scene->rows ? fleet_rows_find(scene->rows, name) : NULL;
    if (row->listed) {
        row->fields = &scene->rows->rows[row->listed->row];
        fill_listed(row, scene);
    } else if (row->here) {
        fill_here(row, scene);
    }
    return row->listed || row->here;
}

void resource_row_find_or_idle(struct resource_row *row, const struct scene *scene,
    const char *name, const struct definition *definition)
{
    if (!resource_row_find(row, scene, name)) {
        row->here = row->idle = core_idle_instance(scene->core, name, definition);
        fill_here(row, scene);
    }
}

void resource_row_deinit(struct resource_row *row)
{
    if (row->idle) {
        resource_free(row->idle);
    }
}

/* ---- units ---- */

/* `room` is for the number of a slot. */
static const char *unit_name(const struct unit *unit, char room[static 16])
{
    if (!unit->item) {
        snprintf(room, 16, "%u", unit->index);
    }
    return unit->item ? unit->item : room;
}

static void resource_row_add_items(
    struct unit_list *list, const struct resource *resource, bool removed)
{
    char room[16];
    for (uint32_t i = 0; i < resource->n_units && !list->is_cut; i++) {
        if (resource->units[i]->removed == removed) {
            unit_list_add(list, unit_name(resource->units[i], room));
        }
    }
}

static bool unit_is_valid(const char *unit, bool is_pool)
{
    uint64_t slot;
    return is_pool ? item_is_valid(unit) : number_parse(unit, FLEET_NUMBER_MAX, &slot);
}

/* Of a list "UNIT,REASON UNIT,REASON ...", the reasons encoded. */
static void for_each_listed(const struct fleet_row *row,
    void (*function)(void *context, const char *unit, const char *reason), void *context)
{
    char unit[ITEM_BYTES + 1 + 3 * REASON_BYTES + 1];
    bool is_pool = fleet_is_pool(row);
    for (const char *rest = fleet_field(row, RESOURCE_RESERVED);
         (rest = fleet_take_word(rest, ' ', unit, sizeof unit));) {
        char *reason = strchr(unit, ',');
        if (reason) {
            *reason++ = '\0';
        }
        bool has_reason = reason && reason[0] != '\0' && percent_decode(reason) &&
            strlen(reason) <= REASON_BYTES;
        if (unit_is_valid(unit, is_pool)) {
            function(context, unit, has_reason ? reason : NULL);
        }
    }
}

void resource_row_for_each_reserved(const struct resource_row *row,
    void (*function)(void *context, const char *unit, const char *reason), void *context)
{
    if (row->listed) {
        for_each_listed(row->fields, function, context);
        return;
    }
    char room[16];
    uint32_t n_left = row->here->n_reserved;
    for (uint32_t i = 0; n_left > 0 && i < row->here->n_units; i++) {
        const struct unit *unit = row->here->units[i];
        if (unit->reserved) {
            function(context, unit_name(unit, room), unit->reason);
            n_left--;
        }
    }
}

/* ---- its line ---- */

struct reserved {
    struct unit_list units;
    struct reserve_list reasons;
};

static void add_reserved(void *context, const char *unit, const char *reason)
{
    struct reserved *reserved = context;
    unit_list_add(&reserved->units, unit);
    if (reason) {
        reserve_list_add(&reserved->reasons, unit, reason);
    }
}

/* "total:2,desk"; without levels nothing. */
static void add_levels(struct text *out, const struct definition *definition)
{
    for (size_t i = 0; definition && i < definition->n_levels; i++) {
        const struct level *level = &definition->levels[i];
        text_add_format(out, "%s%s", i > 0 ? "," : "", level->name);
        if (level->count != 1) {
            text_add_format(out, ":%u", level->count);
        }
    }
}

/* Who has paused it, and why, stays. The history has the rest, and the file its levels. */
static void forget_decisions(struct status_resource *line)
{
    const struct optional none = {.is_given = false};
    line->also.joined = NULL;
    line->file_limit = line->changed_at = line->paused_at = none;
    line->changed_by.uid = line->changed_by_login.uid = none;
    line->change_reason = line->changed_host = line->paused_host = NULL;
}

/* `n`: how many bytes are to follow. */
static void begin_line(
    struct text *out, enum status_line kind, struct status_resource *line, size_t n)
{
    size_t start = out->length;
    status_line_begin(out, kind, line->name, 1 << FOR_ANYBODY, line);
    if (out->length - start + n >= LINE_BYTES - 1) {
        forget_decisions(line);
        out->length = start;
        status_line_begin(out, kind, line->name, 1 << FOR_ANYBODY, line);
    }
}

void resource_row_write(struct text *out, const struct resource_row *row)
{
    struct status_resource line = row->line;
    struct text levels = {0}; /* .bytes is NULL without any */
    struct unit_list items = {.max = UNITS_OF_RESOURCE_BYTES}, draining = items;
    struct reserved reserved = {.units = items};
    if (row->listed && fleet_is_pool(row->fields)) {
        text_add(&items.text, ""); /* shown even if there is none */
        unit_list_add_all(&items, fleet_field(row->fields, RESOURCE_ITEMS), true);
        unit_list_add_all(&draining, fleet_field(row->fields, RESOURCE_DRAINING), true);
    } else if (!row->listed && resource_is_pool(row->here)) {
        resource_row_add_items(&items, row->here, false);
        resource_row_add_items(&draining, row->here, true);
    }
    resource_row_for_each_reserved(row, add_reserved, &reserved);
    line.items.joined = items.text.bytes;
    line.draining.joined = draining.text.bytes;
    line.reserved.joined = reserved.units.text.bytes;
    add_levels(&levels, row->definition);
    line.also.joined = levels.bytes;
    begin_line(out, LINE_RESOURCE, &line, reserved.reasons.words.length);
    text_add_bytes(out, reserved.reasons.words.bytes, reserved.reasons.words.length);
    text_add(out, "\n");
    text_deinit(&levels);
    text_deinit(&items.text);
    text_deinit(&draining.text);
    text_deinit(&reserved.units.text);
    text_deinit(&reserved.reasons.words);
}

/* A listing has a row for a template that operators have changed. */
void template_write(struct text *out, const struct template *template, const struct scene *scene)
{
    const struct definition *definition = template->definition;
    struct decision_room pause_room, change_room;
    char rate_room[RATE_SIZE];
    struct text levels = {0}; /* .bytes is NULL without any */
    struct status_resource line = line_of(definition->name, kind_word(definition->kind), scene);
    line.limit = template_limit(template);
    if (definition->rate.units > 0) {
        fill_rate(&line, rate_room, definition);
    }
    line.instances = scene->rows ? fleet_rows_n_instances(scene->rows, definition->name)
                                 : template->n_instances;
    if (scene->rows) {
        const struct fleet_resource *changed = fleet_rows_find(scene->rows, definition->name);
        if (changed) {
            fill_changes(&line, &pause_room, &change_room, &scene->rows->rows[changed->row]);
        }
    } else if (template->runtime_limit != UNBOUNDED) {
        set_changed(&line, "limit", (struct optional){true, definition->limit},
            &template->decision);
    }
    if (!scene->rows && template->pause.is_on) {
        resource_set_pause(&line, &template->pause.decision);
    }
    add_levels(&levels, definition);
    line.also.joined = levels.bytes;
    begin_line(out, LINE_TEMPLATE, &line, 0);
    text_add(out, "\n");
    text_deinit(&levels);
}
