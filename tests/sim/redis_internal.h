/* redis_internal.h - for the files of the simulated Redis alone. */
#pragma once

#include "redis.h"

#include <lua.h>

enum { MAX_WORDS = 8192 };

/* What a command is called with, its word first. */
struct call {
    struct redis *redis;
    lua_State *lua;
    size_t argc;
    struct bytes argv[MAX_WORDS];
    struct value *value; /* of the key argv[1]; an empty one if there is none */
};

struct command {
    const char *word;
    int min, max; /* arguments, with the word */
    enum value_type type; /* of the key's value; VALUE_NONE: the command looks for keys itself */
    bool writes;
    bool makes; /* the value, if there is none: needs memory */
    /* Leaves its answer on Lua's stack: NULL, or the error. */
    const char *(*run)(const struct call *call);
};

extern const struct command redis_commands[]; /* an empty one ends them */
