/* core_text.c - see the header. */
#include "core_text.h"

#include <criterion/criterion.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

const char *const outcome_words[N_OUTCOMES] = {
    [OUTCOME_OK] = "ok",
    [OUTCOME_WAITING] = "waiting",
    [OUTCOME_PENDING] = "pending",
    [OUTCOME_WOULD_WAIT] = "would-wait",
    [OUTCOME_TIMEOUT] = "timeout",
    [OUTCOME_PAUSED] = "paused",
    [OUTCOME_CLOSED] = "closed",
    [OUTCOME_DRAINING] = "draining",
    [OUTCOME_HELD] = "held",
    [OUTCOME_ANCESTOR] = "ancestor",
    [OUTCOME_CIRCLE] = "circle",
    [OUTCOME_QUEUE_FULL] = "queue-full",
    [OUTCOME_QUOTA] = "quota",
    [OUTCOME_IN_USE] = "in-use",
    [OUTCOME_OLDER] = "older",
    [OUTCOME_GRACE] = "grace",
    [OUTCOME_NOT_NEW] = "not-new",
    [OUTCOME_CANCELLED] = "cancelled",
    [OUTCOME_REPLACED] = "replaced",
    [OUTCOME_RELEASED] = "released",
    [OUTCOME_LOST] = "lost",
    [OUTCOME_DROPPED] = "dropped",
    [OUTCOME_REVOKED] = "revoked",
    [OUTCOME_WITHDRAWN] = "withdrawn",
    [OUTCOME_MAX_HOLD] = "max-hold",
    [OUTCOME_EXPIRED] = "expired",
    [OUTCOME_DOWN] = "down",
    [OUTCOME_DEADLINE] = "deadline",
    [OUTCOME_NO_SPACE] = "no-space",
    [OUTCOME_FORBIDDEN] = "forbidden",
    [OUTCOME_JOBS_ONLY] = "jobs-only",
    [OUTCOME_NOT_HOLDER] = "not-holder",
    [OUTCOME_UNKNOWN] = "unknown",
    [OUTCOME_IMPOSSIBLE] = "impossible",
    [OUTCOME_MIXED] = "mixed",
    [OUTCOME_DIFFERS] = "differs",
    [OUTCOME_TOO_MUCH] = "too-much",
    [OUTCOME_KIND] = "kind",
};

enum outcome outcome_of(const char *word)
{
    for (size_t i = 0; i < N_OUTCOMES; i++) {
        if (strcmp(outcome_words[i], word) == 0) {
            return (enum outcome)i;
        }
    }
    cr_assert_fail("no outcome %s", word);
    abort();
}

bool next_word(const char **restp, char word[WORD_BYTES])
{
    const char *start = *restp + strspn(*restp, " ");
    size_t n = strcspn(start, " ");
    cr_assert_lt(n, (size_t)WORD_BYTES);
    memcpy(word, start, n);
    word[n] = '\0';
    *restp = start + n;
    return n > 0;
}

nanoseconds seconds(const char *text)
{
    return (nanoseconds)(strtod(text, NULL) * 1e9);
}

uint32_t number(const char *text)
{
    cr_assert(isdigit((unsigned char)text[0]), "%s", text);
    return (uint32_t)strtoul(text, NULL, 10);
}

enum on_lost on_lost_of(const char *word)
{
    cr_assert(strcmp(word, "kill") == 0 || strcmp(word, "term") == 0 || strcmp(word, "warn") == 0);
    return word[0] == 'k' ? ON_LOST_KILL : word[0] == 't' ? ON_LOST_TERM : ON_LOST_WARN;
}

enum nested nested_of(const char *word)
{
    size_t i = 0;
    while (i < N_NESTED && strcmp(nested_words[i], word) != 0) {
        i++;
    }
    cr_assert_lt(i, (size_t)N_NESTED, "%s", word);
    return (enum nested)i;
}

static void set_items(struct definition *definition, const char *items)
{
    char *copy = strdup(items), *save = NULL;
    for (char *item = strtok_r(copy, ",", &save); item; item = strtok_r(NULL, ",", &save)) {
        definition->items =
            reallocarray(definition->items, definition->n_items + 1, sizeof definition->items[0]);
        definition->items[definition->n_items++] = strdup(item);
    }
    free(copy);
}

/* NAME[:N],... */
static void set_levels(struct definition *definition, const char *levels)
{
    char *copy = strdup(levels), *save = NULL;
    for (char *name = strtok_r(copy, ",", &save); name; name = strtok_r(NULL, ",", &save)) {
        char *count = strchr(name, ':');
        definition->levels = reallocarray(
            definition->levels, definition->n_levels + 1, sizeof definition->levels[0]);
        if (count) {
            *count++ = '\0';
        }
        definition->levels[definition->n_levels++] =
            (struct level){.name = strdup(name), .count = count ? number(count) : 1};
    }
    free(copy);
}

