#include "redis/script_rights.h"

#include <stddef.h>
#include <string.h>

const char script_rights_question[] =
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

const char *script_rights_unwritable(const char *error)
{
    for (size_t i = 0; i < sizeof refusals_to_write / sizeof refusals_to_write[0]; i++) {
        const char *begin = refusals_to_write[i].error;
        if (strncmp(error, begin, strlen(begin)) == 0) {
            return refusals_to_write[i].meaning;
        }
    }
    return NULL;
}
