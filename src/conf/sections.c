#include "conf/sections.h"

#include "base/closest_match.h"
#include "base/memory.h"
#include "base/words.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const enum kind resource_kinds[N_SECTION_KINDS] = {
    [SECTION_SEMAPHORE] = KIND_SEMAPHORE,
    [SECTION_LOCK] = KIND_LOCK,
    [SECTION_POOL] = KIND_POOL,
};

static void value_set_default(const struct key_row *key, void *object)
{
    struct value value = {.key = key, .object = object};
    if (key->initial && key->initial[0] != '\0') {
        bool is_good = key->type->parse(&value, key->initial);
        assert(is_good);
        (void)is_good;
    }
}

void section_set_defaults(enum section_kind kind, void *object)
{
    for (size_t i = 0; i < N_KEYS; i++) {
        if (key_is_in(&key_table[i], kind)) {
            value_set_default(&key_table[i], object);
        }
    }
}

void loading_init(struct loading *loading, const struct conf *running, conf_lookup *lookup)
{
    *loading = (struct loading){
        .conf = memory_new(sizeof *loading->conf),
        .running = running,
        .complaints = COMPLAINTS_INIT,
        .names = {.lookup = lookup, .users = KNOWN_SET_INIT, .groups = KNOWN_SET_INIT},
        .resources = KNOWN_SET_INIT,
        .items = KNOWN_SET_INIT,
    };
    section_set_defaults(SECTION_DAEMON, loading->conf);
}

void loading_deinit(struct loading *loading)
{
    conf_free(loading->conf);
    complaints_deinit(&loading->complaints);
    names_deinit(&loading->names);
    known_set_deinit(&loading->resources);
    known_set_deinit(&loading->items);
    fleet_uses_deinit(loading);
    for (size_t i = 0; i < loading->n_levels_uses; i++) {
        free(loading->levels_uses[i].section);
    }
    free(loading->levels_uses);
}

/* ---- headers ---- */

/* `word` is all that the header has if `is_alone`: perhaps a name. */
static void complain_of_kind(
    struct loading *loading, uint32_t line, const char *word, bool is_alone)
{
    struct closest_match nearest = CLOSEST_MATCH_INIT(word);
    for (enum section_kind kind = 0; kind < N_SECTION_KINDS; kind++) {
        closest_match_try(&nearest, section_words[kind]);
    }
    bool is_name =
        is_alone && !nearest.best && (name_is_valid(word) || template_name_is_valid(word));
    section_complain(loading, line, NULL,
        "unknown kind of section%s%s%s; there are [daemon], [redis NAME], "
        "[semaphore NAME], [lock NAME] and [pool NAME]%s%s%s",
        nearest.best ? " (did you mean " : "", nearest.best ? nearest.best : "",
        nearest.best ? "?)" : "", is_name ? "; a lock would be [lock " : "", is_name ? word : "",
        is_name ? "]" : "");
}

/* "first in line LINE", or "first in FILE:LINE" if that is not the file being read. */
void section_complain_of_repetition(struct loading *loading, struct place first, const char *what)
{
    bool is_here = first.file == loading->file;
    section_complain(loading, loading->section.place.line, NULL,
        "%s appears twice, first in %s%s%lu", what,
        is_here ? "line " : complaints_file(&loading->complaints, first), is_here ? "" : ":",
        (unsigned long)first.line);
}

static void open_daemon(struct loading *loading, const char *name)
{
    struct section *section = &loading->section;
    section->object = loading->conf;
    if (name) {
        section_complain(loading, section->place.line, NULL, "[daemon] takes no name");
    }
    if (loading->file != 0) {
        section_complain(loading, section->place.line, NULL,
            "only the main file, %s, may have this section", loading->conf->path);
        section->state = SECTION_SKIPPED;
    } else if (loading->daemon_place.line != 0) {
        section_complain_of_repetition(loading, loading->daemon_place, "this section");
    } else {
        loading->daemon_place = section->place;
    }
}

