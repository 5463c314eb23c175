/* names.h - users and groups by name or number. Each name is looked up once per load: thousands of
 * resources that name the same group cost the name service one query. */
#pragma once

#include "conf/known.h"

#include <stdint.h>

conf_lookup conf_system_lookup;

struct names {
    conf_lookup *lookup;
    struct known_set users, groups;
};

void names_deinit(struct names *names);

/* Of a user, or a group. On LOOKUP_FAILED errno says why. */
enum lookup_result names_find(struct names *names, bool is_group, const char *text, uint32_t *idp);
