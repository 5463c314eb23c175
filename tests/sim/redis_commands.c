/* redis_commands.c - the commands of the `user` line in doc/fleet.md, with the options that the
 * scripts use. A process test plays the same on a real server. */
#include "redis_internal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define NOT_AN_INTEGER "ERR value is not an integer or out of range"
#define SYNTAX "ERR syntax error"
#define NOT_A_RANGE "ERR min or max is not valid"

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

/* The answer of a command that succeeds. */
static const char *answer_number(const struct call *call, size_t number)
{
    lua_pushnumber(call->lua, (lua_Number)number);
    return NULL;
}

/* As a string, as in RESP 2. */
static void push_score(const struct call *call, double score)
{
    char text[64];
    if (isinf(score)) {
        snprintf(text, sizeof text, "%s", score > 0 ? "inf" : "-inf");
    } else if (score == floor(score) && fabs(score) < 1e17) {
        snprintf(text, sizeof text, "%lld", (long long)score);
    } else {
        snprintf(text, sizeof text, "%.17g", score);
    }
    lua_pushstring(call->lua, text);
}

/* ---- any value ---- */

static const char *count_members(const struct call *call)
{
    return answer_number(call, call->value->n);
}

static const char *remove_members(const struct call *call)
{
    size_t n = 0;
    for (size_t i = 2; i < call->argc; i++) {
        n += value_remove(call->value, call->argv[i]);
    }
    return answer_number(call, n);
}

/* The content of a field, or the score of a member; false is what Lua gets for nil in Redis. */
static void push_content(const struct call *call, struct bytes name)
{
    const struct member *member = value_find(call->value, name);
    if (!member) {
        lua_pushboolean(call->lua, false);
    } else if (call->value->type == VALUE_SORTED) {
        push_score(call, member->score);
    } else {
        lua_pushlstring(call->lua, member->value.at, member->value.n);
    }
}

static const char *get_one(const struct call *call)
{
    push_content(call, call->argv[2]);
    return NULL;
}

static const char *get_each(const struct call *call)
{
    lua_createtable(call->lua, (int)call->argc - 2, 0);
    for (size_t i = 2; i < call->argc; i++) {
        push_content(call, call->argv[i]);
        lua_rawseti(call->lua, -2, (int)i - 1);
    }
    return NULL;
}

/* To the end of the list on top. */
static void add_name(const struct call *call, const struct member *member)
{
    lua_pushlstring(call->lua, member->name.at, member->name.n);
    lua_rawseti(call->lua, -2, (int)lua_objlen(call->lua, -2) + 1);
}

/* ---- keys ---- */

static const char *exists(const struct call *call)
{
    size_t n = 0;
    for (size_t i = 1; i < call->argc; i++) {
        n += redis_data_find(call->redis->data, call->argv[i]) != NULL;
    }
    return answer_number(call, n);
}

static const char *unlink_keys(const struct call *call)
{
    size_t n = 0;
    for (size_t i = 1; i < call->argc; i++) {
        n += redis_data_remove(call->redis->data, call->argv[i]);
    }
    return answer_number(call, n);
}

/* ---- hashes ---- */

static const char *hexists(const struct call *call)
{
    return answer_number(call, value_find(call->value, call->argv[2]) != NULL);
}

static const char *hincrby(const struct call *call)
{
    int64_t number = 0, by;
    char text[24];
    const struct member *field = value_find(call->value, call->argv[2]);
    if (!parse_integer(call->argv[3], &by) || (field && !parse_integer(field->value, &number))) {
        return NOT_AN_INTEGER;
    }
    int n = snprintf(text, sizeof text, "%lld", (long long)(number + by));
    value_put(call->value, (struct member){0, call->argv[2], {text, (size_t)n}});
    lua_pushnumber(call->lua, (lua_Number)(number + by));
    return NULL;
}

static const char *hkeys(const struct call *call)
{
    lua_newtable(call->lua);
    for (size_t i = 0; i < call->value->n; i++) {
        add_name(call, call->value->members[i]);
    }
    return NULL;
}

static const char *hset(const struct call *call)
{
    size_t n = 0;
    if (call->argc % 2 != 0) {
        return "ERR wrong number of arguments for 'hset' command";
    }
    for (size_t i = 2; i < call->argc; i += 2) {
        n += value_put(call->value, (struct member){0, call->argv[i], call->argv[i + 1]});
    }
    return answer_number(call, n);
}

