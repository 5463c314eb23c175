/* What a new connection is asked before it is used, and what its answers must be. */
#include "redis/handshake.h"

#include <criterion/criterion.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char good_info[] =
    "redis_version:7.0.15\r\nrun_id:abc\r\nrole:master\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n";

static char ask_library[100];
static struct keys keys;
static struct handshake ready;
static struct known_server known; /* the server abc */
static struct handshake_wish wish;
static struct text out;

static void begin(void)
{
    cr_assert(keys_init(&keys, "p", "0123456789abcdef"));
    wish.keys = &keys;
    wish.known = &known;
    strcpy(known.run_id, "abc");
    wish.set = &script_sets[0];
    snprintf(ask_library, sizeof ask_library, "FCALL %s_about 0; ", script_sets[0].name);
}

static void end(void)
{
    text_deinit(&out);
}

TestSuite(ready, .init = begin, .fini = end);

/* The commands to be sent so far, as words with spaces between; scripts by their beginning only. */
static const char *sent(void)
{
    static char words[1024];
    struct resp_reader *reader = resp_reader_new();
    const struct resp *command;
    words[0] = '\0';
    resp_reader_feed(reader, out.bytes ? out.bytes : "", out.length);
    while (resp_reader_next(reader, &command) == RESP_REPLY) {
        for (size_t i = 0; i < command->n; i++) {
            const char *word = command->elements[i].text;
            strcat(words, strlen(word) > 100 ? "..." : word);
            strcat(words, i + 1 < command->n ? " " : "; ");
        }
    }
    resp_reader_free(reader);
    text_deinit(&out);
    return words;
}

static enum handshake_result reply(enum resp_type type, const char *text)
{
    struct resp resp = {.type = type, .text = text, .length = strlen(text)};
    return handshake_reply(&ready, &resp, &out);
}

static void expect_failure(enum resp_type type, const char *text, const char *why)
{
    cr_assert_eq(reply(type, text), HANDSHAKE_FAILED);
    cr_assert(strstr(ready.why, why), "%s", ready.why);
}

static enum handshake_result subscribed(const char *word, const char *channel)
{
    struct resp elements[] = {
        {.type = RESP_STRING, .text = word, .length = strlen(word)},
        {.type = RESP_STRING, .text = channel, .length = strlen(channel)},
        {.type = RESP_INTEGER, .integer = 1, .text = ""},
    };
    struct resp resp = {.type = RESP_ARRAY, .elements = elements, .n = 3, .text = ""};
    return handshake_reply(&ready, &resp, &out);
}

/* The second connection, after the first one has reached the server with that run id. */
static void to_messages(const char *run_id)
{
    strcpy(known.run_id, run_id);
    handshake_messages(&ready, &wish, &out);
}

Test(ready, commands)
{
    handshake_commands(&ready, &wish, &out);
    cr_assert_str_eq(sent(), "INFO; ");
    cr_assert_eq(reply(RESP_STRING, good_info), HANDSHAKE_MORE);
    cr_assert_str_eq(sent(), ask_library);
    cr_assert_eq(reply(RESP_STRING, script_sets[0].name), HANDSHAKE_DONE);
    cr_assert_str_empty(sent(), "it is there: nothing is loaded");
    cr_assert(ready.has_library);
    cr_assert_str_eq(ready.guard.run_id, "abc");
}

Test(ready, brings_the_library)
{
    handshake_commands(&ready, &wish, &out);
    cr_assert_eq(reply(RESP_STRING, good_info), HANDSHAKE_MORE);
    sent();
    cr_assert_eq(reply(RESP_ERROR, "ERR Function not found"), HANDSHAKE_MORE);
    cr_assert_str_eq(sent(), "FUNCTION LOAD ...; ");
    cr_assert_eq(reply(RESP_STRING, script_sets[0].name), HANDSHAKE_DONE);
    cr_assert(ready.has_library);
    cr_assert_eq(ready.server.abilities.states[ABILITY_functions], ABILITY_THERE);
}

