#include "conf/known.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

void known_set_deinit(struct known_set *set)
{
    while (set->list) {
        struct known *known = set->list;
        set->list = known->next;
        table_remove(&set->table, &known->node);
        free(known);
    }
    table_deinit(&set->table);
}

struct known *known_find(const struct known_set *set, const char *text)
{
    struct table_node *node = table_find(&set->table, hash_string(text, 0));
    while (node && strcmp(container_of(node, struct known, node)->text, text) != 0) {
        node = table_find_next(node);
    }
    return node ? container_of(node, struct known, node) : NULL;
}

struct known *known_add(struct known_set *set, const char *text, struct place place)
{
    size_t size = strlen(text) + 1;
    struct known *known = memory_new(sizeof *known + size);
    memcpy(known->text, text, size);
    known->place = place;
    known->next = set->list;
    set->list = known;
    table_insert(&set->table, &known->node, hash_string(text, 0));
    return known;
}
