#include "conf/keys.h"

#include "conf/configuration.h"
#include "conf/value_types.h"

#include <string.h>

const char *const section_words[N_SECTION_KINDS + 1] = {
    [SECTION_DAEMON] = "daemon",
    [SECTION_REDIS] = "redis",
    [SECTION_SEMAPHORE] = "semaphore",
    [SECTION_LOCK] = "lock",
    [SECTION_POOL] = "pool",
};

enum {
    DAEMON = 1 << SECTION_DAEMON,
    REDIS = 1 << SECTION_REDIS,
    SEMAPHORE = 1 << SECTION_SEMAPHORE,
    LOCK = 1 << SECTION_LOCK,
    POOL = 1 << SECTION_POOL,
    RESOURCE = SEMAPHORE | LOCK | POOL,
    ALL = DAEMON | REDIS | RESOURCE,
    TEMPLATE = 1 << N_SECTION_KINDS,
    START = false,
    RELOAD = true,
};

/* In nanoseconds, as the members have them. */
#define MILLISECOND UINT64_C(1000000)
#define SECOND (1000 * MILLISECOND)
#define HOUR (3600 * SECOND)
#define DAY (24 * HOUR)

#define DAEMON_MEMBER(member) offsetof(struct conf, member)
#define DATABASE_MEMBER(member) offsetof(struct database, member)
#define RESOURCE_MEMBER(member) offsetof(struct definition, member)
#define MAX_COUNTER ((UINT64_C(1) << 53) - 1) /* the largest exact integer of Lua */

#define NOWHERE 0
#define REQUIRED NULL

const struct key_row key_table[N_KEYS] = {
#define KEY(id, key_word, where, value, target, lowest, highest, text, when, help_text)            \
    [KEY_##id] = {                                                                                 \
        .word = (key_word),                                                                        \
        .sections = (where)&ALL,                                                                   \
        .templates_only = ((where)&TEMPLATE) != 0,                                                 \
        .type = &value_types[VALUE_##value],                                                       \
        .offset = (target),                                                                        \
        .min = (lowest),                                                                           \
        .max = (highest),                                                                          \
        .initial = (text),                                                                         \
        .reloadable = (when),                                                                      \
        .help = (help_text),                                                                       \
    },
#include "conf/keys.def"
#undef KEY
};

const struct key_row *key_find(enum section_kind kind, const char *word)
{
    for (size_t i = 0; i < N_KEYS; i++) {
        if (key_is_in(&key_table[i], kind) && strcmp(key_table[i].word, word) == 0) {
            return &key_table[i];
        }
    }
    return NULL;
}
