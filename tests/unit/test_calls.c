/* test_calls.c - the texts of the calls: what is sent, what is believed of what comes back. */
#include "base/memory.h"
#include "base/words.h"
#include "fleet/session_text.h"
#include "resp_text.h"
#include "wire/protocol.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is sent ---- */

Test(calls, arguments_may_be_empty)
{
    struct arguments arguments = {0};
    for (int round = 0; round < 2; round++) {
        arguments_clear(&arguments);
        for (int i = 0; i < 100; i++) {
            arguments_add(&arguments, "");
            arguments_add(&arguments, "two words");
            arguments_add_number(&arguments, UINT64_MAX);
        }
        arguments_finish(&arguments);
        cr_assert_eq(arguments.n, 300);
        for (size_t i = 0; i < arguments.n; i += 3) {
            cr_assert_str_eq(arguments.argv[i], "");
            cr_assert_eq(arguments.lengths[i], 0);
            cr_assert_str_eq(arguments.argv[i + 1], "two words");
            cr_assert_eq(arguments.lengths[i + 1], 9);
            cr_assert_str_eq(arguments.argv[i + 2], "18446744073709551615");
        }
    }
    arguments_deinit(&arguments);
}

Test(calls, definitions)
{
    char *items[] = {"gpu0", "gpu1"};
    struct definition pool = {.name = "gpus",
        .kind = KIND_POOL,
        .selection = SELECT_FIRST,
        .limit = 7,
        .items = items,
        .n_items = 2,
        .cooldown = 1500 * (NANOSECONDS_PER_SECOND / 1000),
        .keep = 2500 * (NANOSECONDS_PER_SECOND / 1000),
        .max_waiters = 5,
        .max_units_per_user = 2,
        .identity_shared = true};
    struct text out = TEXT_INIT;
    definition_write(&out, &pool);
    cr_assert_str_eq(out.bytes,
        "{\"kind\":\"pool\",\"limit\":0,\"select\":\"first\",\"cooldown\":1500,"
        "\"keep\":2500,\"max-waiters\":5,"
        "\"max-units-per-user\":2,\"shared\":true,\"items\":[\"gpu0\",\"gpu1\"]}");
    pool.kind = KIND_LOCK;
    pool.limit = 1;
    pool.max_units_per_user = UNBOUNDED;
    out.length = 0;
    definition_write(&out, &pool);
    cr_assert_str_eq(out.bytes,
        "{\"kind\":\"lock\",\"limit\":1,\"select\":\"first\",\"cooldown\":1500,"
        "\"keep\":2500,\"max-waiters\":5,"
        "\"max-units-per-user\":0,\"shared\":true,\"items\":[]}");
    pool.order = ORDER_FAIR;
    out.length = 0;
    definition_write(&out, &pool);
    cr_assert(strstr(out.bytes, "\"shared\":true,\"items\":[],\"fair\":\"user\"}"));
    pool.fair_by_share = true;
    out.length = 0;
    definition_write(&out, &pool);
    cr_assert(strstr(out.bytes, "\"items\":[],\"fair\":\"share\"}"));
    text_deinit(&out);
}

static struct lease *waiting_lease(struct resource *resource, const char *reason)
{
    struct acquire_request ask = {.n_wants = 1,
        .wants = {{"s", 2}},
        .pid = 12,
        .attributes = {.program = "a b", .reason = reason}};
    struct lease *lease = lease_new(&ask, 7, 3 * NANOSECONDS_PER_SECOND);
    lease->claims[0].resource = resource;
    return lease;
}

Test(calls, info)
{
    struct text out = TEXT_INIT;
    struct definition definition = {.limit = 1, .max_hold = NEVER};
    struct resource resource = {.definition = &definition, .name = (char *)"s"};
    struct lease *lease = waiting_lease(&resource, "||x|\t%");
    info_write(&out, lease, 4250 * NANOSECONDS_PER_MILLISECOND);
    cr_assert_str_eq(out.bytes, "pid=12 program=a%20b reason=||x|%09%25 at=7250");
    out.length = 0;
    definition.max_hold = 90 * NANOSECONDS_PER_SECOND;
    info_write(&out, lease, 4250 * NANOSECONDS_PER_MILLISECOND);
    cr_assert_str_eq(out.bytes, "pid=12 program=a%20b reason=||x|%09%25 at=7250 hold=90000");
    out.length = 0;
    lease->state = LEASE_HELD;
    lease->granted_at = 5 * NANOSECONDS_PER_SECOND;
    info_write(&out, lease, 4 * NANOSECONDS_PER_SECOND);
    cr_assert_str_eq(out.bytes, "pid=12 program=a%20b reason=||x|%09%25 at=9000");
    out.length = 0;
    definition.shows_to_owner_only = true;
    info_write(&out, lease, 4 * NANOSECONDS_PER_SECOND);
    cr_assert_str_eq(out.bytes, "pid=12 program=a%20b reason=||x|%09%25 at=9000 hide=1 hides=s");
    struct lease_timer as_granted = {.hold_until = 65 * NANOSECONDS_PER_SECOND};
    lease->lease_timer = &as_granted; /* the file may say another time by now */
    out.length = 0;
    info_write(&out, lease, 4 * NANOSECONDS_PER_SECOND);
    cr_assert_str_eq(
        out.bytes, "pid=12 program=a%20b reason=||x|%09%25 at=9000 hide=1 hides=s hold=60000");
    lease->lease_timer = NULL;
    lease->attributes.replace = REPLACE_RUNNING;
    definition = (struct definition){.limit = 1, .max_hold = NEVER};
    out.length = 0;
    info_write(&out, lease, 4 * NANOSECONDS_PER_SECOND);
    cr_assert_str_eq(
        out.bytes, "pid=12 program=a%20b reason=||x|%09%25 at=9000 replace=running");
    lease_free(lease);
    text_deinit(&out);
}