Test(ready, brings_the_script_where_there_are_no_functions)
{
    handshake_commands(&ready, &wish, &out);
    cr_assert_eq(reply(RESP_STRING, good_info), HANDSHAKE_MORE);
    cr_assert_eq(reply(RESP_ERROR, "ERR unknown command 'FCALL'"), HANDSHAKE_MORE);
    sent();
    cr_assert_eq(reply(RESP_ERROR, "NOSCRIPT No matching script."), HANDSHAKE_MORE);
    cr_assert_str_eq(sent(), "SCRIPT LOAD ...; ");
    cr_assert_eq(reply(RESP_STRING, script_sets[0].sha), HANDSHAKE_DONE);
    cr_assert_not(ready.has_library);
    cr_assert_eq(ready.server.abilities.states[ABILITY_functions], ABILITY_LACKING);
    cr_assert_eq(ready.server.abilities.states[ABILITY_scripts], ABILITY_THERE);
}

Test(ready, who_and_where)
{
    wish.user = "u";
    wish.password = "p w";
    wish.db = 3;
    handshake_commands(&ready, &wish, &out);
    cr_assert_str_eq(sent(), "AUTH u p w; SELECT 3; INFO; ");
    cr_assert_eq(reply(RESP_STATUS, "OK"), HANDSHAKE_MORE);
    cr_assert_eq(reply(RESP_STATUS, "OK"), HANDSHAKE_MORE);
    wish.user = NULL;
    to_messages("abc");
    cr_assert_str_eq(
        sent(), "AUTH p w; INFO; SUBSCRIBE {p}:s:0123456789abcdef; SUBSCRIBE {p}:all; ");
    wish = (struct handshake_wish){
        .user = "u", .keys = &keys, .known = &known, .set = &script_sets[0]};
    handshake_commands(&ready, &wish, &out);
    cr_assert_str_eq(sent(), "AUTH u ; INFO; ");
}

Test(ready, messages)
{
    to_messages("abc");
    cr_assert_eq(reply(RESP_STRING, good_info), HANDSHAKE_MORE);
    cr_assert_eq(subscribed("subscribe", "{p}:s:0123456789abcdef"), HANDSHAKE_MORE);
    cr_assert_eq(subscribed("subscribe", "{p}:all"), HANDSHAKE_DONE);
}

Test(ready, other_messages)
{
    to_messages("abcd");
    expect_failure(RESP_STRING, good_info, "different servers");
    to_messages("abc");
    cr_assert_eq(reply(RESP_STRING, good_info), HANDSHAKE_MORE);
    cr_assert_eq(subscribed("subscribe", "{p}:s:another"), HANDSHAKE_FAILED);
    to_messages("abc");
    cr_assert_eq(reply(RESP_STRING, good_info), HANDSHAKE_MORE);
    cr_assert_eq(subscribed("message", "{p}:s:0123456789abcdef"), HANDSHAKE_FAILED);
}

Test(ready, passwords_are_not_repeated)
{
    wish.password = "s3cret";
    handshake_commands(&ready, &wish, &out);
    expect_failure(RESP_ERROR, "ERR unknown command 'AUTH' 's3cret'", "AUTH: ERR: ");
    cr_assert_not(strstr(ready.why, "s3cret"));
    cr_assert(ready.refused);
}

Test(ready, errors)
{
    handshake_commands(&ready, &wish, &out);
    expect_failure(RESP_ERROR, "LOADING data", "INFO: LOADING data");
    handshake_commands(&ready, &wish, &out);
    expect_failure(RESP_STATUS, "OK", "unexpected reply");
    handshake_commands(&ready, &wish, &out);
    cr_assert_eq(reply(RESP_STRING, good_info), HANDSHAKE_MORE);
    cr_assert_eq(reply(RESP_ERROR, "NOPERM no"), HANDSHAKE_MORE);
    expect_failure(RESP_ERROR, "NOPERM no", "NOPERM no");
    wish.db = 1;
    handshake_commands(&ready, &wish, &out);
    expect_failure(RESP_INTEGER, "", "unexpected reply");
}

