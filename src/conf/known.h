/* known.h - a table of strings already seen and where each was first seen: finds duplicates, caches
 * look-ups. */
#pragma once

#include "base/table.h"
#include "conf/complaints.h"

struct known {
    struct table_node node;
    struct known *next;
    struct place place; /* where it was first met */
    uint32_t id; /* for names.c: what the name service said */
    int result;
    int error;
    char text[];
};

struct known_set {
    struct table table;
    struct known *list;
};

#define KNOWN_SET_INIT                                                                             \
    {                                                                                              \
        .table = TABLE_INIT                                                                        \
    }

void known_set_deinit(struct known_set *set);
/* NULL if not known yet. */
struct known *known_find(const struct known_set *set, const char *text);
struct known *known_add(struct known_set *set, const char *text, struct place place);
