/* list_values.h - the types of values that are lists (value_types.def): of items, users, groups. */
#ifndef BERTH_CONF_LIST_VALUES_H
#define BERTH_CONF_LIST_VALUES_H

#include "conf/value_types.h"

bool parse_item(const struct value *value, const char *word);
void describe_item(const struct key_row *key, FILE *out);
bool same_items(const void *a, const void *b);

bool parse_user(const struct value *value, const char *word);
void describe_user(const struct key_row *key, FILE *out);
bool parse_group(const struct value *value, const char *word);
void describe_group(const struct key_row *key, FILE *out);
bool same_ids(const void *a, const void *b);

#endif
