/* redis.c - Lua as in Redis: what scripts see, and how their results become answers. */
#include "redis_internal.h"

#include "base/memory.h"

#include <lauxlib.h>
#include <lua-cjson.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct redis_lua {
    lua_State *state;
    int functions[N_SCRIPTS]; /* of the library: references in Lua's registry */
    bool allow_oom[N_SCRIPTS]; /* their flags */
    struct call call; /* the present one of redis.call() */
    bool may_fail; /* its errors are an answer */
};

static const char refused_at_maxmemory[] =
    "OOM allow-oom flag is not set on the script, can not run it when used memory > 'maxmemory'";

/* While a library is loaded, it can register functions and has nothing else, not even Lua's own.
 * Returns the functions by name: each, and whether it has the flag allow-oom. */
static const char loading[] = "local functions = {}\n"
                              "redis = {register_function = function(row)\n"
                              "    local flags, allows_oom = row.flags or {}, false\n"
                              "    for i = 1, #flags do\n"
                              "        allows_oom = allows_oom or flags[i] == 'allow-oom'\n"
                              "    end\n"
                              "    functions[row.function_name] = {row.callback, allows_oom}\n"
                              "end}\n"
                              "return functions\n";

/* What functions find, which make no globals and read only existing ones. Their cmsgpack makes
 * texts that are values of Lua, which is all that they need of it. */
static const char running[] =
    "local load, concat, format = loadstring, table.concat, string.format\n"
    "local function pack(value)\n"
    "    if type(value) == 'string' then\n"
    "        return format('%q', value)\n"
    "    elseif type(value) == 'number' then\n"
    "        return format('%.17g', value)\n"
    "    elseif type(value) ~= 'table' then\n"
    "        return tostring(value)\n"
    "    end\n"
    "    local parts, n = {}, #value\n"
    "    for i = 1, n do\n"
    "        parts[i] = pack(value[i])\n"
    "    end\n"
    "    for key, part in pairs(value) do\n"
    "        if type(key) ~= 'number' or key < 1 or key > n then\n"
    "            parts[#parts + 1] = '[' .. pack(key) .. ']=' .. pack(part)\n"
    "        end\n"
    "    end\n"
    "    return '{' .. concat(parts, ',') .. '}'\n"
    "end\n"
    "cmsgpack = {pack = pack, unpack = function(text) return load('return ' .. text)() end}\n"
    "redis = {call = call, pcall = call, error_reply = function(text) return {err = text} end}\n"
    "call = nil\n"
    "local function refuse(_, name)\n"
    "    error('there is no global variable ' .. name)\n"
    "end\n"
    "setmetatable(_G, {__index = refuse, __newindex = refuse})\n";

__attribute__((noreturn)) static void give_up(const char *what, const char *text)
{
    fprintf(stderr, "redis: %s: %s\n", what, text);
    abort();
}

/* ---- redis.call ---- */

/* The words that Lua passes, numbers as Redis writes them. */
static size_t take_words(lua_State *lua, struct bytes argv[])
{
    char number[32];
    int n = lua_gettop(lua);
    if (n == 0 || n > MAX_WORDS) {
        luaL_error(lua, "Please specify at least one argument for this redis.call()");
    }
    for (int i = 1; i <= n; i++) {
        if (lua_type(lua, i) == LUA_TNUMBER) {
            snprintf(number, sizeof number, "%.17g", lua_tonumber(lua, i));
            lua_pushstring(lua, number);
            lua_replace(lua, i);
        } else if (lua_type(lua, i) != LUA_TSTRING) {
            luaL_error(lua, "Lua redis lib command arguments must be strings or integers");
        }
        argv[i - 1].at = lua_tolstring(lua, i, &argv[i - 1].n);
    }
    return (size_t)n;
}

static const struct command *find_command(const char *word)
{
    const struct command *command = redis_commands;
    while (command->word && strcasecmp(command->word, word) != 0) {
        command++;
    }
    return command->word ? command : NULL;
}

