#include "berth/grant.h"

#include "base/words.h"

#include <stdio.h>
#include <string.h>

enum { MAX_SLOT = 999999 };

static bool item_take(const char *text, size_t length, unit_function *function, void *context)
{
    char copy[ITEM_BYTES + 1];
    if (length >= sizeof copy) {
        return false;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (!item_is_valid(copy)) {
        return false;
    }
    function(context, text, length);
    return true;
}

static bool slots_take(const char *text, size_t length, unit_function *function, void *context)
{
    uint64_t first, last;
    if (!range_parse(text, length, MAX_SLOT, &first, &last)) {
        return false;
    }
    for (uint64_t slot = first; slot <= last; slot++) {
        char number[24];
        int n = snprintf(number, sizeof number, "%llu", (unsigned long long)slot);
        function(context, number, (size_t)n);
    }
    return true;
}

/* What follows a part of a list at its comma; NULL: it is the last. */
static const char *behind(const char *part, size_t length)
{
    return part[length] == ',' ? part + length + 1 : NULL;
}

bool granted_for_each_unit(const struct granted *granted, unit_function *function, void *context)
{
    bool is_good = true;
    size_t length;
    for (const char *part = granted->units; part && is_good; part = behind(part, length)) {
        length = strcspn(part, ",");
        is_good = (granted->pool ? item_take : slots_take)(part, length, function, context);
    }
    return is_good;
}

/* Uses ranges, not single slots: a lease may have a million. */
static bool granted_has_units(const struct granted *granted, uint64_t count)
{
    uint64_t n = 0;
    size_t length;
    for (const char *part = granted->units; part; part = behind(part, length)) {
        uint64_t first = 0, last = 0;
        length = strcspn(part, ",");
        if (!granted->pool && !range_parse(part, length, MAX_SLOT, &first, &last)) {
            return false;
        }
        n += last - first + 1;
    }
    return n == count;
}

static void ignore_unit(void *context, const char *unit, size_t length)
{
    (void)context, (void)unit, (void)length;
}

/* Parses "slot=NAME,TOKEN,SLOTS" or "item=NAME,TOKEN,ITEMS" in place. */
static bool granted_parse(struct granted *granted, char *word, const struct wanted *wanted)
{
    uint64_t token;
    char *name = strchr(word, '=') + 1;
    char *name_end = strchr(name, ',');
    char *token_end = name_end ? strchr(name_end + 1, ',') : NULL;
    if (!token_end) {
        return false;
    }
    *name_end = *token_end = '\0';
    *granted = (struct granted){
        .pool = strncmp(word, "item=", 5) == 0,
        .name = name,
        .token = name_end + 1,
        .units = token_end + 1,
        .count = wanted->count,
    };
    return strlen(name) == (size_t)wanted->name_length &&
        memcmp(name, wanted->name, strlen(name)) == 0 &&
        number_parse(granted->token, INT64_MAX, &token) &&
        granted_has_units(granted, wanted->count) &&
        (!granted->pool || granted_for_each_unit(granted, ignore_unit, NULL));
}

/* How the job is to be stopped. */
static void take_terms(struct grant *grant, const struct answer *answer)
{
    const char *bound = words_find(answer->words, answer->n_words, "bound");
    const char *kill_after = words_find(answer->words, answer->n_words, "kill_after");
    const char *on_lost = words_find(answer->words, answer->n_words, "on_lost");
    grant->is_bound_to_connection = bound && strcmp(bound, "connection") == 0;
    if (!kill_after || !duration_parse(kill_after, &grant->kill_after)) {
        grant->kill_after = NEVER;
    }
    if (!on_lost || !word_look_up(on_lost_words, on_lost, &grant->on_lost)) {
        grant->on_lost = ON_LOST_NOT_SAID;
    }
}

bool grant_parse(struct grant *grant, const struct answer *answer, const struct options *options)
{
    if (!answer->lease[0]) {
        return false;
    }
    memcpy(grant->lease, answer->lease, strlen(answer->lease) + 1);
    grant->n = 0;
    take_terms(grant, answer);
    char *text = grant->text; /* all words of a line fit */
    for (size_t i = 0; i < answer->n_words; i++) {
        const char *word = answer->words[i];
        if (strncmp(word, "slot=", 5) != 0 && strncmp(word, "item=", 5) != 0) {
            continue;
        }
        size_t size = strlen(word) + 1;
        if (grant->n == options->n_wanted) {
            return false;
        }
        memcpy(text, word, size);
        if (!granted_parse(&grant->granted[grant->n], text, &options->wanted[grant->n])) {
            return false;
        }
        text += size;
        grant->n++;
    }
    return grant->n == options->n_wanted;
}

/* ---- the same units ---- */

struct searching {
    const struct granted *in;
    bool all_found;
};

static void search_unit(void *context, const char *unit, size_t length)
{
    struct searching *searching = context;
    bool is_found = false;
    size_t n;
    for (const char *part = searching->in->units; part && !is_found; part = behind(part, n)) {
        n = strcspn(part, ",");
        is_found = n == length && memcmp(part, unit, n) == 0;
    }
    searching->all_found &= is_found;
}

/* Items may come in another order; slots are sorted. */
static bool granted_has_units_of(const struct granted *granted, const struct granted *other)
{
    struct searching searching = {other, true};
    if (granted->pool != other->pool) {
        return false;
    }
    if (!granted->pool || strcmp(granted->units, other->units) == 0) {
        return strcmp(granted->units, other->units) == 0;
    }
    granted_for_each_unit(granted, search_unit, &searching);
    return searching.all_found;
}

bool grant_has_units_of(const struct grant *grant, const struct grant *other)
{
    size_t i = 0;
    while (i < grant->n && granted_has_units_of(&grant->granted[i], &other->granted[i])) {
        i++;
    }
    return i == grant->n && grant->n == other->n;
}
