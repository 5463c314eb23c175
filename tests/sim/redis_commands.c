/* redis_commands.c - the commands of the `user` line in doc/fleet.md, with the options that the
 * scripts use. A process test plays the same on a real server. */
#include "redis_internal.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define WRONG_TYPE "WRONGTYPE Operation against a key holding the wrong kind of value"
#define NOT_AN_INTEGER "ERR value is not an integer or out of range"
#define NOT_A_FLOAT "ERR value is not a valid float"
#define SYNTAX "ERR syntax error"
#define NOT_A_SCORE_RANGE "ERR min or max is not a float"
#define NOT_A_NAME_RANGE "ERR min or max not valid string range item"

#define COMMAND(name)                                                                              \
    static const char *name(                                                                       \
        struct redis *redis, lua_State *lua, size_t argc, const struct bytes argv[])

/* ---- words ---- */

static bool is_word(struct bytes text, const char *word)
{
    return text.n == strlen(word) && strncasecmp(text.at, word, text.n) == 0;
}

/* Only as Redis writes it. */
static bool parse_integer(struct bytes text, int64_t *numberp)
{
    char copy[24], again[24];
    if (text.n == 0 || text.n >= sizeof copy) {
        return false;
    }
    memcpy(copy, text.at, text.n);
    copy[text.n] = '\0';
    *numberp = strtoll(copy, NULL, 10);
    size_t n = (size_t)snprintf(again, sizeof again, "%lld", (long long)*numberp);
    return n == text.n && memcmp(again, text.at, n) == 0;
}

static bool parse_score(struct bytes text, double *scorep)
{
    char copy[128], *end;
    if (text.n == 0 || text.n >= sizeof copy || text.at[0] == ' ') {
        return false;
    }
    memcpy(copy, text.at, text.n);
    copy[text.n] = '\0';
    *scorep = strtod(copy, &end);
    return end == copy + text.n && !isnan(*scorep);
}

static void push_bytes(lua_State *lua, struct bytes bytes)
{
    lua_pushlstring(lua, bytes.at, bytes.n);
}

static void push_number(lua_State *lua, size_t number)
{
    lua_pushnumber(lua, (lua_Number)number);
}

static void push_nil(lua_State *lua) /* what Lua gets for nil in Redis */
{
    lua_pushboolean(lua, false);
}

/* As a string, as in RESP 2. */
static void push_score(lua_State *lua, double score)
{
    char text[64];
    if (isinf(score)) {
        snprintf(text, sizeof text, "%s", score > 0 ? "inf" : "-inf");
    } else if (score == floor(score) && fabs(score) < 1e17) {
        snprintf(text, sizeof text, "%lld", (long long)score);
    } else {
        snprintf(text, sizeof text, "%.17g", score);
    }
    lua_pushstring(lua, text);
}

/* ---- values ---- */

/* Whether the key has no value of another type; *valuep is NULL if it has none at all. */
static bool find(struct redis *redis, struct bytes key, enum value_type type, struct value **valuep)
{
    *valuep = redis_data_find(redis->data, key);
    return !*valuep || (*valuep)->type == type;
}

static struct value *make(
    struct redis *redis, struct value *value, struct bytes key, enum value_type type)
{
    return value ? value : redis_data_make(redis->data, key, type);
}

static const char *count_members(
    struct redis *redis, lua_State *lua, struct bytes key, enum value_type type)
{
    struct value *value;
    if (!find(redis, key, type, &value)) {
        return WRONG_TYPE;
    }
    push_number(lua, value ? value->n : 0);
    return NULL;
}

static const char *remove_members(struct redis *redis, lua_State *lua, size_t argc,
    const struct bytes argv[], enum value_type type)
{
    struct value *value;
    size_t n = 0;
    if (!find(redis, argv[1], type, &value)) {
        return WRONG_TYPE;
    }
    for (size_t i = 2; value && i < argc; i++) {
        n += value_remove(value, argv[i]);
    }
    if (value) {
        redis_data_tidy(redis->data, value);
    }
    push_number(lua, n);
    return NULL;
}

/* ---- keys ---- */

COMMAND(exists)
{
    size_t n = 0;
    for (size_t i = 1; i < argc; i++) {
        n += redis_data_find(redis->data, argv[i]) != NULL;
    }
    push_number(lua, n);
    return NULL;
}