/* Between two commands no value is empty. */
static const char *run_command(struct call *call, const struct command *command)
{
    static struct value nothing;
    struct redis_data *data = call->redis->data;
    struct value *value = command->type != VALUE_NONE ? redis_data_find(data, call->argv[1]) : NULL;
    if (value && value->type != command->type) {
        return "WRONGTYPE Operation against a key holding the wrong kind of value";
    } else if (!value && command->makes) {
        value = redis_data_make(data, call->argv[1], command->type);
    }
    call->value = value ? value : &nothing;
    const char *error = command->run(call);
    if (value && value->n == 0) {
        redis_data_remove(data, call->argv[1]);
    }
    return error;
}

static int call(lua_State *lua)
{
    struct redis *redis = lua_touserdata(lua, lua_upvalueindex(1));
    struct call *call = &redis->lua->call;
    call->redis = redis;
    call->lua = lua;
    call->argc = take_words(lua, call->argv);
    const struct command *command = find_command(call->argv[0].at);
    if (!command) {
        give_up("unknown command", call->argv[0].at);
    } else if (call->argc < (size_t)command->min || call->argc > (size_t)command->max) {
        return luaL_error(lua, "ERR Wrong number of args calling Redis command from script");
    }
    redis->was_broken_off |= command->writes && redis->n_writes >= redis->breaks_off_after;
    const char *error = redis->was_broken_off ? "ERR broken off" : run_command(call, command);
    if (error) {
        lua_pushstring(lua, error);
        return lua_error(lua);
    }
    redis->n_writes += command->writes;
    return 1;
}

/* ---- what scripts see ---- */

static void run_text(lua_State *lua, const char *text, size_t length, const char *name)
{
    if (luaL_loadbuffer(lua, text, length, name) != 0 || lua_pcall(lua, 0, LUA_MULTRET, 0) != 0) {
        give_up(name, lua_tostring(lua, -1));
    }
}

/* The first line, "#!lua name=...", is not Lua. */
static void load_functions(struct redis_lua *redis, lua_State *lua, const struct script_set *set)
{
    const char *text = strchr(set->library, '\n');
    run_text(lua, loading, sizeof loading - 1, "loading");
    run_text(lua, text, strlen(text), set->name);
    for (size_t i = 0; i < N_SCRIPTS; i++) {
        lua_getfield(lua, 1, set->functions[i]);
        lua_rawgeti(lua, -1, 2);
        redis->allow_oom[i] = lua_toboolean(lua, -1);
        lua_rawgeti(lua, -2, 1);
        redis->functions[i] = luaL_ref(lua, LUA_REGISTRYINDEX);
    }
    lua_settop(lua, 0);
}

static void open_libraries(struct redis *redis, lua_State *lua)
{
    static const lua_CFunction libraries[] = {
        luaopen_base, luaopen_table, luaopen_string, luaopen_math};
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; i++) {
        lua_pushcfunction(lua, libraries[i]);
        lua_call(lua, 0, 0);
    }
    lua_pushcfunction(lua, luaopen_cjson);
    lua_call(lua, 0, 1);
    lua_setglobal(lua, "cjson");
    lua_pushlightuserdata(lua, redis);
    lua_pushcclosure(lua, call, 1);
    lua_setglobal(lua, "call");
    run_text(lua, running, sizeof running - 1, "running");
}

static void push_list(lua_State *lua, size_t n, const char *const list[], const size_t lengths[])
{
    lua_createtable(lua, (int)n, 0);
    for (size_t i = 0; i < n; i++) {
        lua_pushlstring(lua, list[i], lengths[i]);
        lua_rawseti(lua, -2, (int)i + 1);
    }
}

/* ---- answers, as RESP ---- */

static void add_answer(lua_State *lua, struct text *reply);

/* Ends at the first nil. */
static void add_array(lua_State *lua, struct text *reply)
{
    int n = 0;
    for (bool is_nil = false; !is_nil; n += !is_nil) {
        lua_rawgeti(lua, -1, n + 1);
        is_nil = lua_isnil(lua, -1);
        lua_pop(lua, 1);
    }
    text_add_format(reply, "*%d\r\n", n);
    for (int i = 1; i <= n; i++) {
        lua_rawgeti(lua, -1, i);
        add_answer(lua, reply);
        lua_pop(lua, 1);
    }
}