static void check_name(struct loading *loading, const char *name)
{
    struct section *section = &loading->section;
    if (!name_is_valid(name) && !template_name_is_valid(name)) {
        section_complain(loading, section->place.line, NULL,
            "not a valid name: 1 to %d bytes of A-Z a-z 0-9 . _ / @ + -, beginning with a letter "
            "or digit, without empty, . or .. parts; or a template, which is such a name and /*",
            NAME_BYTES);
        return;
    }
    const struct known *first = known_find(&loading->resources, name);
    if (first) {
        section_complain_of_repetition(loading, first->place, "this name");
    } else {
        known_add(&loading->resources, name, section->place);
    }
}

static void open_resource(struct loading *loading, const char *name)
{
    struct section *section = &loading->section;
    struct conf *conf = loading->conf;
    size_t n = conf->n_definitions;
    conf->definitions = memory_grow(conf->definitions, n, sizeof *conf->definitions);
    struct definition *definition = &conf->definitions[conf->n_definitions++];
    *definition = (struct definition){
        .name = memory_string(name ? name : ""),
        .kind = resource_kinds[section->kind],
    };
    section_set_defaults(section->kind, definition);
    section->object = definition;
    if (name) {
        check_name(loading, name);
    } else {
        section_complain(loading, section->place.line, NULL,
            "has no name; a section is called [%s NAME]", section_words[section->kind]);
    }
}

static void (*const openers[N_SECTION_KINDS])(struct loading *loading, const char *name) = {
    [SECTION_DAEMON] = open_daemon,
    [SECTION_REDIS] = database_open,
    [SECTION_SEMAPHORE] = open_resource,
    [SECTION_LOCK] = open_resource,
    [SECTION_POOL] = open_resource,
};

static void open_words(struct loading *loading, char *words)
{
    struct section *section = &loading->section;
    char *rest = NULL;
    const char *word = strtok_r(words, " \t", &rest);
    const char *name = strtok_r(NULL, " \t", &rest);
    if (!word) {
        section_complain(loading, section->place.line, NULL,
            "the section header is empty: it needs a kind and a name");
    } else if (!word_look_up(section_words, word, &section->kind)) {
        complain_of_kind(loading, section->place.line, word, !name);
    } else {
        section->state = SECTION_OPEN;
        openers[section->kind](loading, name);
        if (name && strtok_r(NULL, " \t", &rest)) {
            section_complain(loading, section->place.line, NULL, "has more than one name");
        }
    }
}

void section_open(struct loading *loading, uint32_t line, const char *inside)
{
    section_close(loading);
    struct section *section = &loading->section;
    section->state = SECTION_SKIPPED;
    section->place = (struct place){.file = loading->file, .line = line};
    if (inside) {
        snprintf(section->label, sizeof section->label, "%.*s%s", QUOTE(inside));
        char *words = memory_string(inside);
        open_words(loading, words);
        free(words);
    }
}

/* ---- keys ---- */

static void refuse_word(const struct value *value, const char *word)
{
    char why[QUOTE_BYTES + 32];
    snprintf(why, sizeof why, "\"%.*s%s\" is not ", QUOTE(word));
    value_refuse(value, why);
}

static void refuse_count(const struct value *value, size_t max)
{
    if (value->key->type->is_list) {
        VALUE_COMPLAIN(value, "has more than %zu words", max);
    } else {
        value_refuse(value, value->place.line == value->first_line
                ? "has more than one word; expected "
                : "is not a list, so it cannot continue on another line; expected ");
    }
}

static void take_word(struct value *value, const char *word)
{
    const struct value_type *type = value->key->type;
    size_t max = type->is_list ? value->key->max : 1;
    value->n_words++;
    if (value->n_words <= max) {
        if (!type->parse(value, word)) {
            refuse_word(value, word);
        }
        value->word_line = value->place.line;
    } else if (!value->is_refused) {
        value->is_refused = true;
        refuse_count(value, max);
    }
}

/* `text` is the rest of the line behind "=", or a continuation. Complains of every error. */
static void value_take(struct value *value, const char *text)
{
    char *words = memory_string(text), *rest = words, *word;
    while ((word = strsep(&rest, " \t"))) {
        if (word[0] != '\0') {
            take_word(value, word);
        }
    }
    free(words);
}