/* ---- answers ---- */

Test(calls, answers)
{
    struct answer answer;
    const char *text;
    uint64_t number;
    cr_assert_null(answer_read(resp_of("[ ok -1 0 '5' '17' 18 x ]"), &answer));
    cr_assert_eq(answer.kind, REPLY_OK);
    cr_assert_eq(answer.due, NEVER);
    cr_assert_eq(answer.grace, 0);
    cr_assert_eq(answer.sequence, 5);
    cr_assert_eq(answer.n, 3);
    cr_assert(answer_number(&answer, 0, 17, &number) && number == 17);
    cr_assert_not(answer_number(&answer, 0, 16, &number));
    cr_assert(answer_number(&answer, 1, 18, &number) && number == 18);
    cr_assert_not(answer_number(&answer, 1, 17, &number));
    cr_assert_not(answer_number(&answer, 2, 17, &number));
    cr_assert(answer_text(&answer, 2, &text));
    cr_assert_not(answer_text(&answer, 1, &text));
    cr_assert_not(answer_text(&answer, 3, &text));
    cr_assert_null(answer_read(resp_of("[ refused '250' '41000' '6' ]"), &answer));
    cr_assert_eq(answer.kind, REPLY_REFUSED);
    cr_assert_eq(answer.due, NANOSECONDS_PER_SECOND / 4);
    cr_assert_eq(answer.grace, 41 * NANOSECONDS_PER_SECOND);
    cr_assert_null(answer_read(resp_of("[ hello grace ]"), &answer));
    cr_assert_eq(answer.kind, REPLY_HELLO);
    cr_assert_str_eq(answer.text, "grace");
    cr_assert_null(answer_read(resp_of("[ stale ]"), &answer));
    cr_assert_eq(answer.kind, REPLY_STALE);
    cr_assert_null(answer_read(resp_of("-BUSY x"), &answer));
    cr_assert_eq(answer.kind, REPLY_ERROR);
    cr_assert_str_eq(answer.text, "BUSY x");
}

Test(calls, answers_that_are_none)
{
    static const char *const replies[] = {"[ ]", "_", "1", "ok", "[ fine -1 0 ]", "[ 1 -1 0 ]",
        "[ ok -1 ]", "[ ok -2 0 ]", "[ ok 0 -1 ]", "[ ok 9223372036854775807 0 ]", "[ ok _ 0 ]",
        "[ hello 1 ]"};
    struct resp word[] = {{.type = RESP_STRING, .text = "o\0k", .length = 3},
        {.type = RESP_INTEGER, .text = "", .integer = -1}, {.type = RESP_INTEGER, .text = ""}};
    struct resp reply = {.type = RESP_ARRAY, .text = "", .elements = word, .n = 3};
    struct answer answer;
    for (size_t i = 0; i < sizeof replies / sizeof replies[0]; i++) {
        cr_assert_not_null(answer_read(resp_of(replies[i]), &answer), "%s", replies[i]);
    }
    cr_assert_not_null(answer_read(&reply, &answer), "a word with a zero byte");
}

/* The scripts refuse in the words of the codes. */
static const struct {
    enum outcome outcome;
    enum code code;
    const char *refusal;
} outcomes[] = {
#define OUTCOME(id, code, refusal) {OUTCOME_##id, CODE_##code, refusal},
#include "core/outcomes.def"
#undef OUTCOME
};

Test(calls, refusals)
{
    for (size_t i = 0; i < N_OUTCOMES; i++) {
        const char *word = code_table[outcomes[i].code].word;
        if (outcomes[i].refusal) {
            cr_expect_str_eq(outcomes[i].refusal, word);
            cr_expect_eq(refusal_outcome(word), outcomes[i].outcome, "%s", word);
        } else if (word) {
            cr_expect_eq(refusal_outcome(word), OUTCOME_DOWN, "%s", word);
        }
    }
    cr_expect_eq(refusal_outcome("malformed"), OUTCOME_DOWN);
    cr_expect_eq(refusal_outcome(""), OUTCOME_DOWN);
}

