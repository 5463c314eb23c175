/* Whether a published message arrives, where a server does not say who it is; and what servers say
 * of themselves in other ways than INFO. */
#include "redis/facts.h"
#include "redis/same_server.h"
#include "resp_text.h"

#include <criterion/criterion.h>
#include <stdio.h>

static struct same_server same;

static enum same_result message(const char *payload)
{
    char text[100];
    snprintf(text, sizeof text, "[ message c '%s' ]", payload);
    return same_server_message(&same, resp_of(text));
}

static enum same_result reply(const char *text)
{
    return same_server_reply(&same, resp_of(text));
}

static void ask(void)
{
    struct text out = TEXT_INIT;
    same_server_ask(&same, "c", 10, &out);
    cr_assert_str_eq(
        out.bytes, "*3\r\n$7\r\nPUBLISH\r\n$1\r\nc\r\n$22\r\nproof 000000000000000a\r\n");
    cr_assert(same.is_asked);
    text_deinit(&out);
}

Test(same_server, in_any_order)
{
    ask();
    cr_assert_eq(reply("1"), SAME_MORE);
    cr_assert_eq(message("000000000001 lost 5"), SAME_MORE);
    cr_assert_eq(message("proof 000000000000000b"), SAME_MORE);
    cr_assert_eq(message("proof 000000000000000a"), SAME_YES);
    cr_assert_not(same.is_asked);
    ask();
    cr_assert_eq(message("proof 000000000000000a"), SAME_MORE);
    cr_assert_eq(reply("1"), SAME_YES);
}

Test(same_server, other_answers)
{
    ask();
    cr_assert_eq(same_server_message(&same, resp_of("[ _ _ _ ]")), SAME_MORE);
    cr_assert_eq(same_server_message(&same, resp_of("1")), SAME_MORE);
    cr_assert_eq(reply("1"), SAME_MORE);
    cr_assert_eq(reply("1"), SAME_FAILED);
    ask();
    cr_assert_eq(reply("-NOPERM no"), SAME_FAILED);
    cr_assert_str_eq(same.why, "PUBLISH: NOPERM no");
    cr_assert_eq(same_server_message(&same, resp_of("-NOPERM no")), SAME_FAILED);
}

Test(facts, pairs)
{
    struct facts facts = {0};
    cr_assert(facts_read_pairs(
        &facts, FACT_FROM_HELLO, resp_of("[ role replica id 0 version '7.2.4\n' ]")));
    cr_assert_str_eq(fact_of(&facts, FACT_role), "slave");
    cr_assert_str_eq(fact_of(&facts, FACT_redis_version), "7.2.4?");
    cr_assert_null(fact_of(&facts, FACT_mode));
    cr_assert_not(
        facts_read_pairs(&facts, FACT_FROM_HELLO, resp_of("[ role replica id 0 version ]")));
    cr_assert_not(facts_read_pairs(&facts, FACT_FROM_CONFIG, resp_of("role")));
}

Test(facts, what_is_kept)
{
    struct facts facts = {0}, earlier = {0};
    facts_read_info(&earlier, "role:master\r\nmaxmemory_policy:allkeys-lru\r\nmaxmemory:5\r\n");
    facts_read_info(&facts, "maxmemory:0\r\nrun_idx:a\r\nrun_id");
    facts_keep(&facts, &earlier);
    cr_assert_str_eq(fact_of(&facts, FACT_maxmemory_policy), "allkeys-lru");
    cr_assert_str_eq(fact_of(&facts, FACT_maxmemory), "0", "what it says now counts");
    cr_assert_null(fact_of(&facts, FACT_role), "that may change");
    cr_assert_null(fact_of(&facts, FACT_run_id));
}