/* All words have been taken. */
static void end_value(struct section *section)
{
    struct value *value = &section->value;
    if (!value->key) {
        return;
    }
    size_t min = value->key->type->is_list ? value->key->min : 1;
    if (value->n_words < min) {
        value_refuse(value, "has no value; expected ");
    }
    value->key = NULL;
}

/* The section's key that was probably meant; NULL if none is near. */
static const struct key_row *key_nearest(enum section_kind kind, const char *word)
{
    struct closest_match nearest = CLOSEST_MATCH_INIT(word);
    for (size_t i = 0; i < N_KEYS; i++) {
        if (key_is_in(&key_table[i], kind)) {
            closest_match_try(&nearest, key_table[i].word);
        }
    }
    return nearest.best ? key_find(kind, nearest.best) : NULL;
}

/* Says why the section has no such key: where the key belongs, or what was probably meant. */
static void explain_unknown_key(
    enum section_kind kind, const char *word, const struct key_row *nearest, struct text *out)
{
    const char *before = "is not allowed in this kind of section; it belongs in ";
    for (enum section_kind other = 0; other < N_SECTION_KINDS; other++) {
        if (key_find(other, word)) {
            text_add_format(out, "%s[%s]", before, section_words[other]);
            before = " or ";
        }
    }
    if (out->length == 0 && nearest) {
        text_add_format(out, "unknown key; did you mean %s?", nearest->word);
    } else if (out->length == 0) {
        text_add(out, kind == SECTION_REDIS
                ? "unknown key; host, port, user, password and database are parts of url"
                : "unknown key");
    }
}

static void complain_of_key(struct loading *loading, uint32_t line, const char *word)
{
    struct section *section = &loading->section;
    if (word[0] == '\0') {
        section_complain(loading, line, NULL, "there is no key before the \"=\"");
        return;
    }
    const struct key_row *nearest = key_nearest(section->kind, word);
    struct text why = TEXT_INIT;
    explain_unknown_key(section->kind, word, nearest, &why);
    section_complain(loading, line, word, "%s", why.bytes);
    text_deinit(&why);
    if (nearest) {
        section->is_meant[nearest - key_table] = true;
    }
}

void section_key(struct loading *loading, uint32_t line, const char *word, const char *text)
{
    struct section *section = &loading->section;
    end_value(section);
    if (section->state == SECTION_NONE) {
        section_complain(loading, line, word, "precedes the first section");
    }
    if (section->state != SECTION_OPEN) {
        return;
    }
    const struct key_row *key = key_find(section->kind, word);
    if (!key) {
        complain_of_key(loading, line, word);
        return;
    }
    uint32_t *linep = &section->lines[key - key_table];
    if (*linep != 0) {
        section_complain(
            loading, line, word, "appears twice, first in line %lu", (unsigned long)*linep);
        return;
    }
    *linep = line;
    section->value = (struct value){
        .key = key,
        .object = section->object,
        .place = {.file = loading->file, .line = line},
        .first_line = line,
        .loading = loading,
    };
    value_take(&section->value, text);
}

void section_more(struct loading *loading, uint32_t line, const char *text)
{
    struct value *value = &loading->section.value;
    if (value->key) {
        value->place.line = line;
        value_take(value, text);
    }
}

void section_refuse(struct loading *loading, uint32_t line, const char *text)
{
    struct section *section = &loading->section;
    end_value(section);
    if (text[0] == '[') {
        section_open(loading, line, NULL);
    } else if (section->state == SECTION_OPEN) {
        char word[LABEL_BYTES];
        snprintf(word, sizeof word, "%.*s", (int)strcspn(text, " \t=:"), text);
        const struct key_row *key = key_find(section->kind, word);
        if (key) {
            section->is_meant[key - key_table] = true;
        }
    }
}

/* ---- ends ---- */

static void check_required(struct loading *loading)
{
    const struct section *section = &loading->section;
    for (size_t i = 0; i < N_KEYS; i++) {
        const struct key_row *key = &key_table[i];
        if (key_is_in(key, section->kind) && !key->initial && section->lines[i] == 0 &&
            !section->is_meant[i]) {
            section_complain(loading, section->place.line, key->word, "is missing (%s)", key->help);
        }
    }
}

