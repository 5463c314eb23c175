#include "conf/sections.h"

#include "base/memory.h"
#include "base/words.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */

static bool parse_number(const struct value *value, const char *word)
{
    uint64_t number;
    if (!number_parse(word, value->key->max, &number) || number < value->key->min) {
        return false;
    }
    *(uint32_t *)value_target(value) = (uint32_t)number;
    return true;
}

static bool parse_bound(const struct value *value, const char *word)
{
    if (strcmp(word, "unbounded") != 0) {
        return parse_number(value, word);
    }
    *(uint32_t *)value_target(value) = UNBOUNDED;
    return true;
}

static bool parse_size(const struct value *value, const char *word)
{
    uint64_t number;
    if (!size_parse(word, value->key->max, &number) || number < value->key->min) {
        return false;
    }
    *(uint32_t *)value_target(value) = (uint32_t)number;
    return true;
}

static bool parse_mode(const struct value *value, const char *word)
{
    size_t n = strlen(word);
    if (n < 3 || n > 4 || strspn(word, "01234567") != n) {
        return false;
    }
    unsigned long mode = strtoul(word, NULL, 8);
    if (mode > value->key->max) {
        return false;
    }
    *(uint32_t *)value_target(value) = (uint32_t)mode;
    return true;
}

static bool same_number(const void *a, const void *b)
{
    return *(const uint32_t *)a == *(const uint32_t *)b;
}

/* ---- durations ---- */

static bool parse_duration(const struct value *value, const char *word)
{
    nanoseconds duration;
    if (!duration_parse(word, &duration) || (uint64_t)duration < value->key->min ||
        (uint64_t)duration > value->key->max) {
        return false;
    }
    *(nanoseconds *)value_target(value) = duration;
    return true;
}

/* A duration that may be endless. */
static bool parse_span(const struct value *value, const char *word)
{
    if (strcmp(word, "unbounded") != 0) {
        return parse_duration(value, word);
    }
    *(nanoseconds *)value_target(value) = NEVER;
    return true;
}

static bool same_duration(const void *a, const void *b)
{
    return *(const nanoseconds *)a == *(const nanoseconds *)b;
}

/* ---- rates ---- */

enum { MAX_WINDOW_DAYS = 366, SECONDS_PER_DAY = 24 * 3600 };

static bool window_parse(const char *word, nanoseconds *windowp)
{
    return duration_parse(word, windowp) && *windowp >= NANOSECONDS_PER_MILLISECOND &&
        *windowp % NANOSECONDS_PER_MILLISECOND == 0 &&
        *windowp <= MAX_WINDOW_DAYS * SECONDS_PER_DAY * NANOSECONDS_PER_SECOND;
}

static bool parse_rate(const struct value *value, const char *word)
{
    struct rate rate = {.units = 0};
    char *units_word = memory_string(word), *window_word = units_word;
    uint64_t units = 0;
    strsep(&window_word, "/");
    bool is_good = window_word ? number_parse(units_word, value->key->max, &units) &&
            units >= value->key->min && window_parse(window_word, &rate.window)
                               : strcmp(word, "unbounded") == 0;
    rate.units = (uint32_t)units;
    if (is_good) {
        *(struct rate *)value_target(value) = rate;
    }
    free(units_word);
    return is_good;
}

static bool same_rate(const void *a, const void *b)
{
    const struct rate *left = a, *right = b;
    return left->units == right->units && left->window == right->window;
}

/* ---- paths ---- */

static bool parse_any_path(const struct value *value, const char *word)
{
    char **textp = value_target(value);
    if (strlen(word) > value->key->max) {
        return false;
    }
    free(*textp);
    *textp = memory_string(word);
    return true;
}

static bool parse_path(const struct value *value, const char *word)
{
    size_t n = strlen(word);
    return n >= value->key->min && word[0] == '/' && word[n - 1] != '/' &&
        parse_any_path(value, word);
}

