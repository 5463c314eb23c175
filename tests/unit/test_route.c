/* Which node of a cluster is dialed next. */
#include "redis/route.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

TestSuite(route, .timeout = 20);

static struct database database = {
    .prefix = "berth",
    .url = {.hosts = {{(char[]){"a"}, 1}, {(char[]){"b"}, 2}, {(char[]){"c"}, 3}}, .n_hosts = 3},
};
static struct route route;

static void begin(void)
{
    memset(&route, 0, sizeof route);
    route_init(&route, &database);
}

static const char *chosen(void)
{
    return route_choose(&route)->host;
}

static enum route_step take(const char *error)
{
    struct redirection redirection;
    cr_assert(redirection_read(&redirection, error, route.slot, "asked"), "%s", error);
    return route_take(&route, &redirection, NANOSECONDS_PER_SECOND * 1700000000);
}

/* That try has failed. The next one needs no pause. */
static bool is_hasty_after_failure(bool was_ready)
{
    route_failed(&route, was_ready);
    return route_takes_no_pause(&route);
}

static const char *trouble(void)
{
    static char text[128];
    route_trouble(&route, text, sizeof text);
    return text;
}

Test(route, each_node_is_tried_before_a_pause, .init = begin)
{
    struct cluster_map map = {.nodes = {{"d", 4}}, .n = 1};
    route.map = map;
    for (int round = 0; round < 3; round++) {
        static const char *const nodes[] = {"a", "b", "c", "d"};
        for (size_t i = 0; i < 4; i++) {
            cr_expect_str_eq(chosen(), nodes[i]);
            cr_expect_eq(is_hasty_after_failure(false), i < 3);
        }
    }
}

Test(route, a_node_that_was_right_is_asked_first, .init = begin)
{
    cr_expect_str_eq(chosen(), "a");
    is_hasty_after_failure(false);
    cr_expect_str_eq(chosen(), "b");
    route_is_good(&route);
    cr_expect_not(is_hasty_after_failure(true));
    cr_expect_str_eq(chosen(), "b");
}

Test(route, a_redirection_is_followed_once, .init = begin)
{
    chosen();
    cr_expect_eq(take("MOVED 10131 x:9"), ROUTE_FOLLOW);
    cr_expect(is_hasty_after_failure(true));
    cr_expect_str_eq(chosen(), "x");
    cr_expect_eq(route.at.port, 9);
    cr_expect_not(route.is_asking);
    cr_expect(is_hasty_after_failure(false));
    cr_expect_str_eq(chosen(), "b");
}

Test(route, redirections_that_lead_round, .init = begin)
{
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 5; i++) {
            cr_expect_eq(take("MOVED 10131 x:9"), ROUTE_FOLLOW);
            chosen();
        }
        cr_expect_eq(take("MOVED 10131 x:9"), ROUTE_ROUND);
        cr_expect_str_neq(chosen(), "x");
    }
    cr_expect_eq(take("MOVED 10131 x:9"), ROUTE_FOLLOW);
    route_is_good(&route);
    for (int i = 0; i < 5; i++) {
        cr_expect_eq(take("MOVED 10131 x:9"), ROUTE_FOLLOW);
    }
}

Test(route, nobody_says_where, .init = begin)
{
    struct cluster_map map = {.nodes = {{"d", 4}}, .n = 1};
    cr_expect_eq(take("MOVED 10131 ?:4"), ROUTE_UNKNOWN);
    route.map = map;
    cr_expect_eq(take("MOVED 10131 ?:5"), ROUTE_UNKNOWN);
    cr_expect_eq(take("ASK 10131 ?:4"), ROUTE_UNKNOWN);
    cr_expect_eq(take("MOVED 10131 ?:4"), ROUTE_FOLLOW);
    cr_expect_str_eq(chosen(), "d");
}

Test(route, keys_ahead_of_their_slot, .init = begin)
{
    cr_expect_str_empty(trouble());
    cr_expect_eq(take("ASK 10131 x:9"), ROUTE_FOLLOW);
    cr_expect_str_eq(chosen(), "x");
    cr_expect(route.is_asking);
    route_is_good(&route);
    cr_expect_str_eq(trouble(), "its slot 10131 has been moving since 2023-11-14T22:13:20Z");
    route_has_slot(&route);
    cr_expect_not(route.is_asking);
    cr_expect_str_empty(trouble());
}

Test(route, asking_is_for_one_node, .init = begin)
{
    take("ASK 10131 x:9");
    chosen();
    is_hasty_after_failure(true);
    chosen();
    cr_expect_not(route.is_asking);
}

Test(route, keys_at_two_nodes, .init = begin)
{
    cr_expect_str_eq(chosen(), "a");
    for (int i = 0; i < 9; i++) {
        cr_expect_eq(take("TRYAGAIN"), ROUTE_STAY);
        cr_expect_not(is_hasty_after_failure(false));
        cr_expect_str_eq(chosen(), "a", "it is not the node's fault");
    }
    cr_expect(strstr(trouble(), "been moving"));
    route_is_good(&route);
    cr_expect_str_empty(trouble());
}
