/* redis_internal.h - for the files of the simulated Redis alone. */
#pragma once

#include "redis.h"

#include <lua.h>

enum { MAX_WORDS = 8192 };

/* ---- redis_commands.c ---- */

struct command {
    const char *word;
    int min, max; /* arguments, with the word */
    bool writes, needs_memory;
    /* Leaves its answer on Lua's stack: NULL, or the error. */
    const char *(*run)(struct redis *redis, lua_State *lua, size_t argc, const struct bytes argv[]);
};

extern const struct command redis_commands[]; /* an empty one ends them */

/* ---- redis_pack.c ---- */

/* cmsgpack.pack() of one value, cmsgpack.unpack() of one. */
int redis_pack(lua_State *lua);
int redis_unpack(lua_State *lua);
