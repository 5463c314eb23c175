/* redis_data.h - what a Redis keeps, in memory: hashes, sets and sorted sets of bytes. Sorted
 * arrays throughout, so that the same calls find the same order; a copy is a backup. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct bytes {
    const char *at;
    size_t n;
};

struct bytes bytes_of(const char *text);
bool bytes_are(struct bytes a, struct bytes b);

struct member {
    double score; /* sorted sets; of a stream the number of the entry; else 0 */
    struct bytes name; /* a hash's field */
    struct bytes value; /* hashes; of an entry its fields */
};

enum value_type { VALUE_NONE, VALUE_HASH, VALUE_SET, VALUE_SORTED, VALUE_STREAM };

/* Between two commands never empty: a value that loses its last member is gone. */
struct value {
    enum value_type type;
    struct bytes key;
    struct member **members; /* by score, then by name */
    size_t n;
};

struct redis_data {
    struct value **values;
    size_t n;
};

struct redis_data *redis_data_new(void);
struct redis_data *redis_data_copy(const struct redis_data *data);
struct redis_data *redis_data_free(struct redis_data *data); /* accepts NULL; returns NULL */

struct value *redis_data_find(const struct redis_data *data, struct bytes key);
/* A member of the key's value; NULL if there is no such value or member. */
const struct member *redis_data_member(
    const struct redis_data *data, const char *key, const char *name);
struct value *redis_data_make(struct redis_data *data, struct bytes key, enum value_type type);
/* Whether there was one. */
bool redis_data_remove(struct redis_data *data, struct bytes key);

const struct member *value_find(const struct value *value, struct bytes name);
/* Replaces a member of that name. Returns whether it is new. */
bool value_put(struct value *value, struct member member);
bool value_remove(struct value *value, struct bytes name);

/* How many members are before `score`, and before `name` among those with that score unless it is
 * NULL; `or_equal`: with those that are equal. */
size_t value_rank(const struct value *value, double score, const struct bytes *name, bool or_equal);
