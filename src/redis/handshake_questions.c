/* handshake_questions.c - what a server is asked when it is not known yet. */
#include "redis/handshake_internal.h"

#include <string.h>

/* ---- HELLO and CONFIG GET, for what INFO does not say ---- */

static bool check_hello(struct handshake *handshake, const struct resp *reply)
{
    return facts_read_hello(&handshake->server.facts, reply) ||
        handshake_fail(handshake, RESP_UNEXPECTED);
}

static bool check_config(struct handshake *handshake, const struct resp *reply)
{
    return facts_read_config(&handshake->server.facts, reply) ||
        handshake_fail(handshake, RESP_UNEXPECTED);
}

/* ---- what scripts may do ---- */

/* Asks a server what scripts may do there, and writes nothing.
 * ARGV: any of the database's keys (among KEYS, it might not be allowed), and one of its channels.
 * Returns an array of strings: the error of INFO, or "" if scripts may use it; the error of a
 * write, or ""; what the user lacks, as ACL SETUSER takes it ("+hset"). */
static const char needs_script[] =
    "local names = {"
#define RIGHT(command) "'" #command "',"
#include "redis/script_needs.def"
#undef RIGHT
    "}\n"
    "local prefix = string.match(ARGV[1], '^.*:')\n"
    "local lacking = {}\n"
    "local function need(acl, ...)\n"
    "    local good, may = pcall(redis.acl_check_cmd, ...)\n"
    "    if not (good and may) then\n"
    "        lacking[#lacking + 1] = acl\n"
    "    end\n"
    "end\n"
    /* After the key. Redis 8.0 judges no command that has too few or too many. */
    "local ones = {'1', '1', '1'}\n"
    "local function number_of_arguments(name)\n"
    "    local n = 0\n"
    "    while n < #ones and not pcall(redis.acl_check_cmd, name, ARGV[1], unpack(ones, 1, n)) do\n"
    "        n = n + 1\n"
    "    end\n"
    "    return n\n"
    "end\n"
    "for _, name in ipairs(names) do\n"
    "    local n = number_of_arguments(name)\n"
    "    need('+' .. string.lower(name), name, ARGV[1], unpack(ones, 1, n))\n"
    "end\n"
    "if #lacking == #names then\n"
    "    lacking = {'~' .. prefix .. '*'}\n"
    "end\n"
    "need('+publish &' .. prefix .. '*', 'PUBLISH', ARGV[2], '1')\n"
    "need('+ping', 'PING')\n"
    "need('+time', 'TIME')\n"
    "local info = redis.pcall('INFO', 'server')\n"
    "local cluster = redis.pcall('INFO', 'cluster')\n"
    "if type(cluster) == 'string' and string.find(cluster, 'cluster_enabled:1', 1, true) then\n"
    "    need('+spublish', 'SPUBLISH', ARGV[2], '1')\n"
    "end\n"
    /* Nobody is that member: nothing is written. */
    "local writing = redis.pcall('ZADD', prefix .. 'sessions', 'XX', 0, '')\n"
    "return {type(info) == 'table' and info.err or '',\n"
    "    type(writing) == 'table' and writing.err or '', unpack(lacking)}\n";

static const struct {
    const char *error, *meaning;
} refusals_to_write[] = {
    {"OOM ", "it is at its maxmemory, and new requests would fail"},
    {"MISCONF ", "it cannot save its data, and refuses all writes"},
    {"NOREPLICAS ", "it has too few replicas, and refuses all writes"},
};

/* NULL: an error of another kind, or none. */
static const char *refusal_to_write(const char *error)
{
    for (size_t i = 0; i < sizeof refusals_to_write / sizeof refusals_to_write[0]; i++) {
        const char *begin = refusals_to_write[i].error;
        if (strncmp(error, begin, strlen(begin)) == 0) {
            return refusals_to_write[i].meaning;
        }
    }
    return NULL;
}

enum { RIGHTS_INFO, RIGHTS_WRITING, N_RIGHTS }; /* what is lacking follows */

static bool check_rights(struct handshake *handshake, const struct resp *reply)
{
    struct text lacking = TEXT_INIT;
    uint8_t *states = handshake->server.abilities.states;
    if (reply->type != RESP_ARRAY || reply->n < N_RIGHTS) {
        return handshake_fail(handshake, RESP_UNEXPECTED);
    }
    for (size_t i = N_RIGHTS; i < reply->n; i++) {
        text_add_format(&lacking, " %s", reply->elements[i].text);
    }
    states[ABILITY_script_info] =
        reply->elements[RIGHTS_INFO].length > 0 ? ABILITY_LACKING : ABILITY_THERE;
    states[ABILITY_script_commands] = lacking.length > 0 ? ABILITY_LACKING : ABILITY_THERE;
    handshake->unwritable = refusal_to_write(reply->elements[RIGHTS_WRITING].text);
    handshake->refused = lacking.length > 0;
    if (handshake->refused) {
        format_one_line(handshake->why, sizeof handshake->why,
            "scripts need what is not allowed here:%s", lacking.bytes);
    }
    text_deinit(&lacking);
    return !handshake->refused;
}

static const struct handshake_kind kind_hello = {ABILITY_hello, check_hello};
static const struct handshake_kind kind_rights = {ABILITY_eval, check_rights};
static const struct handshake_kind kind_config = {ABILITY_config_get, check_config};

/* Without a version, the server goes on with RESP 2. Every user may use it. */
void handshake_add_hello(struct handshake *handshake, struct text *out)
{
    handshake_add(handshake, &kind_hello, 0, (const char *const[]){"HELLO", NULL}, out);
}

void handshake_add_rights(struct handshake *handshake, struct text *out)
{
    const struct keys *keys = handshake->wish.keys;
    const char *const words[] = {
        "EVAL", needs_script, "0", keys->keys[0], keys->channels[CHANNEL_ALL], NULL};
    handshake_add(handshake, &kind_rights, 0, words, out);
}

void handshake_add_settings(struct handshake *handshake, struct text *out)
{
    for (enum fact i = 0; i < N_FACTS; i++) {
        if (fact_setting(i) && !fact_of(&handshake->server.facts, i)) {
            const char *const words[] = {"CONFIG", "GET", fact_setting(i), NULL};
            handshake_add(handshake, &kind_config, 0, words, out);
        }
    }
}
