#include "status/resource_row.h"

#include "base/memory.h"
#include "status/unit_list.h"

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

void resource_set_pause(
    struct status_resource *line, bool is_paused, const char *reason, struct actor by)
{
    line->paused = is_paused;
    if (is_paused) {
        line->pause_reason = reason;
        line->paused_by.uid = (struct optional){by.is_known, by.uid};
        line->paused_by_login.uid = (struct optional){by.has_login, by.login};
    }
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
    line->free = gives_nothing ? 0 : resource_available(resource);
    line->waiting = resource_waiting(resource);
    line->cooling = resource->n_in_state[UNIT_COOLING];
    line->removed = !resource->is_defined;
    line->template = resource->is_instance ? resource->definition->name : NULL;
    line->changed.joined = resource_limit_is_changed(resource) ? "limit"
        : resource->items_changed                              ? "items"
                                                               : NULL;
    resource_set_pause(line, pause->is_on, pause->reason, pause->by);
    fill_kept(line, resource);
}

/* ---- from a listing ---- */

static uint64_t number_of(const struct fleet_row *row, enum resource_field i)
{
    return fleet_number_of(row, i, FLEET_NUMBER_MAX);
}

/* What operators have changed. */
static void fill_changes(struct status_resource *line, char reason_room[static REASON_BYTES + 1],
    const struct fleet_row *row)
{
    const char *reason = fleet_field(row, RESOURCE_REASON);
    const char *changed = fleet_field(row, RESOURCE_CHANGED);
    bool is_changed = strcmp(changed, "limit") == 0 || strcmp(changed, "items") == 0;
    line->limit = number_of(row, RESOURCE_LIMIT);
    line->changed.joined = is_changed ? changed : NULL;
    resource_set_pause(line, strcmp(fleet_field(row, RESOURCE_PAUSED), "1") == 0,
        fleet_text(reason_room, reason, strlen(reason), REASON_BYTES),
        actor_parse(fleet_field(row, RESOURCE_PAUSED_BY)));
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
    fill_changes(line, row->pause_reason, fields);
    line->removed = row->here && !row->here->is_defined;
    line->template = template_name_is_valid(definition) ? definition : NULL;
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
        row->here = row->idle = resource_new(name, definition);
        row->idle->is_instance = true;
        row->idle->template = core_find_template(scene->core, definition->name);
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

void resource_row_write(struct text *out, const struct resource_row *row)
{
    struct status_resource line = row->line;
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
    status_line_begin(out, LINE_RESOURCE, line.name, 1 << FOR_ANYBODY, &line);
    text_add_bytes(out, reserved.reasons.words.bytes, reserved.reasons.words.length);
    text_add(out, "\n");
    text_deinit(&items.text);
    text_deinit(&draining.text);
    text_deinit(&reserved.units.text);
    text_deinit(&reserved.reasons.words);
}

/* A listing has a row for a template that operators have changed. */
void template_write(struct text *out, const struct template *template, const struct scene *scene)
{
    const struct definition *definition = template->definition;
    char reason_room[REASON_BYTES + 1];
    struct status_resource line = line_of(definition->name, kind_word(definition->kind), scene);
    line.limit = template_limit(template);
    line.instances = scene->rows ? fleet_rows_n_instances(scene->rows, definition->name)
                                 : template->n_instances;
    if (scene->rows) {
        const struct fleet_resource *changed = fleet_rows_find(scene->rows, definition->name);
        if (changed) {
            fill_changes(&line, reason_room, &scene->rows->rows[changed->row]);
        }
    } else {
        line.changed.joined = template->runtime_limit != UNBOUNDED ? "limit" : NULL;
        const struct pause *pause = &template->pause;
        resource_set_pause(&line, pause->is_on, pause->reason, pause->by);
    }
    status_line_write(out, LINE_TEMPLATE, line.name, &line);
}