/* ---- sets ---- */

static const char *sadd(const struct call *call)
{
    size_t n = 0;
    for (size_t i = 2; i < call->argc; i++) {
        n += value_put(call->value, (struct member){.name = call->argv[i]});
    }
    return answer_number(call, n);
}

/* That many different ones, or all; by chance. */
static const char *srandmember(const struct call *call)
{
    int64_t count;
    if (!parse_integer(call->argv[2], &count) || count < 0) {
        return NOT_AN_INTEGER;
    }
    size_t n = call->value->n, wanted = (size_t)count < n ? (size_t)count : n;
    lua_newtable(call->lua);
    for (size_t i = 0; wanted > 0; i++) {
        if (random_below(&call->redis->random, (uint32_t)(n - i)) < wanted) {
            add_name(call, call->value->members[i]);
            wanted--;
        }
    }
    return NULL;
}

/* ---- sorted sets ---- */

/* A number; "(" excludes the score itself. */
static bool parse_score_end(struct bytes text, double *scorep, bool *is_openp)
{
    *is_openp = text.n > 0 && text.at[0] == '(';
    return parse_score((struct bytes){text.at + *is_openp, text.n - *is_openp}, scorep);
}

/* [*firstp, *endp) of the members. False: not a range. */
static bool score_range(
    const struct value *value, struct bytes low, struct bytes high, size_t *firstp, size_t *endp)
{
    double from, to;
    bool is_from_open, is_to_open;
    if (!parse_score_end(low, &from, &is_from_open) || !parse_score_end(high, &to, &is_to_open)) {
        return false;
    }
    *firstp = value_rank(value, from, NULL, is_from_open);
    *endp = value_rank(value, to, NULL, !is_to_open);
    return true;
}

static bool rank_of_name_end(
    const struct value *value, struct bytes text, char closed_side, size_t *rankp)
{
    if (text.n == 1 && (text.at[0] == '-' || text.at[0] == '+')) {
        *rankp = text.at[0] == '+' ? value->n : 0;
        return true;
    } else if (text.n == 0 || (text.at[0] != '[' && text.at[0] != '(')) {
        return false;
    }
    const struct bytes name = {text.at + 1, text.n - 1};
    double score = value->n > 0 ? value->members[0]->score : 0;
    *rankp = value_rank(value, score, &name, text.at[0] == closed_side);
    return true;
}

/* The same for names: "[" includes the name itself, "(" does not. */
static bool name_range(
    const struct value *value, struct bytes low, struct bytes high, size_t *firstp, size_t *endp)
{
    if (value->n > 0 && value->members[0]->score != value->members[value->n - 1]->score) {
        abort(); /* Redis promises no order */
    }
    return rank_of_name_end(value, low, '(', firstp) && rank_of_name_end(value, high, '[', endp);
}

typedef bool range_function(
    const struct value *value, struct bytes low, struct bytes high, size_t *firstp, size_t *endp);

static const char *count_range(const struct call *call, range_function *range)
{
    size_t first, end;
    if (!range(call->value, call->argv[2], call->argv[3], &first, &end)) {
        return NOT_A_RANGE;
    }
    return answer_number(call, end > first ? end - first : 0);
}

/* `n` from the first on, or as many backwards. */
static void push_members(
    const struct call *call, size_t first, size_t n, bool is_reversed, bool with_scores)
{
    lua_newtable(call->lua);
    for (size_t i = 0; i < n; i++) {
        const struct member *member = call->value->members[is_reversed ? first - i : first + i];
        add_name(call, member);
        if (with_scores) {
            push_score(call, member->score);
            lua_rawseti(call->lua, -2, 2 * (int)i + 2);
        }
    }
}