COMMAND(unlink_)
{
    size_t n = 0;
    for (size_t i = 1; i < argc; i++) {
        n += redis_data_remove(redis->data, argv[i]);
    }
    push_number(lua, n);
    return NULL;
}

/* ---- hashes ---- */

COMMAND(hdel)
{
    return remove_members(redis, lua, argc, argv, VALUE_HASH);
}

static const struct member *field_of(const struct value *value, struct bytes name)
{
    return value ? value_find(value, name) : NULL;
}

static void push_field(lua_State *lua, const struct value *value, struct bytes name)
{
    const struct member *field = field_of(value, name);
    if (field) {
        push_bytes(lua, field->value);
    } else {
        push_nil(lua);
    }
}

COMMAND(hexists)
{
    struct value *value;
    if (!find(redis, argv[1], VALUE_HASH, &value)) {
        return WRONG_TYPE;
    }
    push_number(lua, field_of(value, argv[2]) != NULL);
    (void)argc;
    return NULL;
}

COMMAND(hget)
{
    struct value *value;
    if (!find(redis, argv[1], VALUE_HASH, &value)) {
        return WRONG_TYPE;
    }
    push_field(lua, value, argv[2]);
    (void)argc;
    return NULL;
}

COMMAND(hmget)
{
    struct value *value;
    if (!find(redis, argv[1], VALUE_HASH, &value)) {
        return WRONG_TYPE;
    }
    lua_createtable(lua, (int)argc - 2, 0);
    for (size_t i = 2; i < argc; i++) {
        push_field(lua, value, argv[i]);
        lua_rawseti(lua, -2, (int)i - 1);
    }
    return NULL;
}

COMMAND(hincrby)
{
    struct value *value;
    int64_t number = 0, by;
    char text[24];
    if (!parse_integer(argv[3], &by)) {
        return NOT_AN_INTEGER;
    } else if (!find(redis, argv[1], VALUE_HASH, &value)) {
        return WRONG_TYPE;
    }
    const struct member *field = field_of(value, argv[2]);
    if (field && !parse_integer(field->value, &number)) {
        return "ERR hash value is not an integer";
    }
    int n = snprintf(text, sizeof text, "%lld", (long long)(number + by));
    value_put_field(
        make(redis, value, argv[1], VALUE_HASH), argv[2], (struct bytes){text, (size_t)n});
    lua_pushnumber(lua, (lua_Number)(number + by));
    (void)argc;
    return NULL;
}

COMMAND(hkeys)
{
    struct value *value;
    if (!find(redis, argv[1], VALUE_HASH, &value)) {
        return WRONG_TYPE;
    }
    lua_newtable(lua);
    for (size_t i = 0; value && i < value->n; i++) {
        push_bytes(lua, value->by_name[i]->name);
        lua_rawseti(lua, -2, (int)i + 1);
    }
    (void)argc;
    return NULL;
}

COMMAND(hset)
{
    struct value *value;
    size_t n = 0;
    if (argc % 2 != 0) {
        return "ERR wrong number of arguments for 'hset' command";
    } else if (!find(redis, argv[1], VALUE_HASH, &value)) {
        return WRONG_TYPE;
    }
    value = make(redis, value, argv[1], VALUE_HASH);
    for (size_t i = 2; i < argc; i += 2) {
        n += value_put_field(value, argv[i], argv[i + 1]);
    }
    push_number(lua, n);
    return NULL;
}

/* ---- sets ---- */

COMMAND(sadd)
{
    struct value *value;
    size_t n = 0;
    if (!find(redis, argv[1], VALUE_SET, &value)) {
        return WRONG_TYPE;
    }
    value = make(redis, value, argv[1], VALUE_SET);
    for (size_t i = 2; i < argc; i++) {
        n += value_put_field(value, argv[i], (struct bytes){NULL, 0});
    }
    push_number(lua, n);
    return NULL;
}

COMMAND(scard)
{
    (void)argc;
    return count_members(redis, lua, argv[1], VALUE_SET);
}

COMMAND(srem)
{
    return remove_members(redis, lua, argc, argv, VALUE_SET);
}

/* That many different ones, or all; by chance. */
COMMAND(srandmember)
{
    struct value *value;
    int64_t count;
    if (!parse_integer(argv[2], &count) || count < 0) {
        return NOT_AN_INTEGER;
    } else if (!find(redis, argv[1], VALUE_SET, &value)) {
        return WRONG_TYPE;
    }
    size_t n = value ? value->n : 0, wanted = (size_t)count < n ? (size_t)count : n;
    lua_newtable(lua);
    for (size_t i = 0, k = 0; k < wanted; i++) {
        if (random_below(&redis->random, (uint32_t)(n - i)) < wanted - k) {
            push_bytes(lua, value->by_name[i]->name);
            lua_rawseti(lua, -2, (int)++k);
        }
    }
    (void)argc;
    return NULL;
}