Test(ready, refused)
{
    handshake_commands(&ready, &wish, &out);
    sent();
    expect_failure(
        RESP_STRING, "redis_version:7.0.15\r\nrun_id:abc\r\nrole:slave\r\n", "a replica");
    cr_assert(ready.refused);
    cr_assert_str_empty(sent(), "nothing is loaded into it");
}

Test(ready, what_is_optional)
{
    wish.client_name = "berthd:web1";
    handshake_commands(&ready, &wish, &out);
    cr_assert_str_eq(sent(), "INFO; CLIENT SETNAME berthd:web1; ");
    cr_assert_eq(reply(RESP_STRING, good_info), HANDSHAKE_MORE);
    cr_assert_str_empty(sent(), "the next stage waits for all answers");
    cr_assert_eq(reply(RESP_ERROR, "NOPERM this user ..."), HANDSHAKE_MORE);
    cr_assert_eq(reply(RESP_STRING, script_sets[0].name), HANDSHAKE_DONE);
    cr_assert_eq(ready.server.abilities.states[ABILITY_info], ABILITY_THERE);
    cr_assert_eq(ready.server.abilities.states[ABILITY_client_name], ABILITY_LACKING);
    cr_assert_eq(ready.server.abilities.states[ABILITY_select], ABILITY_NOT_TRIED);
    known = ready.server;
    sent();
    to_messages("abc");
    cr_assert_str_eq(sent(), "INFO; "
                             "SUBSCRIBE {p}:s:0123456789abcdef; SUBSCRIBE {p}:all; ");
    handshake_commands(&ready, &wish, &out);
    cr_assert_eq(reply(RESP_STRING, good_info), HANDSHAKE_MORE);
    expect_failure(RESP_ERROR, "LOADING data", "CLIENT SETNAME: LOADING data");
    handshake_commands(&ready, &wish, &out);
    cr_assert_eq(reply(RESP_STRING, good_info), HANDSHAKE_MORE);
    cr_assert_eq(reply(RESP_STATUS, "OK"), HANDSHAKE_MORE);
    cr_assert_eq(reply(RESP_STRING, script_sets[0].name), HANDSHAKE_DONE);
    sent();
    known = ready.server;
    to_messages("abc");
    cr_assert_str_eq(sent(),
        "INFO; CLIENT SETNAME berthd:web1; "
        "SUBSCRIBE {p}:s:0123456789abcdef; SUBSCRIBE {p}:all; ");
}

/* ---- a node of a cluster ---- */

static const char node_info[] =
    "redis_version:7.0.15\r\nrun_id:abc\r\nrole:master\r\ncluster_enabled:1\r\n"
    "redis_mode:cluster\r\nmaxmemory:0\r\nmaxmemory_policy:noeviction\r\n";
static struct handshake_cluster cluster;

static void begin_at_node(bool is_asking)
{
    cluster = (struct handshake_cluster){.slot = 100, .host = "h", .is_asking = is_asking};
    wish.cluster = &cluster;
    wish.password = "p";
    handshake_commands(&ready, &wish, &out);
}

/* The reply to CLUSTER SLOTS: one node has all slots. */
static enum handshake_result mapped(const char *host, int port)
{
    const struct resp place[] = {{.type = RESP_STRING, .text = host, .length = strlen(host)},
        {.type = RESP_INTEGER, .integer = port, .text = ""}};
    const struct resp row[] = {{.type = RESP_INTEGER, .integer = 0, .text = ""},
        {.type = RESP_INTEGER, .integer = 16383, .text = ""},
        {.type = RESP_ARRAY, .elements = place, .n = 2, .text = ""}};
    const struct resp rows[] = {{.type = RESP_ARRAY, .elements = row, .n = 3, .text = ""}};
    const struct resp map = {.type = RESP_ARRAY, .elements = rows, .n = 1, .text = ""};
    return handshake_reply(&ready, &map, &out);
}

