/* key_names.c - the names of a database's keys and channels in Redis. */
#include "redis/scripts.h"

#include <stdio.h>

const char *const script_key_words[N_SCRIPT_KEYS] = {
    "db",
    "sessions",
    "session",
    "leases",
    "owned",
    "held",
    "users",
    "queue",
    "aside",
    "rest",
    "identities",
    "definitions",
    "changes",
    "events",
    "dirty",
    "freed",
    "news",
    "undone",
    "kept",
    "keeping",
    "elsewhere",
    "gone",
    "history",
};

static bool name(char out[SCRIPT_KEY_BYTES], const char *prefix, const char *word, const char *rest)
{
    return snprintf(out, SCRIPT_KEY_BYTES, "{%s}:%s%s", prefix, word, rest) < SCRIPT_KEY_BYTES;
}

bool keys_init(struct keys *keys, const char *prefix, const char *session)
{
    bool fits = name(keys->channels[CHANNEL_OWN], prefix, "s:", session) &&
        name(keys->channels[CHANNEL_ALL], prefix, "all", "");
    for (size_t i = 0; i < N_SCRIPT_KEYS; i++) {
        fits &= name(keys->keys[i], prefix, script_key_words[i], "");
    }
    return fits;
}
