/* json_internal.h - values of JSON from what berthd says, and the document that has them: for the
 * files of json.h. Pure. */
#pragma once

#include "view/json.h"

#include <jansson.h>

/* Adds the value in ASCII, without an LF, and frees it. */
void json_add(json_t *value, struct text *out);
/* The same as one line. */
void json_finish(json_t *object, struct text *out);

/* Each is the caller's. */
json_t *text_value(const char *string); /* NULL: null */
json_t *number_value(uint64_t number); /* at most INT64_MAX */
json_t *optional_value(const struct optional *optional); /* not given: null */
json_t *instant_value(const struct instant *instant); /* the same */
json_t *words_value(const struct words *words);
json_t *user_name_value(const struct shown_user *user); /* the name; none is known: null */

/* A member for each key, but those that only followers get. */
void set_fields(json_t *object, const struct field *fields, const void *record);
/* A member for each attribute that has a title. */
void shown_set(json_t *object, const char *const shown[N_SHOWN]);

/* ---- objects of one document that others have too ---- */

/* Of `berthctl history --json`. It is the caller's. */
json_t *past_lease_value(const struct past_lease *lease);
