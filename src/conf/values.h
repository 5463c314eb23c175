/* values.h - splits a key's value, over all its lines, into words, passes each to the key's type,
 * and checks how many there are. */
#ifndef BERTH_CONF_VALUES_H
#define BERTH_CONF_VALUES_H

#include "conf/value_types.h"

/* `text` is the rest of the line behind "=", or a continuation. Complains of every error. */
void value_take(struct value *value, const char *text);
/* All words have been taken. */
void value_end(const struct value *value);
/* Stores the default if there is one. */
void value_set_default(const struct key_row *key, void *object);

#endif
