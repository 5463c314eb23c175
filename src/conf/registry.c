#include "conf/registry.h"

#include "core/memory.h"

#include <stdlib.h>
#include <string.h>

void registry_deinit(struct registry *registry)
{
    while (registry->list) {
        struct known *known = registry->list;
        registry->list = known->next;
        table_remove(&registry->table, &known->node);
        free(known);
    }
    table_deinit(&registry->table);
}

struct known *registry_find(const struct registry *registry, const char *text)
{
    struct table_node *node = table_find(&registry->table, hash_string(text, 0));
    while (node && strcmp(container_of(node, struct known, node)->text, text) != 0) {
        node = table_find_next(node);
    }
    return node ? container_of(node, struct known, node) : NULL;
}

struct known *registry_add(struct registry *registry, const char *text, struct place place)
{
    size_t size = strlen(text) + 1;
    struct known *known = memory_new(sizeof *known + size);
    memcpy(known->text, text, size);
    known->place = place;
    known->next = registry->list;
    registry->list = known;
    table_insert(&registry->table, &known->node, hash_string(text, 0));
    return known;
}
