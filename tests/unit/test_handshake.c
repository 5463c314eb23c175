/* What a new connection is asked before it is used, and what its answers must be. */
#include "redis/handshake.h"
#include "resp_text.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define SERVER "redis_version:7.0.15\r\nrun_id:abc\r\n"
#define MEMORY "maxmemory:0\r\nmaxmemory_policy:noeviction\r\n"
#define GOOD "'" SERVER "role:master\r\n" MEMORY "'"
#define SUBSCRIBES "SUBSCRIBE {p}:s:0123456789abcdef; SUBSCRIBE {p}:all; "

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

/* The first connection begins. */
static void to_commands(void)
{
    text_deinit(&out);
    handshake_commands(&ready, &wish, &out);
}

/* The second one, after the first has reached the server with that run id. */
static void to_messages(const char *run_id)
{
    text_deinit(&out);
    strcpy(known.run_id, run_id);
    handshake_messages(&ready, &wish, &out);
}

static enum handshake_result reply(const char *text)
{
    return handshake_reply(&ready, resp_of(text), &out);
}

/* These replies come, and more of them is awaited after each. */
#define REPLIES(...) replies((const char *const[]){__VA_ARGS__, NULL})
static void replies(const char *const texts[])
{
    for (; *texts; texts++) {
        cr_assert_eq(reply(*texts), HANDSHAKE_MORE, "%s: %s", *texts, ready.why);
    }
}

static void expect_done(const char *text)
{
    cr_assert_eq(reply(text), HANDSHAKE_DONE, "%s: %s", text, ready.why);
}

static void expect_failure(const char *text, const char *why)
{
    cr_assert_eq(reply(text), HANDSHAKE_FAILED);
    cr_assert(strstr(ready.why, why), "%s", ready.why);
}

/* For as long as somebody changes something there. */
static void expect_refusal(const char *text, const char *why)
{
    expect_failure(text, why);
    cr_assert(ready.refused);
}

static void expect_ability(enum ability ability, enum ability_state state)
{
    cr_assert_eq(ready.server.abilities.states[ability], state);
}

Test(ready, commands)
{
    to_commands();
    cr_assert_str_eq(sent(), "INFO; ");
    REPLIES(GOOD);
    cr_assert_str_eq(sent(), ask_library);
    expect_done(script_sets[0].name);
    cr_assert_str_empty(sent(), "it is there: nothing is loaded");
    cr_assert_eq(ready.loading, LOADING_HAS_LIBRARY);
    cr_assert_str_eq(ready.guard.run_id, "abc");
}

Test(ready, brings_the_library)
{
    to_commands();
    REPLIES(GOOD);
    sent();
    REPLIES("-ERR Function not found");
    cr_assert_str_eq(sent(), "FUNCTION LOAD ...; ");
    expect_done(script_sets[0].name);
    cr_assert_eq(ready.loading, LOADING_HAS_LIBRARY);
    expect_ability(ABILITY_functions, ABILITY_THERE);
}

Test(ready, brings_the_script_where_there_are_no_functions)
{
    to_commands();
    REPLIES(GOOD, "-ERR unknown command 'FCALL'");
    sent();
    REPLIES("-NOSCRIPT No matching script.");
    cr_assert_str_eq(sent(), "SCRIPT LOAD ...; ");
    expect_done(script_sets[0].sha);
    cr_assert_eq(ready.loading, LOADING_HAS_SCRIPT);
    expect_ability(ABILITY_functions, ABILITY_LACKING);
    expect_ability(ABILITY_scripts, ABILITY_THERE);
}

Test(ready, who_and_where)
{
    wish.user = "u";
    wish.password = "p w";
    wish.db = 3;
    to_commands();
    cr_assert_str_eq(sent(), "AUTH u p w; SELECT 3; INFO; ");
    REPLIES("+OK", "+OK");
    wish.user = NULL;
    to_messages("abc");
    cr_assert_str_eq(sent(), "AUTH p w; INFO; " SUBSCRIBES);
    wish = (struct handshake_wish){
        .user = "u", .keys = &keys, .known = &known, .set = &script_sets[0]};
    to_commands();
    cr_assert_str_eq(sent(), "AUTH u ; INFO; ");
}

Test(ready, messages)
{
    to_messages("abc");
    REPLIES(GOOD, "[ subscribe {p}:s:0123456789abcdef 1 ]");
    expect_done("[ subscribe {p}:all 1 ]");
}

Test(ready, other_messages)
{
    to_messages("abcd");
    expect_failure(GOOD, "different servers");
    to_messages("abc");
    REPLIES(GOOD);
    expect_failure("[ subscribe {p}:s:another 1 ]", "");
    to_messages("abc");
    REPLIES(GOOD);
    expect_failure("[ message {p}:s:0123456789abcdef 1 ]", "");
}

Test(ready, passwords_are_not_repeated)
{
    wish.password = "s3cret";
    to_commands();
    expect_refusal("-ERR unknown command 'AUTH' 's3cret'", "AUTH: ERR: ");
    cr_assert_not(strstr(ready.why, "s3cret"));
}

