/* key_names.h - the names of a database's keys and channels in Redis. Pure. */
#pragma once

#include "redis/scripts.h"

#include <stdbool.h>

enum {
    CHANNEL_OWN, /* for events of one session */
    CHANNEL_ALL,
    N_CHANNELS
};

/* All names share one hash tag, the prefix. */
struct keys {
    char keys[N_SCRIPT_KEYS][SCRIPT_KEY_BYTES];
    char channels[N_CHANNELS][SCRIPT_KEY_BYTES];
};

/* False if the names would be too long. */
bool keys_init(struct keys *keys, const char *prefix, const char *session);
