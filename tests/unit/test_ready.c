/* What a new connection is asked before it is used, and what its answers must be. */
#include "redis/ready.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static const char good_info[] =
    "redis_version:7.0.15\r\nrun_id:abc\r\nrole:master\r\nmaxmemory:0\r\n";
static const char sha[] = "0123456789abcdef0123456789abcdef01234567";

static struct keys keys;
static struct ready ready;
static struct ready_wish wish;
static struct text out;

static void begin(void)
{
    cr_assert(keys_init(&keys, "p", "0123456789abcdef"));
    wish.keys = &keys;
}

static void end(void)
{
    text_deinit(&out);
}

TestSuite(ready, .init = begin, .fini = end);

/* The commands to be sent so far, as words with spaces between; scripts by their beginning only. */
static const char *sent(void)
{
    static char words[512];
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

static enum ready_result reply(enum resp_type type, const char *text)
{
    struct resp resp = {.type = type, .text = text, .length = strlen(text)};
    return ready_reply(&ready, &resp, &out);
}

static void expect_failure(enum resp_type type, const char *text, const char *why)
{
    cr_assert_eq(reply(type, text), READY_FAILED);
    cr_assert(strstr(ready.why, why), "%s", ready.why);
}

static enum ready_result subscribed(const char *word, const char *channel)
{
    struct resp elements[] = {
        {.type = RESP_STRING, .text = word, .length = strlen(word)},
        {.type = RESP_STRING, .text = channel, .length = strlen(channel)},
        {.type = RESP_INTEGER, .integer = 1, .text = ""},
    };
    struct resp resp = {.type = RESP_ARRAY, .elements = elements, .n = 3, .text = ""};
    return ready_reply(&ready, &resp, &out);
}

/* The second connection, after the first one has reached the server with that run id. */
static void to_messages(const char *run_id)
{
    strcpy(ready.guard.run_id, run_id);
    ready_messages(&ready, &wish, &ready, &out);
}

Test(ready, commands)
{
    ready_commands(&ready, &wish, &out);
    cr_assert_str_eq(sent(), "INFO; ");
    cr_assert_eq(reply(RESP_STRING, good_info), READY_MORE);
    cr_assert_str_eq(sent(),
        "SCRIPT LOAD ...; SCRIPT LOAD ...; SCRIPT LOAD ...; SCRIPT LOAD ...; "
        "SCRIPT LOAD ...; SCRIPT LOAD ...; ");
    for (size_t i = 1; i < N_SCRIPTS; i++) {
        cr_assert_eq(reply(RESP_STRING, sha), READY_MORE);
    }
    cr_assert_eq(reply(RESP_STRING, sha), READY_DONE);
    cr_assert_str_eq(ready.shas[N_SCRIPTS - 1], sha);
    cr_assert_str_eq(ready.guard.run_id, "abc");
}

Test(ready, who_and_where)
{
    wish = (struct ready_wish){.user = "u", .password = "p w", .db = 3, .keys = &keys};
    ready_commands(&ready, &wish, &out);
    cr_assert_str_eq(sent(), "AUTH u p w; SELECT 3; INFO; ");
    cr_assert_eq(reply(RESP_STATUS, "OK"), READY_MORE);
    cr_assert_eq(reply(RESP_STATUS, "OK"), READY_MORE);
    wish.user = NULL;
    to_messages("abc");
    cr_assert_str_eq(
        sent(), "AUTH p w; INFO; SUBSCRIBE {p}:s:0123456789abcdef; SUBSCRIBE {p}:all; ");
    wish = (struct ready_wish){.user = "u", .keys = &keys};
    ready_commands(&ready, &wish, &out);
    cr_assert_str_eq(sent(), "AUTH u ; INFO; ");
}

Test(ready, messages)
{
    to_messages("abc");
    cr_assert_eq(reply(RESP_STRING, good_info), READY_MORE);
    cr_assert_eq(subscribed("subscribe", "{p}:s:0123456789abcdef"), READY_MORE);
    cr_assert_eq(subscribed("subscribe", "{p}:all"), READY_DONE);
}

Test(ready, other_messages)
{
    to_messages("abcd");
    expect_failure(RESP_STRING, good_info, "different servers");
    to_messages("abc");
    cr_assert_eq(reply(RESP_STRING, good_info), READY_MORE);
    cr_assert_eq(subscribed("subscribe", "{p}:s:another"), READY_FAILED);
    to_messages("abc");
    cr_assert_eq(reply(RESP_STRING, good_info), READY_MORE);
    cr_assert_eq(subscribed("message", "{p}:s:0123456789abcdef"), READY_FAILED);
}

Test(ready, passwords_are_not_repeated)
{
    wish.password = "s3cret";
    ready_commands(&ready, &wish, &out);
    expect_failure(RESP_ERROR, "ERR unknown command 'AUTH' 's3cret'", "AUTH: ERR: ");
    cr_assert_not(strstr(ready.why, "s3cret"));
    cr_assert_not(ready.refused);
}

Test(ready, errors)
{
    ready_commands(&ready, &wish, &out);
    expect_failure(RESP_ERROR, "LOADING data", "INFO: LOADING data");
    ready_commands(&ready, &wish, &out);
    expect_failure(RESP_STATUS, "OK", "not the answer");
    ready_commands(&ready, &wish, &out);
    cr_assert_eq(reply(RESP_STRING, good_info), READY_MORE);
    expect_failure(RESP_ERROR, "NOPERM no", "SCRIPT LOAD: NOPERM no");
    wish.db = 1;
    ready_commands(&ready, &wish, &out);
    expect_failure(RESP_INTEGER, "", "not the answer");
}

Test(ready, hashes)
{
    static const char *const bad[] = {"", "x", "0123456789abcdef0123456789abcdef0123456",
        "0123456789abcdef0123456789abcdef012345678", "0123456789abcdef0123456789abcdef0123456x"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        ready_commands(&ready, &wish, &out);
        cr_assert_eq(reply(RESP_STRING, good_info), READY_MORE);
        expect_failure(RESP_STRING, bad[i], "not the answer");
    }
}

Test(ready, refused)
{
    ready_commands(&ready, &wish, &out);
    sent();
    expect_failure(
        RESP_STRING, "redis_version:7.0.15\r\nrun_id:abc\r\nrole:slave\r\n", "a replica");
    cr_assert(ready.refused);
    cr_assert_str_empty(sent(), "nothing is loaded into it");
}

static void load_all(void)
{
    for (size_t i = 0; i < N_SCRIPTS; i++) {
        cr_assert_eq(reply(RESP_STRING, sha), i + 1 < N_SCRIPTS ? READY_MORE : READY_DONE);
    }
}

Test(ready, what_is_optional)
{
    wish.client_name = "berthd:web1";
    ready_commands(&ready, &wish, &out);
    cr_assert_str_eq(sent(), "INFO; CLIENT SETNAME berthd:web1; ");
    cr_assert_eq(reply(RESP_STRING, good_info), READY_MORE);
    cr_assert_str_empty(sent(), "the next stage waits for all answers");
    cr_assert_eq(reply(RESP_ERROR, "NOPERM this user ..."), READY_MORE);
    load_all();
    cr_assert_eq(ready.abilities.states[ABILITY_info], ABILITY_THERE);
    cr_assert_eq(ready.abilities.states[ABILITY_client_name], ABILITY_LACKING);
    cr_assert_eq(ready.abilities.states[ABILITY_select], ABILITY_NOT_TRIED);
    to_messages("abc");
    cr_assert_str_eq(sent(), "SCRIPT LOAD ...; SCRIPT LOAD ...; SCRIPT LOAD ...; SCRIPT LOAD ...; "
                             "SCRIPT LOAD ...; SCRIPT LOAD ...; INFO; "
                             "SUBSCRIBE {p}:s:0123456789abcdef; SUBSCRIBE {p}:all; ");
    ready_commands(&ready, &wish, &out);
    cr_assert_eq(reply(RESP_STRING, good_info), READY_MORE);
    expect_failure(RESP_ERROR, "LOADING data", "CLIENT SETNAME: LOADING data");
    ready_commands(&ready, &wish, &out);
    cr_assert_eq(reply(RESP_STRING, good_info), READY_MORE);
    cr_assert_eq(reply(RESP_STATUS, "OK"), READY_MORE);
    load_all();
    sent();
    to_messages("abc");
    cr_assert_str_eq(sent(), "INFO; CLIENT SETNAME berthd:web1; "
                             "SUBSCRIBE {p}:s:0123456789abcdef; SUBSCRIBE {p}:all; ");
}
