/* registry.h - strings met before, and where. */
#ifndef BERTH_CONF_REGISTRY_H
#define BERTH_CONF_REGISTRY_H

#include "conf/complaints.h"
#include "core/table.h"

struct known {
    struct table_node node;
    struct known *next;
    struct place place; /* where it was first met */
    uint32_t id; /* for names.c: what the name service said */
    int result;
    int error;
    char text[];
};

struct registry {
    struct table table;
    struct known *list;
};

#define REGISTRY_INIT                                                                              \
    {                                                                                              \
        .table = TABLE_INIT                                                                        \
    }

void registry_deinit(struct registry *registry);
/* NULL if not known yet. */
struct known *registry_find(const struct registry *registry, const char *text);
struct known *registry_add(struct registry *registry, const char *text, struct place place);

#endif
