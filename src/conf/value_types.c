#include "conf/value_types.h"

#include "base/memory.h"
#include "base/words.h"
#include "conf/grow.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void *target(const struct value *value)
{
    return (char *)value->object + value->key->offset;
}

/* ---- numbers ---- */

static bool parse_number(const struct value *value, const char *word)
{
    uint64_t number;
    if (!number_parse(word, value->key->max, &number) || number < value->key->min) {
        return false;
    }
    *(uint32_t *)target(value) = (uint32_t)number;
    return true;
}

static void describe_number(const struct key_row *key, FILE *out)
{
    fprintf(out, "a number from %llu to %llu", (unsigned long long)key->min,
        (unsigned long long)key->max);
}

static bool parse_bound(const struct value *value, const char *word)
{
    if (strcmp(word, "unbounded") != 0) {
        return parse_number(value, word);
    }
    *(uint32_t *)target(value) = UNBOUNDED;
    return true;
}

static void describe_bound(const struct key_row *key, FILE *out)
{
    describe_number(key, out);
    fputs(", or unbounded", out);
}

/* Bytes, or with a suffix that a power of 1024 has. */
static bool parse_size(const struct value *value, const char *word)
{
    static const char suffixes[] = "KMG";
    char digits[16];
    size_t n = strcspn(word, suffixes);
    const char *suffix = word[n] ? strchr(suffixes, word[n]) : NULL;
    unsigned shift = suffix ? 10 * (unsigned)(suffix - suffixes + 1) : 0;
    uint64_t number;
    if (n >= sizeof digits || (suffix && word[n + 1] != '\0')) {
        return false;
    }
    memcpy(digits, word, n);
    digits[n] = '\0';
    if (!number_parse(digits, value->key->max >> shift, &number) ||
        number << shift < value->key->min) {
        return false;
    }
    *(uint32_t *)target(value) = (uint32_t)(number << shift);
    return true;
}

static void describe_size(const struct key_row *key, FILE *out)
{
    fprintf(out, "a number of bytes from %llu to %lluM, such as 65536, 512K or 2M",
        (unsigned long long)key->min, (unsigned long long)key->max >> 20);
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
    *(uint32_t *)target(value) = (uint32_t)mode;
    return true;
}

static void describe_mode(const struct key_row *key, FILE *out)
{
    fprintf(out, "an octal mode from 0000 to %04llo", (unsigned long long)key->max);
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
    *(nanoseconds *)target(value) = duration;
    return true;
}

static void describe_duration(const struct key_row *key, FILE *out)
{
    char min[32], max[32];
    duration_format(min, sizeof min, (nanoseconds)key->min);
    duration_format(max, sizeof max, (nanoseconds)key->max);
    fprintf(out,
        "a duration from %s to %s, such as 250ms, 30s, 5m or 2h (a plain number is seconds)", min,
        max);
}

/* A duration that may be endless. */
static bool parse_span(const struct value *value, const char *word)
{
    if (strcmp(word, "unbounded") != 0) {
        return parse_duration(value, word);
    }
    *(nanoseconds *)target(value) = NEVER;
    return true;
}

static void describe_span(const struct key_row *key, FILE *out)
{
    describe_duration(key, out);
    fputs(", or unbounded", out);
}

static bool same_duration(const void *a, const void *b)
{
    return *(const nanoseconds *)a == *(const nanoseconds *)b;
}

/* ---- paths ---- */

static bool parse_any_path(const struct value *value, const char *word)
{
    char **textp = target(value);
    if (strlen(word) > value->key->max) {
        return false;
    }
    free(*textp);
    *textp = memory_string(word);
    return true;
}

static void describe_any_path(const struct key_row *key, FILE *out)
{
    fprintf(out, "a path of at most %llu bytes", (unsigned long long)key->max);
}

static bool parse_path(const struct value *value, const char *word)
{
    size_t n = strlen(word);
    return n >= value->key->min && word[0] == '/' && word[n - 1] != '/' &&
        parse_any_path(value, word);
}

static void describe_path(const struct key_row *key, FILE *out)
{
    fprintf(out, "an absolute path of at most %llu bytes", (unsigned long long)key->max);
}