Test(ready, errors)
{
    to_commands();
    expect_failure("-LOADING data", "INFO: LOADING data");
    to_commands();
    expect_failure("+OK", "unexpected reply");
    to_commands();
    REPLIES(GOOD, "-NOPERM no");
    expect_failure("-NOPERM no", "NOPERM no");
    wish.db = 1;
    to_commands();
    expect_failure("0", "unexpected reply");
}

Test(ready, refused)
{
    to_commands();
    sent();
    expect_refusal("'" SERVER "role:slave\r\n'", "a replica");
    cr_assert_str_empty(sent(), "nothing is loaded into it");
}

Test(ready, what_is_optional)
{
    wish.client_name = "berthd:web1";
    to_commands();
    cr_assert_str_eq(sent(), "INFO; CLIENT SETNAME berthd:web1; ");
    REPLIES(GOOD);
    cr_assert_str_empty(sent(), "the next stage waits for all answers");
    REPLIES("-NOPERM this user ...");
    expect_done(script_sets[0].name);
    expect_ability(ABILITY_info, ABILITY_THERE);
    expect_ability(ABILITY_client_name, ABILITY_LACKING);
    expect_ability(ABILITY_select, ABILITY_NOT_TRIED);
    known = ready.server;
    to_messages("abc");
    cr_assert_str_eq(sent(), "INFO; " SUBSCRIBES);
    to_commands();
    REPLIES(GOOD);
    expect_failure("-LOADING data", "CLIENT SETNAME: LOADING data");
    to_commands();
    REPLIES(GOOD, "+OK");
    expect_done(script_sets[0].name);
    known = ready.server;
    to_messages("abc");
    cr_assert_str_eq(sent(), "INFO; CLIENT SETNAME berthd:web1; " SUBSCRIBES);
}

/* ---- a node of a cluster ---- */

#define NODE "'" SERVER "role:master\r\ncluster_enabled:1\r\nredis_mode:cluster\r\n" MEMORY "'"
#define MAP "[ [ 0 16383 [ a 7 ] ] ]" /* one node has all slots */

static struct route cluster;

static void begin_at_node(bool is_asking)
{
    cluster = (struct route){.slot = 100, .at = {.host = "h"}, .is_asking = is_asking};
    wish.cluster = &cluster;
    wish.password = "p";
    to_commands();
}

Test(ready, nodes)
{
    begin_at_node(false);
    cr_assert(strstr(sent(), "AUTH p; CLUSTER SLOTS; EXISTS {p}:db {p}:sessions "));
    REPLIES("+OK", MAP);
    cr_assert_eq(ready.map.n, 1);
    cr_assert_str_eq(ready.map.nodes[0].host, "a");
    cr_assert_str_empty(sent(), "all else has to wait: the slot may be elsewhere");
    REPLIES("0");
    cr_assert_str_eq(sent(), "INFO; ");
    REPLIES(NODE);
    sent();
    expect_failure("-MOVED 100 :9", "MOVED");
    cr_assert_eq(ready.redirection.kind, REDIRECTION_MOVED);
    cr_assert_str_eq(ready.redirection.to.host, "h");
}

Test(ready, nodes_that_say_little)
{
    begin_at_node(true);
    cr_assert(strstr(sent(), "AUTH p; CLUSTER SLOTS; ASKING; EXISTS "));
    REPLIES("+OK", "-NOPERM no");
    cr_assert_eq(ready.map.n, 0);
    REPLIES("+OK");
    expect_failure("+OK", "unexpected reply");
}

Test(ready, nodes_whose_messages_cannot_be_heard)
{
    cluster = (struct route){.slot = 100, .at = {.host = "h"}};
    wish.cluster = &cluster;
    to_messages("abc");
    cr_assert_str_eq(sent(), "INFO; SSUBSCRIBE {p}:s:0123456789abcdef {p}:all; ");
    REPLIES(NODE);
    expect_refusal("-NOPERM this user ...", "SSUBSCRIBE: NOPERM");
}

static const struct {
    const char *error;
    enum redirection_kind kind;
} redirections[] = {
    {"-MOVED 100 b:2", REDIRECTION_MOVED},
    {"-ASK 100 b:2", REDIRECTION_ASK},
    {"-TRYAGAIN later", REDIRECTION_TRY_AGAIN},
    {"-CLUSTERDOWN The cluster is down", REDIRECTION_NONE},
    {"-MOVED 101 b:2", REDIRECTION_NONE},
    {"-NOPERM no", REDIRECTION_NONE},
};

Test(ready, nodes_that_send_us_away)
{
    for (size_t i = 0; i < sizeof redirections / sizeof redirections[0]; i++) {
        begin_at_node(false);
        REPLIES("+OK", MAP);
        expect_failure(redirections[i].error, redirections[i].error + 1);
        cr_assert_eq(ready.redirection.kind, redirections[i].kind, "%s", redirections[i].error);
    }
}