Test(ready, nodes)
{
    begin_at_node(false);
    cr_assert(strstr(sent(), "AUTH p; CLUSTER SLOTS; EXISTS {p}:db {p}:sessions "));
    cr_assert_eq(reply(RESP_STATUS, "OK"), HANDSHAKE_MORE);
    cr_assert_eq(mapped("a", 7), HANDSHAKE_MORE);
    cr_assert_eq(ready.map.n, 1);
    cr_assert_str_eq(ready.map.nodes[0].host, "a");
    cr_assert_str_empty(sent(), "all else has to wait: the slot may be elsewhere");
    cr_assert_eq(reply(RESP_INTEGER, ""), HANDSHAKE_MORE);
    cr_assert_str_eq(sent(), "INFO; ");
    cr_assert_eq(reply(RESP_STRING, node_info), HANDSHAKE_MORE);
    sent();
    expect_failure(RESP_ERROR, "MOVED 100 :9", "MOVED");
    cr_assert_eq(ready.redirection.kind, REDIRECTION_MOVED);
    cr_assert_str_eq(ready.redirection.to.host, "h");
}

Test(ready, nodes_that_say_little)
{
    begin_at_node(true);
    cr_assert(strstr(sent(), "AUTH p; CLUSTER SLOTS; ASKING; EXISTS "));
    cr_assert_eq(reply(RESP_STATUS, "OK"), HANDSHAKE_MORE);
    cr_assert_eq(reply(RESP_ERROR, "NOPERM no"), HANDSHAKE_MORE);
    cr_assert_eq(ready.map.n, 0);
    cr_assert_eq(reply(RESP_STATUS, "OK"), HANDSHAKE_MORE);
    expect_failure(RESP_STATUS, "OK", "unexpected reply");
}

static void begin_to_listen_at_node(void)
{
    cluster = (struct handshake_cluster){.slot = 100, .host = "h"};
    wish.cluster = &cluster;
    to_messages("abc");
    cr_assert_str_eq(sent(), "INFO; SSUBSCRIBE {p}:s:0123456789abcdef {p}:all; ");
    cr_assert_eq(reply(RESP_STRING, node_info), HANDSHAKE_MORE);
}

Test(ready, nodes_whose_messages_cannot_be_heard)
{
    begin_to_listen_at_node();
    expect_failure(RESP_ERROR, "NOPERM this user ...", "SSUBSCRIBE: NOPERM");
    cr_assert(ready.refused);
}

static const struct {
    const char *error;
    enum redirection_kind kind;
} redirections[] = {
    {"MOVED 100 b:2", REDIRECTION_MOVED},
    {"ASK 100 b:2", REDIRECTION_ASK},
    {"TRYAGAIN later", REDIRECTION_TRY_AGAIN},
    {"CLUSTERDOWN The cluster is down", REDIRECTION_NONE},
    {"MOVED 101 b:2", REDIRECTION_NONE},
    {"NOPERM no", REDIRECTION_NONE},
};

Test(ready, nodes_that_send_us_away)
{
    for (size_t i = 0; i < sizeof redirections / sizeof redirections[0]; i++) {
        begin_at_node(false);
        cr_assert_eq(reply(RESP_STATUS, "OK"), HANDSHAKE_MORE);
        cr_assert_eq(mapped("a", 7), HANDSHAKE_MORE);
        expect_failure(RESP_ERROR, redirections[i].error, redirections[i].error);
        cr_assert_eq(ready.redirection.kind, redirections[i].kind, "%s", redirections[i].error);
    }
}

Test(ready, a_server_that_is_no_node)
{
    begin_at_node(false);
    cr_assert_eq(reply(RESP_STATUS, "OK"), HANDSHAKE_MORE);
    cr_assert_eq(
        reply(RESP_ERROR, "ERR This instance has cluster support disabled"), HANDSHAKE_MORE);
    cr_assert_eq(reply(RESP_INTEGER, ""), HANDSHAKE_MORE);
    expect_failure(RESP_STRING,
        "redis_version:7.0.15\r\nrun_id:abc\r\nrole:master\r\nredis_mode:standalone\r\n",
        "not a node of a Redis Cluster");
    cr_assert(ready.refused);
}