static bool same_text(const void *a, const void *b)
{
    const char *left = *(char *const *)a, *right = *(char *const *)b;
    return left && right ? strcmp(left, right) == 0 : left == right;
}

/* ---- choices: words in the order of their enum ---- */

static const char *const order_words[] = {"fifo", "first-fit", NULL};
static const char *const selection_words[] = {"lru", "first", "random", NULL};
static const char *const sharing_words[] = {"per-user", "shared", NULL};
static const char *const showing_words[] = {"all", "owner", NULL};
static const char *const logging_words[] = {"changes", "leases", NULL};
static const char *const consent_words[] = {"no", "yes", NULL};
static const char *const scope_words[] = {"host", "fleet", NULL};

static_assert(ORDER_FIFO == 0 && ORDER_FIRST_FIT == 1, "order_words");
static_assert(SELECT_LRU == 0 && SELECT_FIRST == 1 && SELECT_RANDOM == 2, "selection_words");
static_assert(sizeof(enum queue_order) == sizeof(unsigned), "parse_choice stores unsigned");
static_assert(sizeof(enum selection) == sizeof(unsigned), "parse_choice stores unsigned");
static_assert(sizeof(enum on_lost) == sizeof(unsigned), "parse_choice stores unsigned");

static bool choose(const struct value *value, const char *word, unsigned *choicep)
{
    const char *const *choices = value->key->type->choices;
    for (unsigned i = 0; choices[i]; i++) {
        if (strcmp(choices[i], word) == 0) {
            *choicep = i;
            return true;
        }
    }
    return false;
}

static void describe_choice(const struct key_row *key, FILE *out)
{
    const char *const *choices = key->type->choices;
    for (size_t i = 0; choices[i]; i++) {
        fprintf(out, "%s%s", i == 0 ? "" : choices[i + 1] ? ", " : " or ", choices[i]);
    }
}

static bool parse_choice(const struct value *value, const char *word)
{
    return choose(value, word, target(value));
}

/* The second of the two words means true. */
static bool parse_either(const struct value *value, const char *word)
{
    unsigned choice;
    if (!choose(value, word, &choice)) {
        return false;
    }
    *(bool *)target(value) = choice == 1;
    return true;
}

static bool parse_scope(const struct value *value, const char *word)
{
    unsigned choice;
    if (!choose(value, word, &choice)) {
        return false;
    }
    *(uint8_t *)target(value) = choice == 1; /* the database is found later */
    return true;
}

static bool same_choice(const void *a, const void *b)
{
    return *(const unsigned *)a == *(const unsigned *)b;
}

static bool same_either(const void *a, const void *b)
{
    return *(const bool *)a == *(const bool *)b;
}

static bool same_scope(const void *a, const void *b)
{
    return *(const uint8_t *)a == *(const uint8_t *)b;
}

/* ---- databases ---- */

static void value_complain(const struct value *value, const char *what)
{
    complain(value->complaints, value->place, value->section, value->key->word, "%s", what);
}

/* The value's lines are joined. It is never shown, as it may hold a password. */
static bool parse_url(const struct value *value, const char *word)
{
    char **textp = target(value);
    if (value->word_line == value->place.line) {
        value_complain(value, "contains a blank; in a user, password or path write %20");
        return true;
    }
    char *joined = NULL;
    if (asprintf(&joined, "%s%s", *textp ? *textp : "", word) < 0) {
        abort();
    }
    free(*textp);
    *textp = joined;
    return true;
}

static void describe_url(const struct key_row *key, FILE *out)
{
    (void)key;
    fputs("a URL: redis://HOST, unix:///PATH or sentinel://HOST,HOST/MASTER", out);
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
        FILE *out =
            complaint_begin(value->complaints, value->place, value->section, value->key->word);
        fputs("not ", out);
        value->key->type->describe(value->key, out);
        complaint_end(value->complaints);
    }
    return true;
}

static void describe_secret(const struct key_row *key, FILE *out)
{
    describe_path(key, out);
    fputs(", or " CREDENTIAL "NAME", out);
}

static void describe_account(const struct key_row *key, FILE *out)
{
    fprintf(out, "the name of a user of Redis, of at most %llu bytes",
        (unsigned long long)key->max);
}

