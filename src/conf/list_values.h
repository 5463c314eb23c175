/* list_values.h - the types of values that are lists (value_types.def): of items, users, groups. */
#ifndef BERTH_CONF_LIST_VALUES_H
#define BERTH_CONF_LIST_VALUES_H

#include "conf/value_types.h"

bool parse_item(const struct value *value, const char *word);
void describe_item(const struct key_row *key, FILE *out);
bool same_items(const void *a, const void *b);

/* Of a user or a group, as the key's type says. */
bool parse_id(const struct value *value, const char *word);
void describe_id(const struct key_row *key, FILE *out);
bool same_ids(const void *a, const void *b);

#endif
