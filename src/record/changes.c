#include "record/changes.h"

#include "base/memory.h"
#include "base/words.h"
#include "journal/state.h"
#include "log/log.h"
#include "wire/protocol.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what a change rests on, as text: a pool's is always longer than a limit ---- */

enum { HASH_DIGITS = 16, BASIS_SIZE = HASH_DIGITS + 1 };

static void basis_write(char out[BASIS_SIZE], const struct definition *definition)
{
    const struct basis basis = definition_basis(definition);
    snprintf(out, BASIS_SIZE, basis.is_pool ? "%016" PRIx64 : "%" PRIu64, basis.value);
}

static bool basis_parse(struct basis *basis, const char *text)
{
    size_t n_digits = strspn(text, "0123456789abcdef");
    *basis = (struct basis){.is_pool = n_digits == HASH_DIGITS};
    if (basis->is_pool) {
        basis->value = strtoull(text, NULL, 16);
        return text[n_digits] == '\0';
    }
    return number_parse(text, MAX_LIMIT, &basis->value);
}

/* ---- to lines ---- */

static void add_request(struct text *out, enum command_index command, const char *name)
{
    text_add(out, command_table[command].word);
    text_add(out, " ");
    text_add(out, name);
}

/* Ends a line. `charge` is the instance's; NULL for a template. */
static void add_end(
    struct text *out, const struct definition *definition, const struct charge *charge)
{
    if (charge && charge->account) {
        text_add_number_key(out, "payer", charge->account->uid);
    }
    char value[BASIS_SIZE];
    basis_write(value, definition);
    text_add(out, " file=");
    text_add(out, value);
    text_add(out, "\n");
}

static void add_said(struct text *out, const struct decision *said)
{
    text_add_key(out, "reason", said->reason);
    if (said->by.is_known) {
        text_add_number_key(out, "by", said->by.uid);
    }
    if (said->by.has_login) {
        text_add_number_key(out, "by_login", said->by.login);
    }
    if (said->at != 0) {
        text_add_number_key(out, "at", said->at);
    }
}

/* The first of a resource says who has changed its items, and why: *saidp, which is NULL then. */
static void add_item_line(struct text *out, enum command_index command,
    const struct resource *resource, const char *item, const struct decision **saidp)
{
    add_request(out, command, resource->name);
    text_add(out, " ");
    text_add(out, item);
    if (*saidp) {
        add_said(out, *saidp);
        *saidp = NULL;
    }
    add_end(out, resource->definition, &resource->instance_charge);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* So that a pool of many does not hold up the loop. The caller frees the array. */
static const char **items_in_order(const struct definition *definition)
{
    const char **items = memory_new((definition->n_items + 1) * sizeof *items);
    for (size_t i = 0; i < definition->n_items; i++) {
        items[i] = definition->items[i];
    }
    qsort(items, definition->n_items, sizeof *items, compare_names);
    return items;
}

static void describe_items(struct text *out, const struct resource *resource)
{
    const struct definition *definition = resource->definition;
    const struct decision *said = &resource->decision;
    const char **items = items_in_order(definition);
    for (uint32_t i = 0; i < resource->n_units; i++) {
        const struct unit *unit = resource->units[i];
        bool is_of_file =
            bsearch(&unit->item, items, definition->n_items, sizeof *items, compare_names);
        if (!unit->removed && !is_of_file) {
            add_item_line(out, COMMAND_add, resource, unit->item, &said);
        }
    }
    for (size_t i = 0; i < definition->n_items; i++) {
        if (!resource_has_item(resource, definition->items[i])) {
            add_item_line(out, COMMAND_remove, resource, definition->items[i], &said);
        }
    }
    free(items);
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
        add_end(out, resource->definition, &resource->instance_charge);
    }
}

static void add_limit(struct text *out, const char *name, const struct definition *definition,
    const struct charge *charge, uint32_t limit, const struct decision *said)
{
    if (limit == UNBOUNDED) {
        return;
    }
    add_request(out, COMMAND_limit, name);
    text_add(out, " ");
    text_add_number(out, limit);
    add_said(out, said);
    add_end(out, definition, charge);
}