/* KEY LOW HIGH [WITHSCORES] [LIMIT SKIP MAX], or KEY HIGH LOW [LIMIT SKIP MAX] */
static const char *list_range(const struct call *call, range_function *range, bool is_reversed)
{
    const struct bytes *argv = call->argv;
    size_t first, end;
    int64_t skip = 0, max = -1;
    bool with_scores = call->argc > 4 && range == score_range && is_word(argv[4], "WITHSCORES");
    size_t at = with_scores ? 5 : 4;
    if (call->argc != at && (call->argc != at + 3 || !is_word(argv[at], "LIMIT"))) {
        return SYNTAX;
    } else if (call->argc == at + 3 &&
        (!parse_integer(argv[at + 1], &skip) || !parse_integer(argv[at + 2], &max))) {
        return NOT_AN_INTEGER;
    } else if (!range(call->value, argv[2 + is_reversed], argv[3 - is_reversed], &first, &end)) {
        return NOT_A_RANGE;
    }
    size_t n = end > first ? end - first : 0;
    size_t skipped = skip < 0 || (size_t)skip > n ? n : (size_t)skip;
    size_t left = n - skipped;
    push_members(call, is_reversed ? end - 1 - skipped : first + skipped,
        max >= 0 && (size_t)max < left ? (size_t)max : left, is_reversed, with_scores);
    return NULL;
}

/* KEY [GT|XX] {SCORE NAME}... */
static const char *zadd(const struct call *call)
{
    size_t n = 0;
    bool only_greater = is_word(call->argv[2], "GT"), only_there = is_word(call->argv[2], "XX");
    size_t at = 2 + (only_greater || only_there);
    double score;
    if (call->argc == at || (call->argc - at) % 2 != 0) {
        return SYNTAX;
    }
    for (size_t i = at; i < call->argc; i += 2) {
        if (!parse_score(call->argv[i], &score)) {
            return "ERR value is not a valid float";
        }
    }
    for (size_t i = at; i < call->argc; i += 2) {
        const struct member *member = value_find(call->value, call->argv[i + 1]);
        parse_score(call->argv[i], &score);
        if (member ? !only_greater || score > member->score : !only_there) {
            n += value_put(call->value, (struct member){.score = score, .name = call->argv[i + 1]});
        }
    }
    return answer_number(call, n);
}

static const char *zcount(const struct call *call)
{
    return count_range(call, score_range);
}

static const char *zlexcount(const struct call *call)
{
    return count_range(call, name_range);
}

/* KEY FIRST LAST [WITHSCORES] */
static const char *zrange(const struct call *call)
{
    int64_t first, last, n = (int64_t)call->value->n;
    if (call->argc == 5 && !is_word(call->argv[4], "WITHSCORES")) {
        return SYNTAX;
    } else if (!parse_integer(call->argv[2], &first) || !parse_integer(call->argv[3], &last)) {
        return NOT_AN_INTEGER;
    }
    first = first < 0 ? first + n : first;
    last = last < 0 ? last + n : last;
    first = first < 0 ? 0 : first;
    last = last >= n ? n - 1 : last;
    push_members(
        call, (size_t)first, last < first ? 0 : (size_t)(last - first) + 1, false, call->argc == 5);
    return NULL;
}

static const char *zrangebylex(const struct call *call)
{
    return list_range(call, name_range, false);
}

static const char *zrevrangebylex(const struct call *call)
{
    return list_range(call, name_range, true);
}

static const char *zrangebyscore(const struct call *call)
{
    return list_range(call, score_range, false);
}

static const char *zremrangebyscore(const struct call *call)
{
    size_t first, end, n = 0;
    if (!score_range(call->value, call->argv[2], call->argv[3], &first, &end)) {
        return NOT_A_RANGE;
    }
    for (size_t i = end; i-- > first; n++) {
        value_remove(call->value, call->value->members[i]->name);
    }
    return answer_number(call, n);
}

/* ---- streams: the only key is a history; its members' scores count them ---- */

#define NOT_AN_ID "ERR Invalid stream ID specified as stream command argument"

struct entry_id {
    uint64_t ms, n;
};

/* MS or MS-N. */
static bool parse_id(struct bytes text, struct entry_id *id)
{
    char copy[48];
    if (text.n == 0 || text.n >= sizeof copy) {
        return false;
    }
    memcpy(copy, text.at, text.n);
    copy[text.n] = '\0';
    id->n = 0;
    return sscanf(copy, "%" SCNu64 "-%" SCNu64, &id->ms, &id->n) >= 1;
}

static bool is_before(struct entry_id a, struct entry_id b)
{
    return a.ms != b.ms ? a.ms < b.ms : a.n < b.n;
}

static struct entry_id id_of(const struct member *member)
{
    struct entry_id id = {0};
    parse_id(member->name, &id);
    return id;
}