static bool parse_fault(const struct value *value, const char *word)
{
    unsigned choice;
    if (!choose(value, word, &choice)) {
        return false;
    }
    *(fault_set *)target(value) |= (fault_set)1 << choice;
    return true;
}

static bool parse_prefix(const struct value *value, const char *word)
{
    size_t n = strlen(word);
    return n >= value->key->min &&
        strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == n &&
        parse_any_path(value, word);
}

static void describe_prefix(const struct key_row *key, FILE *out)
{
    fprintf(out, "%llu to %llu bytes of A-Z a-z 0-9 . _ -", (unsigned long long)key->min,
        (unsigned long long)key->max);
}

static bool parse_counter(const struct value *value, const char *word)
{
    return number_parse(word, value->key->max, target(value));
}

static bool parse_database(const struct value *value, const char *word)
{
    if (!database_name_is_valid(word)) {
        return false;
    }
    if (value->database) {
        free(*value->database);
        *value->database = memory_string(word);
    }
    return true;
}

static void describe_database(const struct key_row *key, FILE *out)
{
    (void)key;
    fputs("the name of a [redis NAME] section", out);
}

/* ---- lists ---- */

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
        complain(value->complaints, value->place, value->section, value->key->word,
            "\"%s\": items have blanks between them, not commas", word);
        return true;
    }
    if (!item_is_valid(word)) {
        return false;
    }
    const struct known *first = known_find(value->items, word);
    if (first) {
        complain(value->complaints, value->place, value->section, value->key->word,
            "\"%s\" appears twice, first in line %lu", word, (unsigned long)first->place.line);
        return true;
    }
    known_add(value->items, word, value->place);
    definition->items =
        array_grow(definition->items, definition->n_items, sizeof *definition->items);
    definition->items[definition->n_items++] = memory_string(word);
    return true;
}

static void describe_item(const struct key_row *key, FILE *out)
{
    (void)key;
    fprintf(out, "an item: 1 to %d bytes of A-Z a-z 0-9 . _ / : @ + -", ITEM_BYTES);
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

static void id_set_add(struct id_set *set, uint32_t id)
{
    set->ids = array_grow(set->ids, set->n, sizeof *set->ids);
    set->ids[set->n++] = id;
}

static bool same_ids(const void *a, const void *b)
{
    const struct id_set *left = a, *right = b;
    return left->n == right->n &&
        (left->n == 0 || memcmp(left->ids, right->ids, left->n * sizeof *left->ids) == 0);
}

/* Complains and returns false if the name is unknown. */
static bool add_name(
    const struct value *value, const char *word, enum lookup_result result, uint32_t id)
{
    if (result == LOOKUP_FOUND) {
        id_set_add(target(value), id);
    } else if (result == LOOKUP_FAILED) {
        complain(value->complaints, value->place, value->section, value->key->word,
            "\"%s\" cannot be looked up: %m", word);
    }
    return result != LOOKUP_UNKNOWN;
}

static bool parse_user(const struct value *value, const char *word)
{
    uint32_t id;
    enum lookup_result result = names_find_user(value->names, word, &id);
    return add_name(value, word, result, id);
}

static void describe_user(const struct key_row *key, FILE *out)
{
    (void)key;
    fputs("a user of this host, nor a numeric id", out);
}

static bool parse_group(const struct value *value, const char *word)
{
    uint32_t id;
    enum lookup_result result = names_find_group(value->names, word, &id);
    return add_name(value, word, result, id);
}

static void describe_group(const struct key_row *key, FILE *out)
{
    (void)key;
    fputs("a group of this host, nor a numeric id", out);
}

/* ---- all types ---- */

const struct value_type value_types[N_VALUE_TYPES] = {
#define VALUE_TYPE(id, parse_function, describe_function, same_function, words, list)              \
    [VALUE_##id] = {                                                                               \
        .parse = (parse_function),                                                                 \
        .describe = (describe_function),                                                           \
        .same = (same_function),                                                                   \
        .choices = (words),                                                                        \
        .is_list = (list),                                                                         \
    },
#include "conf/value_types.def"
#undef VALUE_TYPE
};

bool database_name_is_valid(const char *name)
{
    return name_is_valid(name) && !strchr(name, '/');
}
