/* redis.h - a Redis in this process, as far as the scripts know one: Debian's Lua 5.1, cjson, their
 * commands. It runs them unchanged, by a clock that the caller sets. An unknown command, or an
 * unexpected error in a script, ends the program. */
#pragma once

#include "base/text.h"
#include "random.h"
#include "redis/scripts.h"
#include "redis_data.h"

#include <stdint.h>

struct redis_lua;

enum { REDIS_ID_BYTES = 40, NEVER_BREAKS_OFF = INT32_MAX };

struct redis {
    struct redis_data *data; /* may be replaced between calls */
    struct redis_lua *lua;
    struct random random;
    int64_t now; /* us, of its wall clock */
    char run_id[REDIS_ID_BYTES + 1], replid[REDIS_ID_BYTES + 1];
    bool is_full; /* maxmemory: scripts without the flag allow-oom are refused */
    int breaks_off_after; /* after this many writes a call ends, in an error */
    void (*publish)(void *context, struct bytes channel, struct bytes message);
    void *context;

    /* the last call's */
    int n_writes;
    bool was_broken_off;
};

void redis_init(struct redis *redis, uint64_t seed);
void redis_deinit(struct redis *redis);
/* FCALL: the answer, in RESP. */
void redis_run(struct redis *redis, enum script script, const struct keys *keys, size_t argc,
    const char *const argv[], const size_t lengths[], struct text *reply);
/* EVAL of a text without keys or arguments; an error is an answer. */
void redis_eval(
    struct redis *redis, const char *name, const char *text, size_t length, struct text *reply);
