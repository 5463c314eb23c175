/* value_types.h - the types of values (value_types.def): one word of text -> one member of the
 * object. */
#pragma once

#include "base/text.h"
#include "conf/complaints.h"
#include "conf/keys.h"
#include "conf/names.h"

struct loading;

/* A value being read, and where to complain about it. */
struct value {
    const struct key_row *key;
    void *object; /* the object that key->offset refers to; its members have their defaults */
    size_t n_words; /* so far */
    bool is_refused; /* it has too many words: complained of already */
    struct place place; /* of the words being read */
    uint32_t first_line; /* of the key */
    uint32_t word_line; /* of the word before; 0: none yet */
    struct loading *loading; /* NULL for a default */
};

/* Complains that the value is not what the key takes: `why`, and that in words. */
void value_refuse(const struct value *value, const char *why);

/* The member that takes the value. */
static inline void *value_target(const struct value *value)
{
    return (char *)value->object + value->key->offset;
}

struct value_type {
    /* False: the word is not what key_describe() says. Complains itself of anything else. */
    bool (*parse)(const struct value *value, const char *word);
    /* What it takes, with %m and %n the key's range as numbers, %M and %o its end as megabytes and
     * octal, %d its range as durations, and %c the choices. */
    const char *words;
    bool (*same)(const void *a, const void *b); /* of two members; NULL if nothing needs it */
    const char *const *choices;
    bool is_list;
};

enum value_type_id {
#define VALUE_TYPE(id, ...) VALUE_##id,
#include "conf/value_types.def"
#undef VALUE_TYPE
    N_VALUE_TYPES
};

extern const struct value_type value_types[N_VALUE_TYPES];

/* Adds what the key takes, in words. */
void key_describe(const struct key_row *key, struct text *out);

/* [redis NAME]: a name without parts. */
bool database_name_is_valid(const char *name);