/* From redis.error_reply(). */
static bool add_error(lua_State *lua, struct text *reply)
{
    lua_getfield(lua, -1, "err");
    const char *error = lua_tostring(lua, -1);
    if (error) {
        text_add_format(reply, "-%s\r\n", error);
    }
    lua_pop(lua, 1);
    return error != NULL;
}

static void add_answer(lua_State *lua, struct text *reply)
{
    size_t n;
    const char *text;
    luaL_checkstack(lua, 4, "in an answer");
    switch (lua_type(lua, -1)) {
    case LUA_TSTRING:
        text = lua_tolstring(lua, -1, &n);
        text_add_format(reply, "$%zu\r\n", n);
        text_add_bytes(reply, text, n);
        text_add(reply, "\r\n");
        break;
    case LUA_TNUMBER:
        text_add_format(reply, ":%lld\r\n", (long long)lua_tonumber(lua, -1));
        break;
    case LUA_TBOOLEAN:
        text_add(reply, lua_toboolean(lua, -1) ? ":1\r\n" : "$-1\r\n");
        break;
    case LUA_TTABLE:
        if (!add_error(lua, reply)) {
            add_array(lua, reply);
        }
        break;
    default:
        text_add(reply, "$-1\r\n");
    }
}

/* ---- a call ---- */

static void run(struct redis *redis, const char *name, int n_arguments, struct text *reply)
{
    lua_State *lua = redis->lua->state;
    redis->n_writes = 0;
    redis->was_broken_off = false;
    if (lua_pcall(lua, n_arguments, 1, 0) == 0) {
        add_answer(lua, reply);
    } else if (redis->was_broken_off || redis->lua->may_fail) {
        text_add_format(reply, "-%s\r\n", lua_tostring(lua, -1));
    } else {
        give_up(name, lua_tostring(lua, -1));
    }
    lua_settop(lua, 0);
}

void redis_run(struct redis *redis, enum script script, const struct keys *keys, size_t argc,
    const char *const argv[], const size_t lengths[], struct text *reply)
{
    lua_State *lua = redis->lua->state;
    const char *names[N_SCRIPT_KEYS];
    size_t name_lengths[N_SCRIPT_KEYS];
    for (size_t i = 0; i < N_SCRIPT_KEYS; i++) {
        names[i] = keys->keys[i];
        name_lengths[i] = strlen(names[i]);
    }
    if (redis->is_full && !redis->lua->allow_oom[script]) {
        redis->n_writes = 0;
        redis->was_broken_off = true;
        text_add_format(reply, "-%s\r\n", refused_at_maxmemory);
        return;
    }
    lua_rawgeti(lua, LUA_REGISTRYINDEX, redis->lua->functions[script]);
    push_list(lua, N_SCRIPT_KEYS, names, name_lengths);
    push_list(lua, argc, argv, lengths);
    run(redis, script_words[script], 2, reply);
}

void redis_eval(
    struct redis *redis, const char *name, const char *text, size_t length, struct text *reply)
{
    lua_State *lua = redis->lua->state;
    if (luaL_loadbuffer(lua, text, length, name) != 0) {
        give_up(name, lua_tostring(lua, -1));
    }
    redis->lua->may_fail = true;
    run(redis, name, 0, reply);
    redis->lua->may_fail = false;
}

/* ---- life ---- */

void redis_init(struct redis *redis, uint64_t seed)
{
    *redis = (struct redis){.data = redis_data_new(),
        .lua = memory_new(sizeof *redis->lua),
        .random = {.state = seed},
        .breaks_off_after = NEVER_BREAKS_OFF};
    lua_State *lua = luaL_newstate();
    if (!lua) {
        give_up("Lua", "out of memory");
    }
    redis->lua->state = lua;
    load_functions(redis->lua, lua, &script_sets[0]);
    open_libraries(redis, lua);
}

void redis_deinit(struct redis *redis)
{
    lua_close(redis->lua->state);
    free(redis->lua);
    redis->data = redis_data_free(redis->data);
}
