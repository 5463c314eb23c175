/* list_values.c - the types of values (value_types.def) that are lists: of items, users, groups. */
#include "conf/value_types.h"

#include "base/memory.h"
#include "base/words.h"

#include <stdlib.h>
#include <string.h>

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

bool parse_item(const struct value *value, const char *word)
{
    struct definition *definition = value->object;
    if (has_commas_between_items(word)) {
        VALUE_COMPLAIN(value, "\"%s\": separate items with blanks, not commas", word);
        return true;
    }
    if (!item_is_valid(word)) {
        return false;
    }
    const struct known *first = known_find(value->items, word);
    if (first) {
        VALUE_COMPLAIN(value, "\"%s\" appears twice, first in line %lu", word,
            (unsigned long)first->place.line);
        return true;
    }
    known_add(value->items, word, value->place);
    definition->items =
        memory_grow(definition->items, definition->n_items, sizeof *definition->items);
    definition->items[definition->n_items++] = memory_string(word);
    return true;
}

bool same_items(const void *a, const void *b)
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
    set->ids = memory_grow(set->ids, set->n, sizeof *set->ids);
    set->ids[set->n++] = id;
}

bool same_ids(const void *a, const void *b)
{
    const struct id_set *left = a, *right = b;
    return left->n == right->n &&
        (left->n == 0 || memcmp(left->ids, right->ids, left->n * sizeof *left->ids) == 0);
}

static bool is_of_groups(const struct key_row *key)
{
    return key->type == &value_types[VALUE_groups];
}

bool parse_id(const struct value *value, const char *word)
{
    uint32_t id;
    enum lookup_result result = names_find(value->names, is_of_groups(value->key), word, &id);
    if (result == LOOKUP_FOUND) {
        id_set_add(value_target(value), id);
    } else if (result == LOOKUP_FAILED) {
        VALUE_COMPLAIN(value, "\"%s\" cannot be looked up: %m", word);
    }
    return result != LOOKUP_UNKNOWN;
}