/* ---- sorted sets ---- */

/* A number; "(" excludes the score itself. */
static bool parse_score_end(struct bytes text, double *scorep, bool *is_openp)
{
    *is_openp = text.n > 0 && text.at[0] == '(';
    return parse_score((struct bytes){text.at + *is_openp, text.n - *is_openp}, scorep);
}

/* [*firstp, *endp) of by_score. False: not a range. */
static bool score_range(
    const struct value *value, struct bytes low, struct bytes high, size_t *firstp, size_t *endp)
{
    double from, to;
    bool is_from_open, is_to_open;
    if (!parse_score_end(low, &from, &is_from_open) || !parse_score_end(high, &to, &is_to_open)) {
        return false;
    }
    *firstp = value ? value_rank_of_score(value, from, is_from_open) : 0;
    *endp = value ? value_rank_of_score(value, to, !is_to_open) : 0;
    *endp = *endp < *firstp ? *firstp : *endp;
    return true;
}

static bool rank_of_name_end(
    const struct value *value, struct bytes text, char closed_side, size_t *rankp)
{
    bool is_mark = text.n == 1 && (text.at[0] == '-' || text.at[0] == '+');
    if (is_mark) {
        *rankp = value && text.at[0] == '+' ? value->n : 0;
        return true;
    } else if (text.n == 0 || (text.at[0] != '[' && text.at[0] != '(')) {
        return false;
    }
    *rankp = value ? value_rank_of_name(
                         value, (struct bytes){text.at + 1, text.n - 1}, text.at[0] == closed_side)
                   : 0;
    return true;
}

/* The same for names: "[" includes the name itself, "(" does not. */
static bool name_range(
    const struct value *value, struct bytes low, struct bytes high, size_t *firstp, size_t *endp)
{
    if (!rank_of_name_end(value, low, '(', firstp) || !rank_of_name_end(value, high, '[', endp)) {
        return false;
    }
    *endp = *endp < *firstp ? *firstp : *endp;
    return true;
}

typedef bool range_function(
    const struct value *value, struct bytes low, struct bytes high, size_t *firstp, size_t *endp);

static const char *count_range(struct redis *redis, lua_State *lua, const struct bytes argv[],
    range_function *range, const char *error)
{
    struct value *value;
    size_t first, end;
    if (!find(redis, argv[1], VALUE_SORTED, &value)) {
        return WRONG_TYPE;
    } else if (!range(value, argv[2], argv[3], &first, &end)) {
        return error;
    }
    push_number(lua, end - first);
    return NULL;
}

static void push_members(
    lua_State *lua, const struct value *value, size_t first, size_t end, bool with_scores)
{
    int n = 0;
    lua_newtable(lua);
    for (size_t i = first; i < end; i++) {
        push_bytes(lua, value->by_score[i]->name);
        lua_rawseti(lua, -2, ++n);
        if (with_scores) {
            push_score(lua, value->by_score[i]->score);
            lua_rawseti(lua, -2, ++n);
        }
    }
}

/* KEY LOW HIGH [WITHSCORES] [LIMIT SKIP MAX] */
static const char *list_range(struct redis *redis, lua_State *lua, size_t argc,
    const struct bytes argv[], range_function *range, const char *error)
{
    struct value *value;
    size_t first, end;
    int64_t skip = 0, max = -1;
    bool with_scores = argc > 4 && range == score_range && is_word(argv[4], "WITHSCORES");
    size_t at = with_scores ? 5 : 4;
    if (argc != at && (argc != at + 3 || !is_word(argv[at], "LIMIT"))) {
        return SYNTAX;
    } else if (argc == at + 3 &&
        (!parse_integer(argv[at + 1], &skip) || !parse_integer(argv[at + 2], &max))) {
        return NOT_AN_INTEGER;
    } else if (!find(redis, argv[1], VALUE_SORTED, &value)) {
        return WRONG_TYPE;
    } else if (!range(value, argv[2], argv[3], &first, &end)) {
        return error;
    }
    size_t n = end - first;
    size_t skipped = skip < 0 || (size_t)skip > n ? n : (size_t)skip;
    size_t left = n - skipped;
    size_t listed = max >= 0 && (size_t)max < left ? (size_t)max : left;
    push_members(lua, value, first + skipped, first + skipped + listed, with_scores);
    return NULL;
}

