/* test_sight.c - what a user may see of past leases, by berthd's answer to `sees`; and what of a
 * line everybody may see. */
#include "history/sight.h"

#include "status/ended_line.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static struct sight sight;

static enum answer_result take(const char *line)
{
    char copy[200];
    strcpy(copy, line);
    return sight_take(&sight, copy);
}

static void begin(void)
{
    sight = (struct sight){0};
    cr_assert_eq(take("ok all=0 more=words"), ANSWER_MORE);
}

static void end(void)
{
    sight_deinit(&sight);
}

static void define(void)
{
    cr_assert_eq(take("definition shut hides=1 sees=0"), ANSWER_MORE);
    cr_assert_eq(take("definition t/* hides=1 sees=1"), ANSWER_MORE);
    cr_assert_eq(take("definition t/x hides=1 sees=0"), ANSWER_MORE);
    cr_assert_eq(take("definition mine hides=1 sees=1"), ANSWER_MORE);
    cr_assert_eq(take("definition t/z hides=0 sees=0"), ANSWER_MORE);
    cr_assert_eq(take("end"), ANSWER_END);
}

static bool sees(const char *claims, uint16_t hiding)
{
    const struct day_row row = {.kind = ROW_ENDED, .uid = 7, .claims = claims, .hiding = hiding};
    return sight_sees(&sight, 8, &row);
}

TestSuite(sight, .init = begin, .fini = end);

Test(sight, what_hides_it_now)
{
    define();
    cr_expect(sees("open 1", 0));
    cr_expect_not(sees("shut 1", 0));
    cr_expect(sees("mine 1", 0));
    cr_expect(sees("t/y 1", 0));
    cr_expect_not(sees("t/x 1", 0));
    cr_expect_not(sees("open 1,shut 2", 0));
    cr_expect(sees("open 1,mine 2,t/y 3", 0));
}

Test(sight, what_hid_it_then)
{
    define();
    cr_expect_not(sees("open 1", 1));
    cr_expect_not(sees("t/z 1", 1));
    cr_expect(sees("t/z 1", 0));
    cr_expect(sees("mine 1", 1));
    cr_expect_not(sees("mine 1,open 1", 2));
    cr_expect(sees("mine 1,open 1", 1));
    cr_expect(sees("open 1,t/y 1", 2));
}

Test(sight, ones_own_and_all)
{
    const struct day_row own = {.uid = 8, .claims = "shut 1", .hiding = 1};
    cr_expect(sight_sees(&sight, 8, &own));
    cr_expect_not(sees("open 1", 0), "not known yet");
    define();
    cr_expect(sight_sees(&sight, 8, &own));
    sight.sees_all = true;
    cr_expect(sees("shut 1", 1));
}

Test(sight, nonsense)
{
    const char *const wrong[] = {"", "definition", "definition x", "definition x hides=1",
        "definition x hides=2 sees=0", "definition x hides=1 sees=x", "nonsense"};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        enum answer_result expected =
            strcmp(wrong[i], "nonsense") == 0 ? ANSWER_MORE : ANSWER_MALFORMED;
        cr_expect_eq(take(wrong[i]), expected, "%s", wrong[i]);
    }
    sight.has_begun = false;
    cr_expect_eq(take("ok"), ANSWER_MALFORMED);
    sight.has_begun = false;
    cr_expect_eq(take("error forbidden"), ANSWER_MALFORMED);
}

static void expect_plain(const char *line, const char *plain)
{
    size_t n = ended_line_plain(line);
    cr_expect(n == strlen(plain) && strncmp(line, plain, n) == 0, "%.*s", (int)n, line);
}

Test(sight, what_everybody_may_see_of_a_line)
{
    const char *plain = "ended 1k1 units=a:0;b=2 uid=7 how=denied code=x ended=1 held=2 waited=3 "
                        "pid=4 database=d login=5 by=6 by_login=7 exit=8 signal=9 unseen=1 host=h";
    char line[400];
    expect_plain(plain, plain);
    const char *const details[] = {
        "holder=me", "program=make", "reason=x", "why=y", "cgroup=/a", "args=b", "unit=x", "never"};
    for (size_t i = 0; i < sizeof details / sizeof details[0]; i++) {
        snprintf(line, sizeof line, "%s %s uid=7", plain, details[i]);
        expect_plain(line, plain);
    }
    expect_plain("ended 1k1", "ended 1k1");
    expect_plain("ended", "ended");
    expect_plain("", "");
}
