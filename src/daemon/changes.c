#include "daemon/changes.h"

#include "base/memory.h"
#include "base/words.h"
#include "log/log.h"
#include "wire/protocol.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the file's values ---- */

static uint64_t hash_of_items(const struct definition *definition)
{
    uint64_t hash = hash_number(definition->n_items);
    for (size_t i = 0; i < definition->n_items; i++) {
        hash = hash_string(definition->items[i], hash);
    }
    return hash;
}

/* The value of the key that a change to limit or items overrules, or its fingerprint. */
static void key_value(char out[17], const struct definition *definition)
{
    snprintf(out, 17, definition->kind == KIND_POOL ? "%016" PRIx64 : "%" PRIu64,
        definition->kind == KIND_POOL ? hash_of_items(definition) : definition->limit);
}

/* ---- to lines ---- */

static void add_request(struct text *out, enum command_index command, const char *name)
{
    text_add(out, command_table[command].word);
    text_add(out, " ");
    text_add(out, name);
}

static void add_file(struct text *out, const struct definition *definition)
{
    char value[17];
    key_value(value, definition);
    text_add(out, " file=");
    text_add(out, value);
    text_add(out, "\n");
}

static void add_item_line(struct text *out, enum command_index command,
    const struct resource *resource, const char *item)
{
    add_request(out, command, resource->name);
    text_add(out, " ");
    text_add(out, item);
    add_file(out, resource->definition);
}

/* Names in order, so that a pool of many items does not hold up the loop. */
struct names {
    const char **list;
    size_t n;
};

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool names_contain(const struct names *names, const char *name)
{
    return bsearch(&name, names->list, names->n, sizeof name, compare_names);
}

static struct names names_of_file(const struct definition *definition)
{
    struct names names = {memory_new((definition->n_items + 1) * sizeof(char *)), 0};
    for (size_t i = 0; i < definition->n_items; i++) {
        names.list[names.n++] = definition->items[i];
    }
    qsort(names.list, names.n, sizeof names.list[0], compare_names);
    return names;
}

static struct names names_in_service(const struct resource *resource)
{
    struct names names = {memory_new((resource->n_units + 1) * sizeof(char *)), 0};
    for (uint32_t i = 0; i < resource->n_units; i++) {
        if (!resource->units[i]->removed) {
            names.list[names.n++] = resource->units[i]->item;
        }
    }
    qsort(names.list, names.n, sizeof names.list[0], compare_names);
    return names;
}

static void describe_items(struct text *out, const struct resource *resource)
{
    const struct definition *definition = resource->definition;
    struct names file = names_of_file(definition), service = names_in_service(resource);
    for (uint32_t i = 0; i < resource->n_units; i++) {
        const struct unit *unit = resource->units[i];
        if (!unit->removed && !names_contain(&file, unit->item)) {
            add_item_line(out, COMMAND_add, resource, unit->item);
        }
    }
    for (size_t i = 0; i < definition->n_items; i++) {
        if (!names_contain(&service, definition->items[i])) {
            add_item_line(out, COMMAND_remove, resource, definition->items[i]);
        }
    }
    free(file.list);
    free(service.list);
}

static void describe_reservations(struct text *out, const struct resource *resource)
{
    for (uint32_t i = 0; i < resource->n_units; i++) {
        const struct unit *unit = resource->units[i];
        if (!unit->reserved) {
            continue;
        }
        add_request(out, COMMAND_reserve, resource->name);
        if (unit->item) {
            text_add(out, " ");
            text_add(out, unit->item);
        } else {
            text_add_format(out, " %u", (unsigned)unit->index);
        }
        text_add_key(out, "reason", unit->reason);
        text_add(out, "\n");
    }
}

static void add_limit(
    struct text *out, const char *name, const struct definition *definition, uint32_t limit)
{
    add_request(out, COMMAND_limit, name);
    text_add(out, " ");
    text_add_number(out, limit);
    add_file(out, definition);
}

static void add_pause(
    struct text *out, const char *name, const char *reason, const struct by_whom *by)
{
    add_request(out, COMMAND_pause, name);
    text_add_key(out, "reason", reason);
    if (by->is_known) {
        text_add_number_key(out, "by", by->uid);
    }
    if (by->has_login) {
        text_add_number_key(out, "by_login", by->login);
    }
    text_add(out, "\n");
}

static void describe_template_changes(const struct template *template, void *context)
{
    struct text *out = context;
    const struct definition *definition = template->definition;
    if (template->runtime_limit != UNBOUNDED) {
        add_limit(out, definition->name, definition, template->runtime_limit);
    }
    if (template->paused) {
        add_pause(out, definition->name, template->pause_reason, &template->paused_by);
    }
}

/* Only slots below the limit can be reserved, but reservations above a limit that was lowered stay:
 * units come before the limits in force, and above the file's with one for that time. */
static uint32_t limit_for_reservations(const struct resource *resource)
{
    uint32_t limit = resource->definition->limit;
    uint32_t n = resource_is_pool(resource) || resource->n_reserved == 0 ? 0 : resource->n_units;
    for (uint32_t i = 0; i < n; i++) {
        if (resource->units[i]->reserved && i >= limit) {
            limit = i + 1;
        }
    }
    return limit;
}

