/* `also`: what arrives, and what cannot be. */
#include "conf_help.h"
#include "scratch.h"

#include <criterion/criterion.h>
#include <string.h>

TestSuite(conf_levels, .init = conf_test_init, .fini = scratch_end, .timeout = 20);

Test(conf_levels, what_arrives)
{
    struct conf *conf = load_good("[semaphore a/*]\nlimit = 3\nalso = t:2\n  u/x\n"
                                  "[lock t]\nshared = 9\n"
                                  "[semaphore u/*]\nlimit = 0\nalso = w\n"
                                  "[pool w]\nitems = x y\n");
    const struct definition *a = &conf->definitions[0];
    cr_assert_eq(a->n_levels, 2);
    cr_expect_str_eq(a->levels[0].name, "t");
    cr_expect_eq(a->levels[0].count, 2);
    cr_expect_str_eq(a->levels[1].name, "u/x");
    cr_expect_eq(a->levels[1].count, 1);
    cr_expect_eq(conf->definitions[1].n_levels, 0);
    struct definition *copy = definition_copy(a);
    cr_expect_eq(copy->n_levels, 2);
    cr_expect_str_eq(copy->levels[1].name, "u/x");
    cr_expect_neq(copy->levels[1].name, a->levels[1].name);
    definition_free(copy);
    conf_free(conf);
}

#define AT "t.conf:3: [semaphore a] also: "
#define A(also) "[semaphore a]\nlimit = 3\nalso = " also "\n"
#define B(also) "[semaphore b]\nlimit = 9\nalso = " also "\n"
#define TAKES "the name of a resource, or NAME:N with a number from 1 to 1000000"

static const struct {
    const char *text, *expected;
} cases[] = {
    {A("b:0"), AT "\"b:0\" is not " TAKES},
    {A("b:"), AT "\"b:\" is not " TAKES},
    {A("b:1000001"), AT "\"b:1000001\" is not " TAKES},
    {A("b/*"), AT "\"b/*\" is not " TAKES},
    {A(""), ""},
    {A("b b:2") B("c") "[lock c]\n", AT "\"b\" appears twice"},
    {A("bb") B("c") "[lock c]\n", AT "there is no resource bb; did you mean b?"},
    {A("x/y"), AT "there is no resource x/y"},
    {A("a"), AT "a leads back to this resource, in a circle"},
    {A("b") B("a"), AT "a leads back to this resource, in a circle\n"
                       "t.conf:6: [semaphore b] also: b leads back to this resource, in a circle"},
    {"[semaphore a/*]\nlimit = 3\nalso = a/x\n",
        "t.conf:3: [semaphore a/*] also: a/x leads back to this resource, in a circle"},
    {"[semaphore a/*]\nlimit = 3\nalso = a/x\n[lock a/x]\n", ""},
    {A("l:1000000") "[semaphore l]\nlimit = 9\nalso = m:1000000\n[semaphore m]\nlimit = 9\n",
        AT "one unit takes 1000000 of l, which grants at most 9 at once\n" AT
           "one unit takes 10000000 of m, which grants at most 9 at once\n"
           "t.conf:6: [semaphore l] also: one unit takes 1000000 of m, which grants at most 9 "
           "at once"},
    {A("b") B("c:2") "[semaphore c]\nlimit = 1\nalso = b:2\n",
        "t.conf:6: [semaphore b] also: b leads back to this resource, in a circle\n"
        "t.conf:9: [semaphore c] also: c leads back to this resource, in a circle"},
    {A("l:2") "[lock l]\n", AT "one unit takes 2 of l, which grants at most 1 at once"},
    {A("l:2") "[lock l]\nlimit = 0\n", ""},
    {A("s:4") "[semaphore s]\nlimit = 9\nmax-units-per-user = 3\n",
        AT "one unit takes 4 of s, which grants at most 3 at once"},
    {A("s:3") "[semaphore s]\nlimit = 9\nrate = 1/1s\nburst = 2\n",
        AT "one unit takes 3 of s, which grants at most 2 at once"},
    {A("b:2") B("l:2") "[semaphore l]\nlimit = 3\n",
        AT "one unit takes 4 of l, which grants at most 3 at once"},
    {A("s") "[redis]\nurl = redis://h\n[semaphore s]\nlimit = 9\nscope = fleet\n",
        AT "s must have the scope and database of this resource"},
    {A("t/1 t/2 t/3 t/4 t/5 t/6 t/7 t/8 t/9 t/10 t/11 t/12 t/13 t/14 t/15")
        "[semaphore t/*]\nlimit = 9\n", ""},
    {A("t/1 t/2 t/3 t/4 t/5 t/6 t/7 t/8 t/9 t/10 t/11 t/12 t/13 t/14 t/15")
        "[semaphore t/*]\nlimit = 9\nalso = u\n[lock u]\n",
        AT "t/15 is one level too many: a lease has at most 16 resources"},
};

Test(conf_levels, what_cannot_be)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        expect_errors(cases[i].text, cases[i].expected);
    }
}

Test(conf_levels, a_difference_is_one)
{
    struct conf *a = load_good(A("b") B("c") "[semaphore c]\nlimit = 9\n");
    struct conf *b = load_good(A("b:2") B("c") "[semaphore c]\nlimit = 9\n");
    cr_expect_not(conf_same_definition(&a->definitions[0], &b->definitions[0]));
    cr_expect(conf_same_definition(&a->definitions[1], &b->definitions[1]));
    conf_free(a);
    conf_free(b);
}