/* ---- claims ---- */

Test(calls, claims)
{
    struct definition definition = {.name = "s", .limit = 3};
    struct resource resource = {.name = "s", .definition = &definition};
    struct lease *lease = waiting_lease(&resource, NULL);
    struct claims claims = {0};
    cr_assert_null(claims_read(&claims, "s 2 9007199254740991 0,999999", lease));
    cr_assert_eq(claims.list[0].token, MAX_DATABASE_NUMBER);
    cr_assert_eq(claims.list[0].units[1].slot, 999999); /* the core knows better */
    cr_assert_null(claims_read(&claims, "s 2 1 7-8", lease));
    cr_assert_eq(claims.list[0].units[0].slot, 7);
    cr_assert_eq(claims.list[0].units[1].slot, 8);
    static const char *const no_slots[] = {"s 2 9007199254740992 0,1", "s 2 1 0,4294967296",
        "s 2 1 0,01", "s 2 1 0 1", "s 2 1 7-9", "s 2 1 7-7,8", "s 2 1 8-7", "s 2 1 0-4294967295",
        "s 2 1 7-", "s 2 1 -8"};
    for (size_t i = 0; i < sizeof no_slots / sizeof no_slots[0]; i++) {
        cr_assert_not_null(claims_read(&claims, no_slots[i], lease), "%s", no_slots[i]);
    }
    definition.kind = KIND_POOL;
    cr_assert_null(claims_read(&claims, "s 2 5 a,b", lease));
    cr_assert_str_eq(claims.list[0].units[1].item, "b");
    cr_assert_not_null(claims_read(&claims, "s 2 5 a,b c", lease));
    cr_assert_not_null(claims_read(&claims, "s 2 5 a,", lease));
    claims_deinit(&claims);
    lease_free(lease);
}

/* The longest that fit on a line, and one more. */
Test(calls, scattered_slots)
{
    struct definition definition = {.name = "s", .limit = 10000};
    struct resource resource = {.name = "s", .definition = &definition};
    struct lease *lease = waiting_lease(&resource, NULL);
    struct claims claims = {0};
    for (uint32_t n = MAX_RANGES; n <= MAX_RANGES + 1; n++) {
        struct text text = TEXT_INIT;
        text_add_format(&text, "s %u 1 0-1", 2 * n);
        for (uint32_t i = 1; i < n; i++) {
            text_add_format(&text, ",%u-%u", 3 * i, 3 * i + 1);
        }
        lease->claims[0].count = 2 * n;
        bool fits = claims_read(&claims, text.bytes, lease) == NULL;
        cr_assert_eq(fits, n == MAX_RANGES);
        text_deinit(&text);
    }
    claims_deinit(&claims);
    lease_free(lease);
}

Test(calls, the_highest_token)
{
    cr_assert_eq(claims_highest_token("s 2 17 0,1|p 1 19 a|l 1 18 0"), 19);
    cr_assert_eq(claims_highest_token("s 2 17"), 17);
    cr_assert_eq(claims_highest_token("s 2 99999999999999999999999 0|l 1 3 0"), 3);
    cr_assert_eq(claims_highest_token("9007199254740992 9007199254740992 9007199254740992"), 0);
    cr_assert_eq(claims_highest_token("-"), 0);
    cr_assert_eq(claims_highest_token(""), 0);
    cr_assert_eq(claims_highest_token("|||"), 0);
    cr_assert_eq(claims_highest_token("a b"), 0);
    cr_assert_eq(claims_highest_token("a "), 0);
}

/* ---- events ---- */

Test(calls, events)
{
    struct fleet_event event;
    cr_assert_null(fleet_event_read("granted 7 5 s 1 17 0|l 1 18 0", &event));
    cr_assert_eq(event.kind, FLEET_GRANTED);
    cr_assert_eq(event.id, 7);
    cr_assert_eq(event.ticket, 5);
    cr_assert_str_eq(event.text, "s 1 17 0|l 1 18 0");
    cr_assert_null(fleet_event_read("revoke 7", &event));
    cr_assert_eq(event.kind, FLEET_REVOKE);
    cr_assert_null(fleet_event_read("sing 5", &event));
    cr_assert_eq(event.kind, FLEET_UNKNOWN);
}

Test(calls, messages)
{
    uint64_t number;
    const char *text;
    cr_assert_null(message_read("000000000012 lost 7", &number, &text));
    cr_assert_eq(number, 12);
    cr_assert_str_eq(text, "lost 7");
    cr_assert_null(message_read("999999999999999 x", &number, &text));
    cr_assert_not_null(message_read("9999999999999999 x", &number, &text));
    cr_assert_not_null(message_read("12", &number, &text));
    cr_assert_not_null(message_read(" x", &number, &text));
    cr_assert_not_null(message_read("", &number, &text));
}
