/* test_suggest.c - which name is suggested for an unknown one. */
#include "status/suggest.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define N(array) (sizeof(array) / sizeof(array)[0])

enum { MAX_LOOKED_AT = 1000 };

static const struct definition definitions[] = {
    {.name = (char[]){"deploy"}},
    {.name = (char[]){"db"}},
    {.name = (char[]){"db2"}},
    {.name = (char[]){"market/*"}},
    {.name = (char[]){"a/b/*"}},
};

/* The name that the user who asks may not know, or NULL. */
static bool may(void *context, const struct definition *definition)
{
    return !context || strcmp(definition->name, context) != 0;
}

static void expect(const char *name, const char *hidden, const char *expected)
{
    char out[SUGGESTION_SIZE] = "", copy[NAME_BYTES + 1];
    snprintf(copy, sizeof copy, "%s", hidden ? hidden : "");
    bool found = suggest_name(out, name, definitions, N(definitions), may, hidden ? copy : NULL);
    cr_expect_eq(found, expected != NULL, "%s: %s", name, out);
    cr_expect_str_eq(out, expected ? expected : "", "%s", name);
}

Test(suggest, the_nearest)
{
    expect("depoly", NULL, "deploy");
    expect("db3", NULL, "db");
    expect("DB2", NULL, "db2");
    expect("nightly", NULL, NULL);
    expect("", NULL, NULL);
}

Test(suggest, a_name_below_a_template)
{
    expect("maket/alice", NULL, "market/alice");
    expect("market", NULL, "market/NAME");
    expect("mraket", NULL, "market/NAME");
    expect("a/d/x", NULL, "a/b/x");
    expect("a/dd/x", NULL, NULL);
    expect("a-b/long-enough", NULL, "a/b/long-enough");
    expect("b/x", NULL, NULL);
    expect("db/nightly-reports-of-alice", NULL, NULL); /* not a/b/nightly-... */
}

/* It is as if that name did not exist: the next one is suggested. */
Test(suggest, nothing_that_the_asker_may_not_know)
{
    expect("depoly", "deploy", NULL);
    expect("db3", "db", "db2");
    expect("market", "market/*", NULL);
}

/* Names and parts of the greatest length, and a template below which such a part does not fit. */
Test(suggest, long_names)
{
    char name[NAME_BYTES + 1];
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    expect(name, NULL, NULL);
    name[1] = '/';
    expect(name, NULL, NULL);
    memcpy(name, "maket/", 6);
    expect(name, NULL, NULL);
}

Test(suggest, so_many_are_looked_at)
{
    static struct definition many[MAX_LOOKED_AT + 1];
    char out[SUGGESTION_SIZE];
    static char far_away[] = "far-away", deploy[] = "deploy";
    for (size_t i = 0; i < N(many); i++) {
        many[i].name = i < MAX_LOOKED_AT ? far_away : deploy;
    }
    cr_expect_not(suggest_name(out, "depoly", many, N(many), may, NULL));
    cr_expect(suggest_name(out, "depoly", many + 1, N(many) - 1, may, NULL));
}