static void describe_units(const struct resource *resource, void *context)
{
    struct text *out = context;
    const struct definition *definition = resource->definition;
    if (!resource->is_defined) {
        return;
    }
    uint32_t higher = limit_for_reservations(resource);
    if (higher > definition->limit) {
        add_limit(out, resource->name, definition, higher);
    }
    if (resource->items_changed) {
        describe_items(out, resource);
    }
    if (resource->n_reserved > 0) {
        describe_reservations(out, resource);
    }
    if (higher > definition->limit && resource->runtime_limit == UNBOUNDED) {
        add_limit(out, resource->name, definition, definition->limit);
    }
}

/* After its template's. */
static void describe_own(const struct resource *resource, void *context)
{
    struct text *out = context;
    if (!resource->is_defined) {
        return;
    }
    if (resource->runtime_limit != UNBOUNDED) {
        add_limit(out, resource->name, resource->definition, resource->runtime_limit);
    }
    if (resource->paused) {
        add_pause(out, resource->name, resource->pause_reason, &resource->paused_by);
    } else if (resource->is_exempt) {
        add_request(out, COMMAND_resume, resource->name);
        text_add(out, "\n");
    }
}

void changes_describe(struct text *out, const struct core *core)
{
    if (core_is_draining(core)) {
        text_add(out, "drain\n");
    }
    core_for_each_changed(core, describe_units, out);
    core_for_each_changed_template(core, describe_template_changes, out);
    core_for_each_changed(core, describe_own, out);
}

/* ---- from lines ---- */

enum { MAX_LINE_WORDS = 6 };

struct line {
    char *words[MAX_LINE_WORDS];
    size_t n;
    const char *file; /* or NULL */
    char *reason; /* decoded; or NULL */
    struct by_whom by; /* whom an older berthd leaves out */
};

static bool find_uid(const struct line *line, const char *key, uint32_t *uidp)
{
    const char *text = words_find((char *const *)line->words, line->n, key);
    uint64_t uid = 0;
    bool is_given = text && number_parse(text, UINT32_MAX - UINT64_C(1), &uid);
    *uidp = (uint32_t)uid;
    return is_given;
}

static bool parse_line(struct line *line, char *text)
{
    line->n = words_split(text, line->words, MAX_LINE_WORDS);
    line->file = words_find(line->words, line->n, "file");
    line->reason = words_find(line->words, line->n, "reason");
    line->by.is_known = find_uid(line, "by", &line->by.uid);
    line->by.has_login = line->by.is_known && find_uid(line, "by_login", &line->by.login);
    while (line->n > 0 && strchr(line->words[line->n - 1], '=')) {
        line->n--;
    }
    return line->n > 0 && (!line->reason || percent_decode(line->reason));
}

/* The change that a line makes: the word, and how many words follow it. */
static const struct {
    enum command_index command;
    enum change_kind kind;
    size_t n_words;
} rows[] = {
    {COMMAND_limit, CHANGE_LIMIT, 3},
    {COMMAND_add, CHANGE_ADD, 3},
    {COMMAND_remove, CHANGE_REMOVE, 3},
    {COMMAND_reserve, CHANGE_RESERVE, 3},
    {COMMAND_pause, CHANGE_PAUSE, 2},
    {COMMAND_resume, CHANGE_RESUME, 2},
};

static bool is_name(const char *word)
{
    return name_is_valid(word) || template_name_is_valid(word);
}

static bool parse_change(const struct line *line, struct change *change)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(command_table[rows[i].command].word, line->words[0]) == 0 &&
            line->n == rows[i].n_words && is_name(line->words[1])) {
            uint64_t limit = 0;
            *change = (struct change){
                .kind = rows[i].kind,
                .item = line->n == 3 ? line->words[2] : NULL,
                .reason = line->reason,
                .by = line->by,
            };
            bool valid = change->kind == CHANGE_LIMIT
                ? number_parse(line->words[2], MAX_LIMIT, &limit)
                : !change->item || item_is_valid(change->item);
            change->limit = (uint32_t)limit;
            return valid;
        }
    }
    return false;
}

/* Whether "that key's text changes in the file". */
static bool is_overruled(const struct line *line, const struct definition *definition)
{
    char value[17];
    if (!definition || !line->file) {
        return !definition;
    }
    key_value(value, definition);
    return strcmp(value, line->file) != 0;
}

static void apply_line(
    struct core *core, char *text, nanoseconds now, struct effects *effects)
{
    struct line line;
    struct change change;
    if (strcmp(text, "drain") == 0) {
        core_drain(core, true, now, effects);
        return;
    }
    if (!parse_line(&line, text) || !parse_change(&line, &change)) {
        log_warning("skipping a runtime change that makes no sense");
        return;
    }
    const char *word = line.words[0], *name = line.words[1];
    struct log_subject subject = {.event = "reset"};
    snprintf(subject.resources, sizeof subject.resources, "%s", name);
    if (is_overruled(&line, core_find_definition(core, name))) {
        log_message_on(LOG_LEVEL_INFO, &subject,
            "%s: the file has changed: this ends the runtime change by `%s`", name, word);
    } else if (core_change(core, name, &change, now, effects) != OUTCOME_OK) {
        log_message_on(LOG_LEVEL_WARNING, &subject, "%s: `%s` cannot be made again", name, word);
    }
}

void changes_apply(struct core *core, char *lines, nanoseconds now, struct effects *effects)
{
    for (char *line = lines; *line;) {
        char *end = strchr(line, '\n');
        char *next = end ? end + 1 : line + strlen(line);
        if (end) {
            *end = '\0';
        }
        apply_line(core, line, now, effects);
        line = next;
    }
}