static bool same_text(const void *a, const void *b)
{
    const char *left = *(char *const *)a, *right = *(char *const *)b;
    return left && right ? strcmp(left, right) == 0 : left == right;
}

/* ---- choices: words in the order of their enum ---- */

static const char *const order_words[] = {"fifo", "first-fit", "fair", NULL};
static const char *const selection_words[] = {"lru", "first", "random", NULL};
static const char *const flow_words[] = {"user", "share", NULL};
static const char *const sharing_words[] = {"per-user", "shared", NULL};
static const char *const showing_words[] = {"all", "owner", NULL};
static const char *const logging_words[] = {"changes", "leases", NULL};
static const char *const consent_words[] = {"no", "yes", NULL};
static const char *const refusal_words[] = {"yes", "no", NULL};
static const char *const scope_words[] = {"host", "fleet", NULL};
static const char *const tls_version_words[] = {"1.2", "1.3", NULL};

static_assert(ORDER_FIFO == 0 && ORDER_FIRST_FIT == 1 && ORDER_FAIR == 2, "order_words");
static_assert(SELECT_LRU == 0 && SELECT_FIRST == 1 && SELECT_RANDOM == 2, "selection_words");
static_assert(TLS_MIN_1_2 == 0 && TLS_MIN_1_3 == 1, "tls_version_words");
static_assert(sizeof(enum tls_min_version) == sizeof(unsigned), "parse_choice stores unsigned");
static_assert(sizeof(enum queue_order) == sizeof(unsigned), "parse_choice stores unsigned");
static_assert(sizeof(enum selection) == sizeof(unsigned), "parse_choice stores unsigned");
static_assert(sizeof(enum nested) == sizeof(unsigned), "parse_choice stores unsigned");
static_assert(sizeof(enum on_lost) == sizeof(unsigned), "parse_choice stores unsigned");

static bool choose(const struct value *value, const char *word, unsigned *choicep)
{
    return word_look_up(value->key->type->choices, word, choicep);
}

static bool parse_choice(const struct value *value, const char *word)
{
    return choose(value, word, value_target(value));
}

/* The second of the two words means true, or 1. */
static bool parse_either(const struct value *value, const char *word)
{
    unsigned choice;
    if (!choose(value, word, &choice)) {
        return false;
    }
    *(uint8_t *)value_target(value) = choice == 1;
    return true;
}

static bool same_either(const void *a, const void *b)
{
    return *(const uint8_t *)a == *(const uint8_t *)b;
}

/* ---- databases ---- */

/* The value's lines are joined. It is never shown, as it may hold a password. */
static bool parse_url(const struct value *value, const char *word)
{
    char **textp = value_target(value);
    if (value->word_line == value->place.line) {
        VALUE_COMPLAIN(value, "contains a blank; in a user, password or path write %%20");
        return true;
    }
    struct text joined = TEXT_INIT;
    text_add(&joined, *textp ? *textp : "");
    text_add(&joined, word);
    free(*textp);
    *textp = text_take(&joined);
    return true;
}

#define CREDENTIAL "credential:"

/* Not shown either: it may be the password itself, written there by mistake. */
static bool parse_secret(const struct value *value, const char *word)
{
    static const char characters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._@+-";
    const char *name = word + strlen(CREDENTIAL);
    bool is_credential = strncmp(word, CREDENTIAL, strlen(CREDENTIAL)) == 0 && name[0] != '\0' &&
        strspn(name, characters) == strlen(name) && strcmp(name, ".") != 0 &&
        strcmp(name, "..") != 0;
    if (is_credential ? !parse_any_path(value, word) : !parse_path(value, word)) {
        value_refuse(value, "not ");
    }
    return true;
}

static bool parse_fault(const struct value *value, const char *word)
{
    unsigned choice;
    if (!choose(value, word, &choice)) {
        return false;
    }
    *(fault_set *)value_target(value) |= (fault_set)1 << choice;
    return true;
}

#define LETTERS_AND_DIGITS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

