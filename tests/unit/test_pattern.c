/* test_pattern.c - which names a pattern stands for. */
#include "base/pattern.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N(array) (sizeof(array) / sizeof(array)[0])

Test(pattern, validity)
{
    static const char *const good[] = {
        "*", "a*", "market/*", "*/alice", "m*t/a*", "***", "/*", "-*", "*a."};
    static const char *const bad[] = {
        "", "a", "market/alice", "****", "a b*", "a:*", "a=*", "a%*", "\xc3\xa9*", "?*", "[a]*"};
    for (size_t i = 0; i < N(good); i++) {
        cr_expect(pattern_is_valid(good[i]), "%s", good[i]);
    }
    for (size_t i = 0; i < N(bad); i++) {
        cr_expect_not(pattern_is_valid(bad[i]), "%s", bad[i]);
    }
    char longest[130];
    memset(longest, '*', 1);
    memset(longest + 1, 'a', 128);
    longest[129] = '\0';
    cr_expect_not(pattern_is_valid(longest));
    longest[128] = '\0';
    cr_expect(pattern_is_valid(longest));
}

Test(pattern, matches)
{
    static const struct {
        const char *pattern, *name;
        bool matches;
    } rows[] = {
        {"*", "deploy", true},
        {"*", "market/alice", false}, /* one level */
        {"market/*", "market/alice", true},
        {"market/*", "market/*", true}, /* the template itself */
        {"market/*", "market/a/b", false},
        {"market/*", "market", false},
        {"market/*", "supermarket/alice", false},
        {"market/a*", "market/alice", true},
        {"market/a*", "market/bob", false},
        {"market/a*", "market/*", false},
        {"*/alice", "market/alice", true},
        {"*/alice", "alice", false},
        {"*/*", "market/alice", true},
        {"*/*", "market/*", true},
        {"*gpu*", "old-gpus", true},
        {"*gpu*", "gpu", true},
        {"a*a*b", "aaab", true},
        {"a*a*b", "ab", false},
        {"a*b/c*d", "axb/cxd", true},
        {"a*b/c*d", "axb/cxd/d", false},
        {"*b/x", "a/b/x", false},
        {"d*y", "deploy", true},
        {"d*y", "deploys", false},
        {"deploy*", "deploy", true},
    };
    for (size_t i = 0; i < N(rows); i++) {
        cr_expect_eq(pattern_matches(rows[i].pattern, rows[i].name), rows[i].matches, "%s %s",
            rows[i].pattern, rows[i].name);
    }
}

static bool slow(const char *pattern, const char *name)
{
    if (*pattern == '*') {
        return slow(pattern + 1, name) ||
            (*name != '\0' && *name != '/' && slow(pattern, name + 1));
    }
    return *pattern == *name && (*name == '\0' || slow(pattern + 1, name + 1));
}

/* Against one that tries everything. */
Test(pattern, any)
{
    unsigned seed = 1;
    for (int i = 0; i < 50000; i++) {
        char pattern[9], name[9];
        size_t n_pattern = (size_t)rand_r(&seed) % sizeof pattern;
        size_t n_name = (size_t)rand_r(&seed) % sizeof name;
        for (size_t k = 0; k < n_pattern; k++) {
            pattern[k] = "ab/*"[rand_r(&seed) % 4];
        }
        for (size_t k = 0; k < n_name; k++) {
            name[k] = "aab/"[rand_r(&seed) % 4];
        }
        pattern[n_pattern] = name[n_name] = '\0';
        cr_assert_eq(pattern_matches(pattern, name), slow(pattern, name), "%s %s", pattern, name);
    }
}
