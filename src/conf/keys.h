/* keys.h - the table of keys (keys.def): where each may stand, what values it takes, where they
 * go. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct value_type;

enum section_kind {
    SECTION_DAEMON,
    SECTION_REDIS,
    SECTION_SEMAPHORE,
    SECTION_LOCK,
    SECTION_POOL,
    N_SECTION_KINDS
};

extern const char *const section_words[N_SECTION_KINDS + 1]; /* ends with NULL */

enum key_id {
#define KEY(id, ...) KEY_##id,
#include "conf/keys.def"
#undef KEY
    N_KEYS
};

struct key_row {
    const char *word;
    const struct value_type *type;
    const char *initial; /* the default as it would be written; NULL: must be given */
    const char *help;
    size_t offset; /* in struct conf, struct database or struct definition */
    uint64_t min, max;
    uint8_t sections; /* bit 1 << enum section_kind */
    bool templates_only;
    bool reloadable;
};

extern const struct key_row key_table[N_KEYS];

static inline bool key_is_in(const struct key_row *key, enum section_kind kind)
{
    return key->sections >> kind & 1;
}

/* NULL if the section has no such key. */
const struct key_row *key_find(enum section_kind kind, const char *word);