static void add_pause(struct text *out, const char *name, const struct definition *definition,
    const struct charge *charge, const struct pause *pause)
{
    if (!pause->is_on) {
        return;
    }
    add_request(out, COMMAND_pause, name);
    add_said(out, &pause->decision);
    add_end(out, definition, charge);
}

static void describe_template_changes(const struct template *template, void *context)
{
    const struct definition *definition = template->definition;
    add_limit(context, definition->name, definition, NULL, template->runtime_limit,
        &template->decision);
    add_pause(context, definition->name, definition, NULL, &template->pause);
}

static void describe_changes(const struct resource *resource, void *context)
{
    struct text *out = context;
    const struct definition *definition = resource->definition;
    const struct charge *charge = &resource->instance_charge;
    if (resource->items_changed) {
        describe_items(out, resource);
    }
    if (resource->n_reserved > 0) {
        describe_reservations(out, resource);
    }
    add_limit(
        out, resource->name, definition, charge, resource->runtime_limit, &resource->decision);
    add_pause(out, resource->name, definition, charge, &resource->pause);
    if (!resource->pause.is_on && resource->is_exempt) {
        add_request(out, COMMAND_resume, resource->name);
        add_end(out, definition, charge);
    }
}

void changes_describe(struct text *out, const struct core *core)
{
    if (core_is_draining(core)) {
        text_add(out, command_table[COMMAND_drain].word);
        add_said(out, core_drain_decision(core));
        text_add(out, "\n");
    }
    core_for_each_changed_template(core, describe_template_changes, out);
    core_for_each_changed(core, describe_changes, out); /* after the template's */
}

bool changes_note(struct state *state, const struct core *core)
{
    struct text lines = TEXT_INIT;
    text_add(&lines, "");
    changes_describe(&lines, core);
    bool are_others = strcmp(lines.bytes, state->changes) != 0;
    state_set_changes(state, lines.bytes, lines.length);
    text_deinit(&lines);
    return are_others;
}

/* ---- from lines ---- */

enum { MAX_LINE_WORDS = 9 };

struct line {
    char *words[MAX_LINE_WORDS];
    size_t n;
    const char *file; /* or NULL */
    char *reason; /* decoded; or NULL */
    struct actor by;
    uint64_t at; /* 0: not known */
    uint32_t payer;
    bool has_payer;
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
    line->at = 0;
    words_find_number(line->words, line->n, "at", &line->at);
    line->has_payer = find_uid(line, "payer", &line->payer);
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
                .at = line->at,
                .is_charged = line->has_payer,
                .payer = line->payer,
                .is_old = true,
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

static bool is_overruled(
    const struct line *line, enum change_kind kind, const struct definition *definition)
{
    struct basis then;
    if (!definition || !line->file) {
        return !definition;
    }
    const struct basis now = definition_basis(definition);
    return !basis_parse(&then, line->file) || !change_lasts(kind, &then, &now);
}

static void apply_line(
    struct core *core, char *text, nanoseconds now, struct effects *effects)
{
    struct line line;
    struct change change;
    bool is_line = parse_line(&line, text);
    if (is_line && line.n == 1 && strcmp(line.words[0], command_table[COMMAND_drain].word) == 0) {
        core_note_drain(
            core, &(struct change){.reason = line.reason, .by = line.by, .at = line.at});
        core_drain(core, true, now, effects);
        return;
    }
    if (!is_line || !parse_change(&line, &change)) {
        log_warning("ignoring a malformed runtime change");
        return;
    }
    const char *word = line.words[0], *name = line.words[1];
    struct log_subject subject = {.event = "reset"};
    snprintf(subject.resources, sizeof subject.resources, "%s", name);
    if (is_overruled(&line, change.kind, core_find_definition(core, name))) {
        log_message_on(LOG_LEVEL_INFO, &subject,
            "%s: the file has changed, which undoes the runtime change made by `%s`", name, word);
    } else if (core_change(core, name, &change, now, effects) != OUTCOME_OK) {
        log_message_on(LOG_LEVEL_WARNING, &subject, "%s: `%s` cannot be reapplied", name, word);
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
