/* test_closest_match.c - "did you mean ...?": how far words are from each other, and which one is
 * near enough. */
#include "base/closest_match.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N(array) (sizeof(array) / sizeof(array)[0])

static const size_t far = SIZE_MAX;

Test(nearest, distance)
{
    static const struct {
        const char *a, *b;
        size_t max, expected;
    } rows[] = {
        {"", "", 0, 0},
        {"", "ab", 2, 2},
        {"", "ab", 1, SIZE_MAX},
        {"deploy", "deploy", 0, 0},
        {"deploy", "Deploy", 0, 0},
        {"deploy", "depoly", 1, 1}, /* neighbours swapped */
        {"deploy", "deplooy", 1, 1},
        {"deploy", "deply", 1, 1},
        {"deploy", "deplov", 1, 1},
        {"deploy", "depl", 1, SIZE_MAX},
        {"deploy", "employ", 2, 2},
        {"ca", "abc", 3, 3}, /* each letter is moved at most once */
        {"abcdef", "fabcde", 2, 2},
        {"abcdef", "fabcde", 1, SIZE_MAX},
        {"\xc3\xbc", "u", 2, 2},
    };
    for (size_t i = 0; i < N(rows); i++) {
        cr_expect_eq(closest_match_distance(rows[i].a, rows[i].b, rows[i].max), rows[i].expected,
            "%s %s", rows[i].a, rows[i].b);
        cr_expect_eq(closest_match_distance(rows[i].b, rows[i].a, rows[i].max), rows[i].expected,
            "%s %s", rows[i].b, rows[i].a);
    }
}

Test(nearest, long_words_are_not_looked_at)
{
    char word[200];
    for (size_t n = 38; n < sizeof word; n++) {
        memset(word, 'a', n);
        word[n] = '\0';
        cr_expect_eq(closest_match_distance(word, word, 6), n <= 40 ? 0 : far, "%zu letters", n);
    }
}

/* Fills the whole table, for comparison. */
static size_t slow_distance(const char *a, const char *b)
{
    size_t n_a = strlen(a), n_b = strlen(b), d[16][16];
    for (size_t i = 0; i <= n_a; i++) {
        for (size_t j = 0; j <= n_b; j++) {
            size_t best = i == 0 ? j : j == 0 ? i : d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (i > 0 && j > 0) {
                best = best < d[i - 1][j] + 1 ? best : d[i - 1][j] + 1;
                best = best < d[i][j - 1] + 1 ? best : d[i][j - 1] + 1;
            }
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
                best = best < d[i - 2][j - 2] + 1 ? best : d[i - 2][j - 2] + 1;
            }
            d[i][j] = best;
        }
    }
    return d[n_a][n_b];
}

static void fill(char word[12], unsigned *seed)
{
    size_t n = (size_t)rand_r(seed) % 12;
    for (size_t i = 0; i < n; i++) {
        word[i] = (char)('a' + rand_r(seed) % 3);
    }
    word[n] = '\0';
}

Test(nearest, near_the_diagonal_is_enough)
{
    unsigned seed = 1;
    for (int i = 0; i < 20000; i++) {
        char a[12], b[12];
        fill(a, &seed);
        fill(b, &seed);
        size_t max = (size_t)rand_r(&seed) % 7, expected = slow_distance(a, b);
        cr_assert_eq(closest_match_distance(a, b, max), expected <= max ? expected : far,
            "%s %s %zu", a, b, max);
    }
}

static void expect_best(const char *word, const char *expected)
{
    static const char *const candidates[] = {
        "db", "deploy", "nightly-etl", "gpus", "market/alice", "market/alicia"};
    struct closest_match nearest = CLOSEST_MATCH_INIT(word);
    for (size_t i = 0; i < N(candidates); i++) {
        closest_match_try(&nearest, candidates[i]);
    }
    cr_expect_str_eq(nearest.best ? nearest.best : "", expected, "%s: %s", word,
        nearest.best ? nearest.best : "");
}

/* The first of the nearest wins; a third of the letters may be wrong, one in a short word. */
Test(nearest, the_best)
{
    expect_best("deplyo", "deploy");
    expect_best("DB", "db");
    expect_best("dp", "db");
    expect_best("xx", "");
    expect_best("gpu", "gpus");
    expect_best("nightly_elt", "nightly-etl");
    expect_best("nightly", "");
    expect_best("market/alicix", "market/alicia");
    expect_best("market/alic", "market/alice");
    expect_best("", "");
}

static const char *nearer(const char *word, const char *first, const char *second)
{
    struct closest_match nearest = CLOSEST_MATCH_INIT(word);
    closest_match_try(&nearest, first);
    closest_match_try(&nearest, second);
    return nearest.best;
}

Test(nearest, of_two_that_are_as_near_the_one_that_begins_alike)
{
    cr_expect_str_eq(nearer("statsu", "status", "stats"), "stats");
    cr_expect_str_eq(nearer("statsu", "stats", "status"), "stats");
    cr_expect_str_eq(nearer("statu", "stats", "status"), "status");
    cr_expect_str_eq(nearer("statu", "status", "stats"), "status");
    cr_expect_str_eq(nearer("db9", "db1", "db2"), "db1");
}
