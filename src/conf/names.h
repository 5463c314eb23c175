/* names.h - names that files have: which were seen already, and where; and users and groups by name
 * or number. Each of these is looked up once per load: thousands of resources that name the same
 * group cost the name service one query. */
#pragma once

#include "base/table.h"
#include "conf/complaints.h"

#include <stdint.h>

/* ---- names that were seen already ---- */

struct known {
    struct table_node node;
    struct known *next;
    struct place place; /* where it was first met */
    uint32_t id; /* of a user or a group: what the name service said */
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

/* ---- users and groups ---- */

conf_lookup conf_system_lookup;

struct names {
    conf_lookup *lookup;
    struct known_set users, groups;
};

void names_deinit(struct names *names);

/* Of a user, or a group. On LOOKUP_FAILED errno says why. */
enum lookup_result names_find(struct names *names, bool is_group, const char *text, uint32_t *idp);