/* ---- a server that is not known ---- */

enum { MAX_TEXTS = 8 };

static enum handshake_result replies(const char *first, ...)
{
    struct resp elements[MAX_TEXTS];
    struct resp resp = {.type = RESP_ARRAY, .elements = elements, .text = ""};
    va_list texts;
    va_start(texts, first);
    for (const char *text = first; text; text = va_arg(texts, const char *)) {
        elements[resp.n++] =
            (struct resp){.type = RESP_STRING, .text = text, .length = strlen(text)};
    }
    va_end(texts);
    return handshake_reply(&ready, &resp, &out);
}

static void expect_questions(const char *questions)
{
    char expected[256];
    snprintf(expected, sizeof expected, "%sEVAL ... 0 {p}:db {p}:all; ", questions);
    cr_assert_str_eq(sent(), expected);
}

Test(ready, a_server_that_is_not_known)
{
    static const char run_ids[][8] = {"", "abd"};
    for (size_t i = 0; i < 2; i++) {
        strcpy(known.run_id, run_ids[i]);
        handshake_commands(&ready, &wish, &out);
        sent();
        cr_assert_eq(reply(RESP_STRING, good_info), HANDSHAKE_MORE);
        expect_questions("CONFIG GET save; CONFIG GET stop-writes-on-bgsave-error; ");
    }
    cr_assert_eq(replies("save", "3600 1", NULL), HANDSHAKE_MORE);
    cr_assert_eq(replies("stop-writes-on-bgsave-error", "yes", NULL), HANDSHAKE_MORE);
    cr_assert_eq(replies("", "", NULL), HANDSHAKE_MORE);
    cr_assert(strstr(ready.guard.warning, "refuses all writes"));
    cr_assert_str_eq(sent(), ask_library);
    cr_assert_eq(reply(RESP_STRING, script_sets[0].name), HANDSHAKE_DONE);
    cr_assert_eq(ready.server.abilities.states[ABILITY_script_info], ABILITY_THERE);
    cr_assert_eq(ready.server.abilities.states[ABILITY_script_commands], ABILITY_THERE);
    cr_assert_str_eq(ready.server.run_id, "abc");
    known = ready.server;
    handshake_commands(&ready, &wish, &out);
    sent();
    cr_assert_eq(reply(RESP_STRING, good_info), HANDSHAKE_MORE);
    cr_assert_str_eq(sent(), ask_library, "what is known is not asked again");
    cr_assert(strstr(ready.guard.warning, "refuses all writes"), "but still holds");
    cr_assert_eq(ready.server.abilities.states[ABILITY_script_info], ABILITY_THERE);
}

Test(ready, what_scripts_may_not_do)
{
    known.run_id[0] = '\0';
    handshake_commands(&ready, &wish, &out);
    cr_assert_eq(reply(RESP_STRING, good_info), HANDSHAKE_MORE);
    cr_assert_eq(reply(RESP_ERROR, "NOPERM config"), HANDSHAKE_MORE);
    cr_assert_eq(reply(RESP_ERROR, "NOPERM config"), HANDSHAKE_MORE);
    cr_assert_eq(replies("", "", "+zadd", "+publish &{p}:*", NULL), HANDSHAKE_FAILED);
    cr_assert_str_eq(
        ready.why, "scripts need what is not allowed here: +zadd +publish &{p}:*");
    cr_assert(ready.refused);
    handshake_commands(&ready, &wish, &out);
    cr_assert_eq(reply(RESP_STRING, good_info), HANDSHAKE_MORE);
    cr_assert_eq(reply(RESP_ERROR, "NOPERM config"), HANDSHAKE_MORE);
    cr_assert_eq(reply(RESP_ERROR, "NOPERM config"), HANDSHAKE_MORE);
    cr_assert_eq(reply(RESP_ERROR, "NOPERM eval"), HANDSHAKE_FAILED);
    cr_assert(strstr(ready.why, "EVAL is not allowed"), "%s", ready.why);
    cr_assert(strstr(ready.why, "acknowledge = no-info"), "%s", ready.why);
    cr_assert(ready.refused);
    handshake_commands(&ready, &wish, &out);
    cr_assert_eq(reply(RESP_STRING, good_info), HANDSHAKE_MORE);
    cr_assert_eq(reply(RESP_ERROR, "NOPERM config"), HANDSHAKE_MORE);
    cr_assert_eq(reply(RESP_ERROR, "NOPERM config"), HANDSHAKE_MORE);
    cr_assert_eq(replies("ERR no INFO", "", NULL), HANDSHAKE_FAILED);
    cr_assert(strstr(ready.why, "INFO in scripts is not allowed"), "%s", ready.why);
}