static void set_key(struct definition *definition, const char *key, const char *value)
{
    const struct {
        const char *key;
        uint32_t *target;
    } numbers[] = {
        {"limit", &definition->limit},
        {"max-waiters", &definition->max_waiters},
        {"max-units-per-user", &definition->max_units_per_user},
        {"max-overtakes", &definition->max_overtakes},
        {"burst", &definition->burst},
        {"max-instances", &definition->max_instances},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (strcmp(numbers[i].key, key) == 0) {
            *numbers[i].target = number(value);
            return;
        }
    }
    if (strcmp(key, "items") == 0) {
        set_items(definition, value);
    } else if (strcmp(key, "also") == 0) {
        set_levels(definition, value);
    } else if (strcmp(key, "select") == 0) {
        definition->selection = value[0] == 'l' ? SELECT_LRU
            : value[0] == 'f'                   ? SELECT_FIRST
                                                : SELECT_RANDOM;
    } else if (strcmp(key, "order") == 0) {
        definition->order = strcmp(value, "first-fit") == 0 ? ORDER_FIRST_FIT
            : strcmp(value, "fair") == 0                    ? ORDER_FAIR
                                                            : ORDER_FIFO;
    } else if (strcmp(key, "fair-by") == 0) {
        definition->fair_by_share = strcmp(value, "share") == 0;
    } else if (strcmp(key, "rate") == 0) {
        definition->rate.units = number(value);
        definition->rate.window = seconds(strchr(value, '/') + 1);
        definition->burst = definition->burst ? definition->burst : 1;
    } else if (strcmp(key, "cooldown") == 0) {
        definition->cooldown = seconds(value);
    } else if (strcmp(key, "database") == 0) {
        definition->database = (uint8_t)number(value);
    } else if (strcmp(key, "max-hold") == 0) {
        definition->max_hold = seconds(value);
    } else if (strcmp(key, "kill-after") == 0) {
        definition->kill_after = seconds(value);
    } else if (strcmp(key, "keep") == 0) {
        definition->keep = seconds(value);
    } else if (strcmp(key, "on-lost") == 0) {
        definition->on_lost = on_lost_of(value);
    } else if (strcmp(key, "nested") == 0) {
        definition->nested = nested_of(value);
    } else if (strcmp(key, "max-priority") == 0) {
        definition->max_priority = (int32_t)number(value);
    } else if (strcmp(key, "identity") == 0) {
        definition->identity_shared = strcmp(value, "shared") == 0;
    } else {
        cr_assert_fail("no key %s", key);
    }
}

static void set_bound(struct user_bounds *bounds, const char *key, const char *value)
{
    uint32_t *target = strcmp(key, "clients") == 0 ? &bounds->clients
        : strcmp(key, "waiters") == 0              ? &bounds->waiters
        : strcmp(key, "leases") == 0               ? &bounds->leases
        : strcmp(key, "instances") == 0            ? &bounds->instances
                                                   : NULL;
    cr_assert_not_null(target, "no bound %s", key);
    *target = number(value);
}

static enum kind kind_of(const char *word)
{
    cr_assert(
        strcmp(word, "semaphore") == 0 || strcmp(word, "lock") == 0 || strcmp(word, "pool") == 0);
    return word[0] == 's' ? KIND_SEMAPHORE : word[0] == 'l' ? KIND_LOCK : KIND_POOL;
}

void definitions_parse(
    struct definitions *definitions, struct user_bounds *bounds, const char *line)
{
    char word[64], name[64];
    cr_assert(next_word(&line, word));
    bool is_user = strcmp(word, "user") == 0;
    struct definition *definition = &definitions->list[definitions->n];
    if (!is_user) {
        cr_assert_lt(definitions->n, (size_t)MAX_DEFINITIONS);
        cr_assert(next_word(&line, name));
        *definition = (struct definition){.name = strdup(name),
            .kind = kind_of(word),
            .limit = word[0] == 'l',
            .max_hold = NEVER,
            .kill_after = 10 * NANOSECONDS_PER_SECOND,
            .on_lost = ON_LOST_KILL,
            .keep = 10 * NANOSECONDS_PER_SECOND,
            .max_waiters = 1000,
            .max_units_per_user = UNBOUNDED,
            .max_overtakes = 100,
            .max_instances = 100,
            .max_priority = 1000};
        definitions->n++;
    }
    while (next_word(&line, word)) {
        char *equals = strchr(word, '=');
        cr_assert_not_null(equals, "%s", word);
        *equals = '\0';
        if (is_user) {
            set_bound(bounds, word, equals + 1);
        } else {
            set_key(definition, word, equals + 1);
        }
    }
}

void definitions_free(struct definitions *definitions)
{
    for (size_t i = 0; definitions && i < definitions->n; i++) {
        definition_deinit(&definitions->list[i]);
        memset(&definitions->list[i], 0xaa, sizeof definitions->list[i]);
    }
    free(definitions);
}