static bool parse_characters(const struct value *value, const char *word, const char *characters)
{
    size_t n = strlen(word);
    return n >= value->key->min && strspn(word, characters) == n && parse_any_path(value, word);
}

/* A name, or a numeric address. */
static bool parse_host(const struct value *value, const char *word)
{
    return word[0] != '.' && parse_characters(value, word, LETTERS_AND_DIGITS "._-:");
}

static bool parse_prefix(const struct value *value, const char *word)
{
    return parse_characters(value, word, LETTERS_AND_DIGITS "._-");
}

static bool parse_counter(const struct value *value, const char *word)
{
    return number_parse(word, value->key->max, value_target(value));
}

static bool parse_database(const struct value *value, const char *word)
{
    if (!database_name_is_valid(word)) {
        return false;
    }
    if (value->loading) {
        char **databasep = &value->loading->section.database;
        free(*databasep);
        *databasep = memory_string(word);
    }
    return true;
}

/* ---- lists of items, users, groups ---- */

/* "a,b", "a,": a list as other files have it. */
static bool has_commas_between_items(const char *word)
{
    char *copy = memory_string(word), *rest = copy;
    bool are_items = strchr(word, ',');
    for (char *item; are_items && (item = strsep(&rest, ",")) != NULL;) {
        are_items = item[0] == '\0' || item_is_valid(item);
    }
    free(copy);
    return are_items;
}

static bool parse_item(const struct value *value, const char *word)
{
    struct definition *definition = value->object;
    if (has_commas_between_items(word)) {
        VALUE_COMPLAIN(value, "\"%s\": separate items with blanks, not commas", word);
        return true;
    }
    if (!item_is_valid(word)) {
        return false;
    }
    const struct known *first = known_find(&value->loading->items, word);
    if (first) {
        VALUE_COMPLAIN(value, "\"%s\" appears twice, first in line %lu", word,
            (unsigned long)first->place.line);
        return true;
    }
    known_add(&value->loading->items, word, value->place);
    definition->items =
        memory_grow(definition->items, definition->n_items, sizeof *definition->items);
    definition->items[definition->n_items++] = memory_string(word);
    return true;
}

static bool same_items(const void *a, const void *b)
{
    const struct definition *left = container_of(a, const struct definition, items);
    const struct definition *right = container_of(b, const struct definition, items);
    size_t i = 0;
    while (
        i < left->n_items && i < right->n_items && strcmp(left->items[i], right->items[i]) == 0) {
        i++;
    }
    return i == left->n_items && i == right->n_items;
}

/* ---- levels ---- */

static bool parse_level(const struct value *value, const char *word)
{
    struct definition *definition = value->object;
    const char *colon = strchr(word, ':');
    uint64_t count = 1;
    char name[NAME_BYTES + 1];
    size_t length = colon ? (size_t)(colon - word) : strlen(word);
    memcpy(name, word, length <= NAME_BYTES ? length : 0);
    name[length <= NAME_BYTES ? length : 0] = '\0';
    if (!name_is_valid(name) ||
        (colon && (!number_parse(colon + 1, MAX_LIMIT, &count) || count == 0))) {
        return false;
    }
    for (size_t i = 0; i < definition->n_levels; i++) {
        if (strcmp(definition->levels[i].name, name) == 0) {
            VALUE_COMPLAIN(value, "\"%s\" appears twice", name);
            return true;
        }
    }
    size_t n = definition->n_levels++;
    definition->levels = memory_grow(definition->levels, n, sizeof *definition->levels);
    definition->levels[n] =
        (struct level){.name = memory_string(name), .count = (uint32_t)count};
    return true;
}

static bool same_levels(const void *a, const void *b)
{
    const struct definition *left = container_of(a, const struct definition, levels);
    const struct definition *right = container_of(b, const struct definition, levels);
    size_t i = 0;
    while (i < left->n_levels && i < right->n_levels &&
        strcmp(left->levels[i].name, right->levels[i].name) == 0 &&
        left->levels[i].count == right->levels[i].count) {
        i++;
    }
    return i == left->n_levels && i == right->n_levels;
}

