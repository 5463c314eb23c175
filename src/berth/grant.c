#include "berth/grant.h"

#include "base/words.h"

#include <stdio.h>
#include <string.h>

enum { MAX_SLOT = 999999 };

/* What follows a part of a list at its comma; NULL: it is the last. */
static const char *behind(const char *part, size_t length)
{
    return part[length] == ',' ? part + length + 1 : NULL;
}

/* How many units a part of the list has; 0: it is malformed. */
static uint64_t count_part(const struct granted *granted, const char *part, size_t length)
{
    uint64_t first, last;
    char item[ITEM_BYTES + 1];
    if (!granted->pool) {
        return range_parse(part, length, MAX_SLOT, &first, &last) ? last - first + 1 : 0;
    }
    snprintf(item, sizeof item, "%.*s", (int)length, part);
    return length < sizeof item && item_is_valid(item);
}

/* Uses ranges, not single slots: a lease may have a million. 0: they are malformed. */
static uint64_t count_units(const struct granted *granted)
{
    uint64_t n = 0, more = 1;
    size_t length;
    for (const char *part = granted->units; part && more > 0; part = behind(part, length)) {
        length = strcspn(part, ",");
        more = count_part(granted, part, length);
        n += more;
    }
    return more > 0 ? n : 0;
}

struct unit_walk unit_walk_of(const struct granted *granted)
{
    return (struct unit_walk){.rest = granted->units, .pool = granted->pool};
}

bool unit_walk_next(struct unit_walk *walk)
{
    const char *part = walk->rest;
    if (walk->slot == walk->slots_end) {
        if (!part) {
            return false;
        }
        walk->length = strcspn(part, ",");
        walk->rest = behind(part, walk->length);
        walk->unit = part;
        if (walk->pool) {
            return true;
        }
        range_parse(part, walk->length, MAX_SLOT, &walk->slot, &walk->slots_end);
        walk->slots_end++;
    }
    walk->unit = walk->number;
    walk->length = (size_t)snprintf(
        walk->number, sizeof walk->number, "%llu", (unsigned long long)walk->slot++);
    return true;
}

/* Parses "slot=NAME,TOKEN,SLOTS" or "item=NAME,TOKEN,ITEMS" in place. There may be more units than
 * wanted: as many as something else that is wanted takes of them (`also`). */
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
    };
    uint64_t count = count_units(granted);
    granted->count = (uint32_t)count;
    return strlen(name) == (size_t)wanted->name_length &&
        memcmp(name, wanted->name, strlen(name)) == 0 &&
        number_parse(granted->token, INT64_MAX, &token) &&
        count >= wanted->count && count <= UINT32_MAX;
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

static bool has_item(const struct granted *granted, const char *item, size_t length)
{
    struct unit_walk walk = unit_walk_of(granted);
    while (unit_walk_next(&walk)) {
        if (walk.length == length && memcmp(walk.unit, item, length) == 0) {
            return true;
        }
    }
    return false;
}

/* Items may come in another order; slots are sorted. */
static bool granted_has_units_of(const struct granted *granted, const struct granted *other)
{
    bool is_same = granted->pool == other->pool &&
        (granted->pool || strcmp(granted->units, other->units) == 0);
    struct unit_walk walk = unit_walk_of(granted);
    while (is_same && granted->pool && unit_walk_next(&walk)) {
        is_same = has_item(other, walk.unit, walk.length);
    }
    return is_same;
}

bool grant_has_units_of(const struct grant *grant, const struct grant *other)
{
    size_t i = 0;
    while (i < grant->n && granted_has_units_of(&grant->granted[i], &other->granted[i])) {
        i++;
    }
    return i == grant->n && grant->n == other->n;
}