/* XADD KEY MAXLEN [~] N * FIELD VALUE...; where Redis removes about as many as are too many, this
 * one removes all of these. */
static const char *xadd(const struct call *call)
{
    struct value *value = call->value;
    size_t at = call->argc > 3 && is_word(call->argv[3], "~") ? 4 : 3;
    int64_t most;
    if (call->argc < at + 4 || (call->argc - at) % 2 != 0 || !is_word(call->argv[2], "maxlen") ||
        !parse_integer(call->argv[at], &most) || most < 0 || !is_word(call->argv[at + 1], "*")) {
        return SYNTAX;
    }
    struct entry_id id = {(uint64_t)(call->redis->now / 1000), 0};
    if (value->n > 0 && !is_before(id_of(value->members[value->n - 1]), id)) {
        id = id_of(value->members[value->n - 1]);
        id.n++;
    }
    struct text fields = TEXT_INIT;
    for (size_t i = at + 2; i < call->argc; i++) {
        text_add_bytes(&fields, (const char *)&call->argv[i].n, sizeof call->argv[i].n);
        text_add_bytes(&fields, call->argv[i].at, call->argv[i].n);
    }
    char name[48];
    int n = snprintf(name, sizeof name, "%" PRIu64 "-%" PRIu64, id.ms, id.n);
    double number = value->n > 0 ? value->members[value->n - 1]->score + 1 : 1;
    value_put(value,
        (struct member){number, {name, (size_t)n}, {fields.bytes, fields.length}});
    text_deinit(&fields);
    while (value->n > (size_t)most) {
        value_remove(value, value->members[0]->name);
    }
    lua_pushlstring(call->lua, name, (size_t)n);
    return NULL;
}

static void push_entry(const struct call *call, const struct member *member)
{
    const char *at = member->value.at, *end = at + member->value.n;
    lua_createtable(call->lua, 2, 0);
    lua_pushlstring(call->lua, member->name.at, member->name.n);
    lua_rawseti(call->lua, -2, 1);
    lua_newtable(call->lua);
    for (int i = 1; at < end; i++) {
        size_t n;
        memcpy(&n, at, sizeof n);
        lua_pushlstring(call->lua, at + sizeof n, n);
        lua_rawseti(call->lua, -2, i);
        at += sizeof n + n;
    }
    lua_rawseti(call->lua, -2, 2);
}

/* An end of a range: -, +, ID, or (ID. */
struct id_bound {
    struct entry_id id;
    bool is_open;
};

static bool parse_id_bound(struct bytes text, struct id_bound *bound)
{
    bound->is_open = text.n > 0 && text.at[0] == '(';
    uint64_t end = is_word(text, "+") ? UINT64_MAX : 0;
    bound->id = (struct entry_id){end, end};
    return end > 0 || is_word(text, "-") ||
        parse_id((struct bytes){text.at + bound->is_open, text.n - bound->is_open}, &bound->id);
}

static const char *range_of_entries(
    const struct call *call, size_t from, size_t to, bool is_reverse)
{
    struct id_bound first, last;
    int64_t left;
    if (!parse_id_bound(call->argv[from], &first) || !parse_id_bound(call->argv[to], &last)) {
        return NOT_AN_ID;
    } else if (!is_word(call->argv[4], "count") || !parse_integer(call->argv[5], &left)) {
        return SYNTAX;
    }
    lua_newtable(call->lua);
    for (size_t i = 0; i < call->value->n && left > 0; i++) {
        const struct member *member =
            call->value->members[is_reverse ? call->value->n - 1 - i : i];
        struct entry_id its = id_of(member);
        if ((first.is_open ? is_before(first.id, its) : !is_before(its, first.id)) &&
            (last.is_open ? is_before(its, last.id) : !is_before(last.id, its))) {
            push_entry(call, member);
            lua_rawseti(call->lua, -2, (int)lua_objlen(call->lua, -2) + 1);
            left--;
        }
    }
    return NULL;
}

/* XRANGE KEY FROM TO COUNT N */
static const char *xrange(const struct call *call)
{
    return range_of_entries(call, 2, 3, false);
}

/* XREVRANGE KEY TO FROM COUNT N */
static const char *xrevrange(const struct call *call)
{
    return range_of_entries(call, 3, 2, true);
}

/* ---- the server's own ---- */

