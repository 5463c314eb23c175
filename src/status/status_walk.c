#include "status/status_walk.h"

#include "base/memory.h"
#include "base/pattern.h"
#include "base/words.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_LOOKED_AT = 64 }; /* that add no line, in one piece */

struct scene scene_of(
    const struct walk_source *source, const struct answer_moment *moment, uint8_t database)
{
    struct scene scene = {
        .core = source->core,
        .viewer = moment->viewer,
        .now = moment->now,
        .wall_now = moment->wall_now,
        .follows = source->follows,
    };
    if (database != 0) {
        source->set_database(source->context, database, &scene);
    }
    return scene;
}

/* ---- the first line ---- */

struct status host_figures_of(struct core *core, nanoseconds now)
{
    bool grants_nothing = core_is_draining(core) || core_is_closed(core);
    nanoseconds grace_until = core_grace_until(core);
    struct status figures = {
        .now = instant_of(now),
        .draining = core_is_draining(core),
        .held = core_n_held(core),
        .waiting = core_n_waiting(core),
        .granting.is_given = grants_nothing,
        .closed = core_closed_why(core),
    };
    if (core_is_draining(core)) {
        const struct shown_decision shown = decision_shown(core_drain_decision(core));
        figures.drained_at = shown.at;
        figures.drained_by = shown.by;
        figures.drained_by_login = shown.login;
        figures.drain_reason = shown.reason;
    }
    if (grace_until != NEVER) {
        figures.grace_until = instant_of(grace_until);
    }
    return figures;
}

void host_figures_write(struct text *out, const char *word, const struct status *figures)
{
    text_add(out, word);
    fields_add(out, status_fields(LINE_FIGURES), 1 << FOR_ANYBODY, figures);
    text_add(out, "\n");
}

/* ---- which resources a request asks for ---- */

void asked_names_init(struct asked_names *asked, const char *const words[], size_t n)
{
    *asked = (struct asked_names){.n = n};
    size_t n_patterns = 0;
    for (size_t i = 0; i < n; i++) {
        bool is_pattern = strchr(words[i], '*');
        size_t place = is_pattern ? n - ++n_patterns : asked->n_names++;
        asked->names[place] = memory_string(words[i]);
    }
}

void asked_names_deinit(struct asked_names *asked)
{
    for (size_t i = 0; i < asked->n; i++) {
        free(asked->names[i]);
    }
    *asked = (struct asked_names){0};
}

bool asked_names_search(const struct asked_names *asked)
{
    return asked->n > asked->n_names || asked->n == 0;
}

static bool is_named(const struct asked_names *asked, const char *name)
{
    const char *const *names = (const char *const *)asked->names;
    return words_index(name, names, asked->n_names) < asked->n_names;
}

/* Of all there are, is it one that is asked for, and is not among the names? */
static bool asked_names_match(const struct asked_names *asked, const char *name)
{
    size_t n_patterns = asked->n - asked->n_names;
    return patterns_match(asked->names + asked->n_names, n_patterns, name) &&
        !is_named(asked, name);
}

bool asked_names_has(const struct asked_names *asked, const char *name)
{
    return patterns_match(asked->names, asked->n, name);
}

/* ---- life ---- */

void status_walk_begin(struct status_walk *walk, const struct walk_source *source,
    const char *const names[], size_t n, uint64_t only)
{
    *walk = (struct status_walk){.source = source, .only = only, .next_database = 1};
    asked_names_init(&walk->asked, names, n);
    walk->of_all = asked_names_search(&walk->asked);
    if (walk->of_all) {
        core_cursor_init(source->core, &walk->cursor);
    }
}

void status_walk_end(struct status_walk *walk)
{
    if (walk->of_all) {
        core_cursor_deinit(walk->source->core, &walk->cursor);
    }
    asked_names_deinit(&walk->asked);
    walk->of_all = false;
}

/* ---- from resource to resource ---- */

/* `definition` allows an instance that nobody uses; NULL: only what there is. */
static void begin(struct status_walk *walk, const struct scene *scene, uint8_t database,
    struct text *out, const char *name, const struct definition *definition)
{
    struct resource_row row;
    walk->database = database;
    resource_row_find_or_idle(&row, scene, name, definition);
    resource_row_write(out, &row);
    resource_row_deinit(&row);
    lease_walk_begin(&walk->leases, name, walk->only);
}

static void begin_named(struct status_walk *walk, const struct answer_moment *moment,
    struct text *out, const char *name)
{
    const struct definition *definition = definition_of_name(walk->source->core, name);
    if (definition) {
        const struct scene scene = scene_of(walk->source, moment, definition->database);
        begin(walk, &scene, definition->database, out, name, definition);
    }
}

/* Looks at the next instance that only other hosts use: of those that this host's file allows, if
 * it is asked for. False: there is no next one. */
static bool begin_foreign(
    struct status_walk *walk, const struct answer_moment *moment, struct text *out)
{
    struct core *core = walk->source->core;
    for (; walk->next_database <= walk->source->n_databases; walk->next_database++) {
        const struct scene scene = scene_of(walk->source, moment, walk->next_database);
        const struct fleet_resource *next =
            scene.rows ? fleet_rows_behind(scene.rows, walk->after) : NULL;
        if (!next) {
            walk->after[0] = '\0';
            continue;
        }
        strcpy(walk->after, next->name);
        if (database_of_name(core, next->name) == walk->next_database &&
            asked_names_match(&walk->asked, next->name) &&
            !core_find_resource(core, next->name) && !core_find_template(core, next->name)) {
            begin(walk, &scene, walk->next_database, out, next->name, NULL);
        }
        return true;
    }
    return false;
}

/* Looks at the next one of the file. False: there is no next one. */
static bool show_template(
    struct status_walk *walk, const struct answer_moment *moment, struct text *out)
{
    if (walk->next_template >= moment->n_definitions) {
        return false;
    }
    const char *name = moment->definitions[walk->next_template++].name;
    const struct template *template = core_find_template(walk->source->core, name);
    if (template && asked_names_match(&walk->asked, name)) {
        const struct scene scene =
            scene_of(walk->source, moment, template->definition->database);
        template_write(out, template, &scene);
    }
    return true;
}

/* Looks at the next one; it is perhaps none that is asked for. False: there is no next one. */
static bool begin_next(
    struct status_walk *walk, const struct answer_moment *moment, struct text *out)
{
    if (walk->next_name < walk->asked.n_names) {
        begin_named(walk, moment, out, walk->asked.names[walk->next_name++]);
        return true;
    }
    if (!walk->of_all) {
        return false;
    }
    const struct resource *resource = core_cursor_next(walk->source->core, &walk->cursor);
    if (!resource) {
        return begin_foreign(walk, moment, out) || show_template(walk, moment, out);
    }
    if (asked_names_match(&walk->asked, resource->name)) {
        begin_named(walk, moment, out, resource->name);
    }
    return true;
}

bool status_walk_continue(struct status_walk *walk, const struct answer_moment *moment,
    struct text *out, size_t enough)
{
    for (unsigned n_left_out = 0; out->length < enough && n_left_out < MAX_LOOKED_AT;) {
        size_t length = out->length;
        if (walk->leases.name[0] != '\0') {
            const struct scene scene = scene_of(walk->source, moment, walk->database);
            lease_walk_write(&walk->leases, &scene, out, enough);
        } else if (!begin_next(walk, moment, out)) {
            return false;
        }
        n_left_out += out->length == length;
    }
    return true;
}