static void check_templates(struct loading *loading)
{
    const struct section *section = &loading->section;
    const struct definition *definition = section->object;
    for (size_t i = 0; i < N_KEYS; i++) {
        if (key_table[i].templates_only && section->lines[i] != 0 &&
            name_is_valid(definition->name)) {
            KEY_COMPLAIN(loading, i, "is for templates only, whose names end in /*");
        }
    }
}

static void check_order(struct loading *loading)
{
    const struct section *section = &loading->section;
    const struct definition *definition = section->object;
    if (section->lines[KEY_max_overtakes] != 0 && definition->order != ORDER_FIRST_FIT) {
        KEY_COMPLAIN(loading, KEY_max_overtakes,
            "is only for order = first-fit; %s lets no request pass",
            definition->order == ORDER_FAIR ? "fair" : "fifo");
    }
    if (section->lines[KEY_fair_by] != 0 && definition->order != ORDER_FAIR) {
        KEY_COMPLAIN(loading, KEY_fair_by, "is only for order = fair");
    }
}

/* Longer than anybody waits; the sums in meter.c are far from an overflow. */
#define LONGEST_BURST (INT64_C(3650) * 24 * 3600 * NANOSECONDS_PER_SECOND)

static void check_burst(struct loading *loading)
{
    const struct section *section = &loading->section;
    const struct definition *definition = section->object;
    if (section->lines[KEY_burst] == 0) {
        return;
    }
    if (definition->rate.units == 0) {
        KEY_COMPLAIN(loading, KEY_burst, "is only for a resource with a rate");
    } else if (definition->rate.window / definition->rate.units >=
        LONGEST_BURST / definition->burst) {
        KEY_COMPLAIN(loading, KEY_burst, "would take more than 10 years to come back at this rate");
    }
}

static void check_database(struct loading *loading)
{
    const struct section *section = &loading->section;
    const struct definition *definition = section->object;
    struct place scope = {.file = loading->file, .line = section->lines[KEY_scope]};
    if (definition->database != 0) {
        fleet_use_note(loading);
    } else if (section->lines[KEY_redis] != 0 && !complaints_has(&loading->complaints, scope)) {
        KEY_COMPLAIN(loading, KEY_redis, "is only for scope = fleet");
    }
}

/* levels_check() looks at them. */
static void note_levels(struct loading *loading)
{
    const struct section *section = &loading->section;
    const struct definition *definition = section->object;
    if (definition->n_levels == 0) {
        return;
    }
    size_t n = loading->n_levels_uses++;
    loading->levels_uses = memory_grow(loading->levels_uses, n, sizeof *loading->levels_uses);
    loading->levels_uses[n] = (struct levels_use){
        .definition = loading->conf->n_definitions - 1,
        .section = memory_string(section->label),
        .place = {.file = loading->file, .line = section->lines[KEY_also]},
    };
}

static void close_daemon(struct loading *loading)
{
    const uint32_t *lines = loading->section.lines;
    uint32_t line = lines[KEY_include];
    loading->conf->gives_socket = lines[KEY_socket] != 0;
    loading->conf->gives_socket_mode = lines[KEY_socket_mode] != 0;
    if (line != 0) {
        loading->include_place = (struct place){.file = loading->file, .line = line};
    }
}

static void close_resource(struct loading *loading)
{
    struct definition *definition = loading->section.object;
    if (definition->shared > 0 && definition->limit > 0) {
        definition->limit = definition->shared;
    }
    check_templates(loading);
    check_order(loading);
    check_burst(loading);
    check_database(loading);
    note_levels(loading);
}

static void (*const closers[N_SECTION_KINDS])(struct loading *loading) = {
    [SECTION_DAEMON] = close_daemon,
    [SECTION_REDIS] = database_close,
    [SECTION_SEMAPHORE] = close_resource,
    [SECTION_LOCK] = close_resource,
    [SECTION_POOL] = close_resource,
};

void section_close(struct loading *loading)
{
    struct section *section = &loading->section;
    end_value(section);
    if (section->state == SECTION_OPEN) {
        check_required(loading);
        closers[section->kind](loading);
    }
    known_set_deinit(&loading->items);
    free(section->database);
    *section = (struct section){.state = SECTION_NONE};
}