static const char *info(const struct call *call)
{
    if (is_word(call->argv[1], "replication")) {
        lua_pushfstring(call->lua,
            "# Replication\r\nrole:master\r\nmaster_replid:%s\r\nmaster_replid2:0000\r\n",
            call->redis->replid);
    } else if (is_word(call->argv[1], "server")) {
        lua_pushfstring(call->lua, "# Server\r\nrun_id:%s\r\n", call->redis->run_id);
    } else if (is_word(call->argv[1], "memory")) {
        lua_pushfstring(call->lua, "# Memory\r\nused_memory:2\r\nmaxmemory:%d\r\n",
            call->redis->is_full ? 1 : 0);
    } else if (is_word(call->argv[1], "cluster")) {
        lua_pushstring(call->lua, "# Cluster\r\ncluster_enabled:0\r\n");
    } else {
        return SYNTAX;
    }
    return NULL;
}

static const char *publish(const struct call *call)
{
    if (call->redis->publish) {
        call->redis->publish(call->redis->context, call->argv[1], call->argv[2]);
    }
    return answer_number(call, 0);
}

static const char *tell_time(const struct call *call)
{
    lua_createtable(call->lua, 2, 0);
    lua_pushfstring(call->lua, "%d", (int)(call->redis->now / 1000000));
    lua_rawseti(call->lua, -2, 1);
    lua_pushfstring(call->lua, "%d", (int)(call->redis->now % 1000000));
    lua_rawseti(call->lua, -2, 2);
    return NULL;
}

/* ---- all of them ---- */

const struct command redis_commands[] = {
    {"exists", 2, MAX_WORDS, VALUE_NONE, false, false, exists},
    {"hdel", 3, MAX_WORDS, VALUE_HASH, true, false, remove_members},
    {"hexists", 3, 3, VALUE_HASH, false, false, hexists},
    {"hget", 3, 3, VALUE_HASH, false, false, get_one},
    {"hincrby", 4, 4, VALUE_HASH, true, true, hincrby},
    {"hkeys", 2, 2, VALUE_HASH, false, false, hkeys},
    {"hmget", 3, MAX_WORDS, VALUE_HASH, false, false, get_each},
    {"hset", 4, MAX_WORDS, VALUE_HASH, true, true, hset},
    {"info", 2, 2, VALUE_NONE, false, false, info},
    {"publish", 3, 3, VALUE_NONE, false, false, publish},
    {"sadd", 3, MAX_WORDS, VALUE_SET, true, true, sadd},
    {"scard", 2, 2, VALUE_SET, false, false, count_members},
    {"srandmember", 3, 3, VALUE_SET, false, false, srandmember},
    {"srem", 3, MAX_WORDS, VALUE_SET, true, false, remove_members},
    {"time", 1, 1, VALUE_NONE, false, false, tell_time},
    {"unlink", 2, MAX_WORDS, VALUE_NONE, true, false, unlink_keys},
    {"xadd", 6, MAX_WORDS, VALUE_STREAM, true, true, xadd},
    {"xrange", 6, 6, VALUE_STREAM, false, false, xrange},
    {"xrevrange", 6, 6, VALUE_STREAM, false, false, xrevrange},
    {"zadd", 4, MAX_WORDS, VALUE_SORTED, true, true, zadd},
    {"zcard", 2, 2, VALUE_SORTED, false, false, count_members},
    {"zcount", 4, 4, VALUE_SORTED, false, false, zcount},
    {"zlexcount", 4, 4, VALUE_SORTED, false, false, zlexcount},
    {"zmscore", 3, MAX_WORDS, VALUE_SORTED, false, false, get_each},
    {"zrange", 4, 5, VALUE_SORTED, false, false, zrange},
    {"zrangebylex", 4, 7, VALUE_SORTED, false, false, zrangebylex},
    {"zrangebyscore", 4, 8, VALUE_SORTED, false, false, zrangebyscore},
    {"zrem", 3, MAX_WORDS, VALUE_SORTED, true, false, remove_members},
    {"zremrangebyscore", 4, 4, VALUE_SORTED, true, false, zremrangebyscore},
    {"zrevrangebylex", 4, 7, VALUE_SORTED, false, false, zrevrangebylex},
    {"zscore", 3, 3, VALUE_SORTED, false, false, get_one},
    {NULL, 0, 0, VALUE_NONE, false, false, NULL},
};