/* KEY [GT|XX] {SCORE NAME}... */
COMMAND(zadd)
{
    struct value *value;
    size_t n = 0, at = 2;
    bool only_greater = is_word(argv[at], "GT");
    bool only_there = is_word(argv[at], "XX");
    double score;
    at += only_greater || only_there;
    if (argc == at || (argc - at) % 2 != 0) {
        return SYNTAX;
    }
    for (size_t i = at; i < argc; i += 2) {
        if (!parse_score(argv[i], &score)) {
            return NOT_A_FLOAT;
        }
    }
    if (!find(redis, argv[1], VALUE_SORTED, &value)) {
        return WRONG_TYPE;
    }
    for (size_t i = at; i < argc; i += 2) {
        const struct member *member = value ? value_find(value, argv[i + 1]) : NULL;
        parse_score(argv[i], &score);
        if (member ? !only_greater || score > member->score : !only_there) {
            value = make(redis, value, argv[1], VALUE_SORTED);
            n += value_put_score(value, argv[i + 1], score);
        }
    }
    push_number(lua, n);
    return NULL;
}

COMMAND(zcard)
{
    (void)argc;
    return count_members(redis, lua, argv[1], VALUE_SORTED);
}

COMMAND(zcount)
{
    (void)argc;
    return count_range(redis, lua, argv, score_range, NOT_A_SCORE_RANGE);
}

COMMAND(zlexcount)
{
    (void)argc;
    return count_range(redis, lua, argv, name_range, NOT_A_NAME_RANGE);
}

/* KEY FIRST LAST [WITHSCORES] */
COMMAND(zrange)
{
    struct value *value;
    int64_t first, last;
    if (argc == 5 && !is_word(argv[4], "WITHSCORES")) {
        return SYNTAX;
    } else if (!parse_integer(argv[2], &first) || !parse_integer(argv[3], &last)) {
        return NOT_AN_INTEGER;
    } else if (!find(redis, argv[1], VALUE_SORTED, &value)) {
        return WRONG_TYPE;
    }
    int64_t n = value ? (int64_t)value->n : 0;
    first = first < 0 ? first + n : first;
    last = last < 0 ? last + n : last;
    first = first < 0 ? 0 : first;
    last = last >= n ? n - 1 : last;
    push_members(
        lua, value, (size_t)first, last < first ? (size_t)first : (size_t)last + 1, argc == 5);
    return NULL;
}

COMMAND(zrangebylex)
{
    return list_range(redis, lua, argc, argv, name_range, NOT_A_NAME_RANGE);
}

/* KEY HIGH LOW [LIMIT SKIP MAX] */
COMMAND(zrevrangebylex)
{
    struct value *value;
    size_t first, end;
    int64_t skip = 0, max = -1;
    int n = 0;
    if (argc != 4 && (argc != 7 || !is_word(argv[4], "LIMIT"))) {
        return SYNTAX;
    } else if (argc == 7 && (!parse_integer(argv[5], &skip) || !parse_integer(argv[6], &max))) {
        return NOT_AN_INTEGER;
    } else if (!find(redis, argv[1], VALUE_SORTED, &value)) {
        return WRONG_TYPE;
    } else if (!name_range(value, argv[3], argv[2], &first, &end)) {
        return NOT_A_NAME_RANGE;
    }
    size_t left = end - first;
    end -= skip < 0 || (size_t)skip > left ? left : (size_t)skip;
    lua_newtable(lua);
    for (size_t i = end; i-- > first && (max < 0 || n < max);) {
        push_bytes(lua, value->by_score[i]->name);
        lua_rawseti(lua, -2, ++n);
    }
    return NULL;
}

COMMAND(zrangebyscore)
{
    return list_range(redis, lua, argc, argv, score_range, NOT_A_SCORE_RANGE);
}

COMMAND(zrem)
{
    return remove_members(redis, lua, argc, argv, VALUE_SORTED);
}