Test(ready, a_server_that_is_no_node)
{
    begin_at_node(false);
    REPLIES("+OK", "-ERR This instance has cluster support disabled", "0");
    expect_refusal(
        "'" SERVER "role:master\r\nredis_mode:standalone\r\n'", "not a node of a Redis Cluster");
}

/* ---- a server that is not known ---- */

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
        to_commands();
        sent();
        REPLIES(GOOD);
        expect_questions("CONFIG GET save; CONFIG GET stop-writes-on-bgsave-error; ");
    }
    REPLIES("[ save '3600 1' ]", "[ stop-writes-on-bgsave-error yes ]", "[ '' '' '' ]");
    cr_assert(strstr(ready.guard.warning, "refuses all writes"));
    cr_assert_str_eq(sent(), ask_library);
    expect_done(script_sets[0].name);
    expect_ability(ABILITY_script_info, ABILITY_THERE);
    expect_ability(ABILITY_script_commands, ABILITY_THERE);
    expect_ability(ABILITY_script_history, ABILITY_THERE);
    cr_assert_str_eq(ready.server.run_id, "abc");
    known = ready.server;
    to_commands();
    sent();
    REPLIES(GOOD);
    cr_assert_str_eq(sent(), ask_library, "what is known is not asked again");
    cr_assert(strstr(ready.guard.warning, "refuses all writes"), "but still holds");
    expect_ability(ABILITY_script_info, ABILITY_THERE);
}

/* Up to what the scripts may do. */
static void begin_at_unknown(void)
{
    known.run_id[0] = '\0';
    to_commands();
    REPLIES(GOOD, "-NOPERM config", "-NOPERM config");
}

Test(ready, what_scripts_may_not_do)
{
    begin_at_unknown();
    expect_refusal("[ '' '' '' '+zadd' '+publish &{p}:*' ]", "");
    cr_assert_str_eq(
        ready.why, "scripts need what is not allowed here: +zadd +publish &{p}:*");
    begin_at_unknown();
    expect_refusal("-NOPERM eval", "EVAL is not allowed");
    cr_assert(strstr(ready.why, "acknowledge = no-info"), "%s", ready.why);
    begin_at_unknown();
    expect_failure("[ 'ERR no INFO' '' '' ]", "INFO in scripts is not allowed");
}

Test(ready, what_only_the_history_needs)
{
    begin_at_unknown();
    REPLIES("[ '' '' '+xadd +xrange +xrevrange' ]");
    expect_done(script_sets[0].name);
    expect_ability(ABILITY_script_history, ABILITY_LACKING);
    expect_ability(ABILITY_script_commands, ABILITY_THERE);
}

/* Which is no reason not to use it: renewals and releases may go on. */
Test(ready, a_server_that_refuses_writes)
{
    static const struct {
        const char *writes, *meaning;
    } rows[] = {
        {"[ '' '' '' ]", NULL},
        {"[ '' 'OOM command not allowed when used memory > maxmemory.' '' ]",
            "it is at its maxmemory"},
        {"[ '' 'MISCONF Redis is configured to save RDB snapshots' '' ]",
            "it cannot save its data"},
        {"[ '' 'NOREPLICAS Not enough good replicas to write.' '' ]", "it has too few replicas"},
        {"[ '' 'NOPERM this user has no permissions' '' ]", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        begin_at_unknown();
        REPLIES(rows[i].writes);
        cr_assert_eq(rows[i].meaning != NULL, ready.unwritable != NULL, "%s", rows[i].writes);
        cr_assert(!rows[i].meaning || strstr(ready.unwritable, rows[i].meaning));
    }
}

/* Up to what the scripts may do; `policy`: the reply about maxmemory-policy. */
static void begin_without_info(const char *policy)
{
    known.run_id[0] = '\0';
    to_commands();
    sent();
    REPLIES("-ERR unknown command 'INFO'");
    expect_questions("HELLO; CONFIG GET save; CONFIG GET stop-writes-on-bgsave-error; "
                     "CONFIG GET maxmemory; CONFIG GET maxmemory-policy; ");
    REPLIES("[ version 7.2.0 role master ]", "-ERR unknown command", "-ERR unknown command",
        "-ERR unknown command", policy);
}

Test(ready, without_info)
{
    begin_without_info("-ERR unknown command");
    expect_refusal("[ 'ERR no INFO' '' '' ]", "acknowledge = no-info");
    cr_assert(strstr(ready.why, "acknowledge = eviction"), "%s", ready.why);
    wish.acknowledged = 1U << FAULT_no_info;
    begin_without_info("[ maxmemory-policy noeviction ]");
    REPLIES("[ 'ERR no INFO' '' '' ]");
    cr_assert_str_eq(ready.guard.version, "7.2.0");
    expect_done(script_sets[0].name);
    known = ready.server;
    to_messages("");
    cr_assert_str_eq(sent(), SUBSCRIBES);
}