static void id_set_add(struct id_set *set, uint32_t id)
{
    set->ids = memory_grow(set->ids, set->n, sizeof *set->ids);
    set->ids[set->n++] = id;
}

static bool same_ids(const void *a, const void *b)
{
    const struct id_set *left = a, *right = b;
    return left->n == right->n &&
        (left->n == 0 || memcmp(left->ids, right->ids, left->n * sizeof *left->ids) == 0);
}

static bool parse_id(const struct value *value, const char *word)
{
    uint32_t id;
    bool is_group = value->key->type == &value_types[VALUE_groups];
    enum lookup_result result = names_find(&value->loading->names, is_group, word, &id);
    if (result == LOOKUP_FOUND) {
        id_set_add(value_target(value), id);
    } else if (result == LOOKUP_FAILED) {
        VALUE_COMPLAIN(value, "\"%s\" cannot be looked up: %m", word);
    }
    return result != LOOKUP_UNKNOWN;
}

/* ---- in words ---- */

static void describe_duration(const struct key_row *key, struct text *out)
{
    static const char *const examples[] = {"250ms", "30s", "5m", "2h"};
    char min[32], max[32];
    const char *right[sizeof examples / sizeof examples[0]];
    size_t n = 0;
    for (size_t i = 0; i < sizeof examples / sizeof examples[0]; i++) {
        nanoseconds example;
        if (duration_parse(examples[i], &example) && example >= (nanoseconds)key->min &&
            example <= (nanoseconds)key->max) {
            right[n++] = examples[i];
        }
    }
    duration_format(min, sizeof min, (nanoseconds)key->min);
    duration_format(max, sizeof max, (nanoseconds)key->max);
    text_add_format(out, "a duration from %s to %s, such as ", min, max);
    for (size_t i = 0; i < n; i++) {
        text_add_format(out, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " or ", right[i]);
    }
    text_add(out, " (a plain number is seconds)");
}

static void describe_choices(const struct key_row *key, struct text *out)
{
    const char *const *choices = key->type->choices;
    for (size_t i = 0; choices[i]; i++) {
        text_add_format(out, "%s%s", i == 0 ? "" : choices[i + 1] ? ", " : " or ", choices[i]);
    }
}

void key_describe(const struct key_row *key, struct text *out)
{
    unsigned long long min = key->min, max = key->max;
    for (const char *at = key->type->words; *at; at++) {
        switch (*at == '%' ? *++at : '\0') {
        case 'm':
            text_add_format(out, "%llu", min);
            break;
        case 'n':
            text_add_format(out, "%llu", max);
            break;
        case 'M':
            text_add_format(out, "%lluM", max >> 20);
            break;
        case 'o':
            text_add_format(out, "%04llo", max);
            break;
        case 'd':
            describe_duration(key, out);
            break;
        case 'c':
            describe_choices(key, out);
            break;
        default:
            text_add_bytes(out, at, 1);
        }
    }
}

void value_refuse(const struct value *value, const char *why)
{
    struct text takes = TEXT_INIT;
    key_describe(value->key, &takes);
    VALUE_COMPLAIN(value, "%s%s", why, takes.bytes);
    text_deinit(&takes);
}

/* ---- all types ---- */

const struct value_type value_types[N_VALUE_TYPES] = {
#define VALUE_TYPE(id, parse_function, described, same_function, words_to_choose, list)            \
    [VALUE_##id] = {                                                                               \
        .parse = (parse_function),                                                                 \
        .words = (described),                                                                      \
        .same = (same_function),                                                                   \
        .choices = (words_to_choose),                                                              \
        .is_list = (list),                                                                         \
    },
#include "conf/value_types.def"
#undef VALUE_TYPE
};

bool database_name_is_valid(const char *name)
{
    return name_is_valid(name) && !strchr(name, '/');
}
