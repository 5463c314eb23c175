#include "core/definition.h"

#include "base/memory.h"
#include "base/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t hash_of_items(const struct definition *definition)
{
    uint64_t hash = hash_number(definition->n_items);
    for (size_t i = 0; i < definition->n_items; i++) {
        hash = hash_string(definition->items[i], hash);
    }
    return hash;
}

struct basis definition_basis(const struct definition *definition)
{
    bool is_pool = definition->kind == KIND_POOL;
    return (struct basis){
        .is_pool = is_pool,
        .database = definition->database,
        .value = is_pool ? hash_of_items(definition) : definition->limit,
    };
}

bool template_name_above(const char *name, char out[static NAME_BYTES + 1])
{
    const char *slash = strrchr(name, '/');
    size_t length = slash ? (size_t)(slash + 1 - name) : 0;
    if (length == 0 || length >= NAME_BYTES) {
        return false;
    }
    memcpy(out, name, length);
    memcpy(out + length, "*", 2);
    return true;
}

bool definition_leaves_name(const struct definition *definition, const char *name, uint32_t uid)
{
    if (!definition->has_own_names) {
        return true;
    }
    char own[16];
    int length = snprintf(own, sizeof own, "/%lu-", (unsigned long)uid);
    const char *slash = strrchr(name, '/');
    return slash && strncmp(slash, own, (size_t)length) == 0;
}

bool definition_has_item(const struct definition *definition, const char *item)
{
    size_t i = 0;
    while (i < definition->n_items && strcmp(definition->items[i], item) != 0) {
        i++;
    }
    return i < definition->n_items;
}

static struct id_set id_set_copy(const struct id_set *set)
{
    struct id_set copy = {.n = set->n};
    if (set->n > 0) {
        copy.ids = memory_resize(NULL, set->n, sizeof *copy.ids);
        memcpy(copy.ids, set->ids, set->n * sizeof *copy.ids);
    }
    return copy;
}

struct definition *definition_copy(const struct definition *definition)
{
    struct definition *copy = memory_new(sizeof *copy);
    *copy = *definition;
    copy->name = memory_string(definition->name);
    copy->items = NULL;
    if (definition->n_items > 0) {
        copy->items = memory_resize(NULL, definition->n_items, sizeof *copy->items);
    }
    for (size_t i = 0; i < definition->n_items; i++) {
        copy->items[i] = memory_string(definition->items[i]);
    }
    copy->levels = NULL;
    if (definition->n_levels > 0) {
        copy->levels = memory_resize(NULL, definition->n_levels, sizeof *copy->levels);
    }
    for (size_t i = 0; i < definition->n_levels; i++) {
        copy->levels[i] = definition->levels[i];
        copy->levels[i].name = memory_string(definition->levels[i].name);
    }
    copy->rights = (struct rights){
        .allow_users = id_set_copy(&definition->rights.allow_users),
        .allow_groups = id_set_copy(&definition->rights.allow_groups),
        .deny_users = id_set_copy(&definition->rights.deny_users),
        .deny_groups = id_set_copy(&definition->rights.deny_groups),
        .admin_users = id_set_copy(&definition->rights.admin_users),
        .admin_groups = id_set_copy(&definition->rights.admin_groups),
    };
    return copy;
}

void definition_deinit(struct definition *definition)
{
    for (size_t i = 0; i < definition->n_items; i++) {
        free(definition->items[i]);
    }
    free(definition->items);
    for (size_t i = 0; i < definition->n_levels; i++) {
        free(definition->levels[i].name);
    }
    free(definition->levels);
    free(definition->name);
    free(definition->rights.allow_users.ids);
    free(definition->rights.allow_groups.ids);
    free(definition->rights.deny_users.ids);
    free(definition->rights.deny_groups.ids);
    free(definition->rights.admin_users.ids);
    free(definition->rights.admin_groups.ids);
}

void definition_free(struct definition *definition)
{
    if (definition) {
        definition_deinit(definition);
        free(definition);
    }
}