/* Which is no reason not to use it: renewals and releases may go on. */
Test(ready, a_server_that_refuses_writes)
{
    static const struct {
        const char *error, *meaning;
    } rows[] = {
        {"", NULL},
        {"OOM command not allowed when used memory > 'maxmemory'.", "it is at its maxmemory"},
        {"MISCONF Redis is configured to save RDB snapshots", "it cannot save its data"},
        {"NOREPLICAS Not enough good replicas to write.", "it has too few replicas"},
        {"NOPERM this user has no permissions", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        handshake_commands(&ready, &wish, &out);
        known.run_id[0] = '\0';
        cr_assert_eq(reply(RESP_STRING, good_info), HANDSHAKE_MORE);
        cr_assert_eq(reply(RESP_ERROR, "NOPERM config"), HANDSHAKE_MORE);
        cr_assert_eq(reply(RESP_ERROR, "NOPERM config"), HANDSHAKE_MORE);
        cr_assert_eq(replies("", rows[i].error, NULL), HANDSHAKE_MORE);
        cr_assert_eq(rows[i].meaning != NULL, ready.unwritable != NULL, "%s", rows[i].error);
        cr_assert(!rows[i].meaning || strstr(ready.unwritable, rows[i].meaning));
    }
}

static enum handshake_result without_info(const char *policy)
{
    known.run_id[0] = '\0';
    handshake_commands(&ready, &wish, &out);
    sent();
    cr_assert_eq(reply(RESP_ERROR, "ERR unknown command 'INFO'"), HANDSHAKE_MORE);
    expect_questions("HELLO; CONFIG GET save; CONFIG GET stop-writes-on-bgsave-error; "
                     "CONFIG GET maxmemory; CONFIG GET maxmemory-policy; ");
    cr_assert_eq(replies("version", "7.2.0", "role", "master", NULL), HANDSHAKE_MORE);
    for (size_t i = 0; i < 3; i++) {
        cr_assert_eq(reply(RESP_ERROR, "ERR unknown command"), HANDSHAKE_MORE);
    }
    cr_assert_eq(policy ? replies("maxmemory-policy", policy, NULL)
                        : reply(RESP_ERROR, "ERR unknown command"),
        HANDSHAKE_MORE);
    return replies("ERR no INFO", "", NULL);
}

Test(ready, without_info)
{
    cr_assert_eq(without_info(NULL), HANDSHAKE_FAILED);
    cr_assert(strstr(ready.why, "acknowledge = no-info"), "%s", ready.why);
    cr_assert(strstr(ready.why, "acknowledge = eviction"), "%s", ready.why);
    cr_assert(ready.refused);
    wish.acknowledged = 1U << FAULT_no_info;
    cr_assert_eq(without_info("noeviction"), HANDSHAKE_MORE);
    cr_assert_str_eq(ready.guard.version, "7.2.0");
    cr_assert_eq(reply(RESP_STRING, script_sets[0].name), HANDSHAKE_DONE);
    sent();
    known = ready.server;
    to_messages("");
    cr_assert_str_eq(sent(), "SUBSCRIBE {p}:s:0123456789abcdef; SUBSCRIBE {p}:all; ");
}