COMMAND(zremrangebyscore)
{
    struct value *value;
    size_t first, end;
    if (!find(redis, argv[1], VALUE_SORTED, &value)) {
        return WRONG_TYPE;
    } else if (!score_range(value, argv[2], argv[3], &first, &end)) {
        return NOT_A_SCORE_RANGE;
    }
    for (size_t i = end; i-- > first;) {
        value_remove(value, value->by_score[i]->name);
    }
    if (value) {
        redis_data_tidy(redis->data, value);
    }
    push_number(lua, end - first);
    (void)argc;
    return NULL;
}

COMMAND(zscore)
{
    struct value *value;
    if (!find(redis, argv[1], VALUE_SORTED, &value)) {
        return WRONG_TYPE;
    }
    const struct member *member = value ? value_find(value, argv[2]) : NULL;
    if (member) {
        push_score(lua, member->score);
    } else {
        push_nil(lua);
    }
    (void)argc;
    return NULL;
}

COMMAND(zmscore)
{
    struct value *value;
    if (!find(redis, argv[1], VALUE_SORTED, &value)) {
        return WRONG_TYPE;
    }
    lua_createtable(lua, (int)argc - 2, 0);
    for (size_t i = 2; i < argc; i++) {
        const struct member *member = value ? value_find(value, argv[i]) : NULL;
        if (member) {
            push_score(lua, member->score);
        } else {
            push_nil(lua);
        }
        lua_rawseti(lua, -2, (int)i - 1);
    }
    return NULL;
}

/* ---- the server's own ---- */

COMMAND(info)
{
    (void)argc;
    if (is_word(argv[1], "replication")) {
        lua_pushfstring(lua,
            "# Replication\r\nrole:master\r\nmaster_replid:%s\r\nmaster_replid2:0000\r\n",
            redis->replid);
        return NULL;
    }
    if (is_word(argv[1], "server")) {
        lua_pushfstring(lua, "# Server\r\nrun_id:%s\r\n", redis->run_id);
        return NULL;
    }
    if (is_word(argv[1], "cluster")) {
        lua_pushstring(lua, "# Cluster\r\ncluster_enabled:0\r\n");
        return NULL;
    }
    return SYNTAX;
}

COMMAND(publish)
{
    if (redis->publish) {
        redis->publish(redis->context, argv[1], argv[2]);
    }
    push_number(lua, 0);
    (void)argc;
    return NULL;
}

COMMAND(time_)
{
    (void)argc;
    (void)argv;
    lua_createtable(lua, 2, 0);
    lua_pushfstring(lua, "%d", (int)(redis->now / 1000000));
    lua_rawseti(lua, -2, 1);
    lua_pushfstring(lua, "%d", (int)(redis->now % 1000000));
    lua_rawseti(lua, -2, 2);
    return NULL;
}

/* ---- all of them ---- */

const struct command redis_commands[] = {
    {"exists", 2, MAX_WORDS, false, false, exists},
    {"hdel", 3, MAX_WORDS, true, false, hdel},
    {"hexists", 3, 3, false, false, hexists},
    {"hget", 3, 3, false, false, hget},
    {"hincrby", 4, 4, true, true, hincrby},
    {"hkeys", 2, 2, false, false, hkeys},
    {"hmget", 3, MAX_WORDS, false, false, hmget},
    {"hset", 4, MAX_WORDS, true, true, hset},
    {"info", 2, 2, false, false, info},
    {"publish", 3, 3, false, false, publish},
    {"sadd", 3, MAX_WORDS, true, true, sadd},
    {"scard", 2, 2, false, false, scard},
    {"srandmember", 3, 3, false, false, srandmember},
    {"srem", 3, MAX_WORDS, true, false, srem},
    {"time", 1, 1, false, false, time_},
    {"unlink", 2, MAX_WORDS, true, false, unlink_},
    {"zadd", 4, MAX_WORDS, true, true, zadd},
    {"zcard", 2, 2, false, false, zcard},
    {"zcount", 4, 4, false, false, zcount},
    {"zlexcount", 4, 4, false, false, zlexcount},
    {"zmscore", 3, MAX_WORDS, false, false, zmscore},
    {"zrange", 4, 5, false, false, zrange},
    {"zrangebylex", 4, 7, false, false, zrangebylex},
    {"zrangebyscore", 4, 8, false, false, zrangebyscore},
    {"zrem", 3, MAX_WORDS, true, false, zrem},
    {"zremrangebyscore", 4, 4, true, false, zremrangebyscore},
    {"zrevrangebylex", 4, 7, false, false, zrevrangebylex},
    {"zscore", 3, 3, false, false, zscore},
    {NULL, 0, 0, false, false, NULL},
};
