/* redis_data.h - what a Redis keeps, in memory: hashes, sets and sorted sets of bytes. Sorted
 * arrays throughout, so that the same calls find the same order; a copy is a backup. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct bytes {
    const char *at;
    size_t n;
};

int bytes_compare(struct bytes a, struct bytes b);
static inline bool bytes_are(struct bytes a, struct bytes b)
{
    return bytes_compare(a, b) == 0;
}

struct member {
    double score; /* sorted sets */
    struct bytes name; /* a hash's field */
    struct bytes value; /* hashes */
};

enum value_type { VALUE_HASH, VALUE_SET, VALUE_SORTED };

/* Never empty: a value that loses its last member is gone. */
struct value {
    enum value_type type;
    struct bytes key;
    struct member **by_name;
    struct member **by_score; /* sorted sets: by score, then by name; else NULL */
    size_t n, size;
};

struct redis_data {
    struct value **values;
    size_t n;
};

struct redis_data *redis_data_new(void);
struct redis_data *redis_data_copy(const struct redis_data *data);
struct redis_data *redis_data_free(struct redis_data *data); /* accepts NULL; returns NULL */

struct value *redis_data_find(const struct redis_data *data, struct bytes key);
struct value *redis_data_make(struct redis_data *data, struct bytes key, enum value_type type);
/* Whether there was one. */
bool redis_data_remove(struct redis_data *data, struct bytes key);
/* After members may have gone. */
void redis_data_tidy(struct redis_data *data, struct value *value);

struct member *value_find(const struct value *value, struct bytes name);
/* Replaces a field of that name. Returns whether it is new. */
bool value_put_field(struct value *value, struct bytes name, struct bytes content);
bool value_put_score(struct value *value, struct bytes name, double score);
bool value_remove(struct value *value, struct bytes name);

/* How many members of a sorted set are before `score`, or `or_equal`. */
size_t value_rank_of_score(const struct value *value, double score, bool or_equal);
/* The same by names; all scores must be equal. */
size_t value_rank_of_name(const struct value *value, struct bytes name, bool or_equal);
