/* test_spread.c - many durations in a few figures, and these as lines (view/spread.h,
 * sums.h). */
#include "print_help.h"
#include "view/sums.h"
#include "wire/protocol.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

/* Of 1 to n, the figure is its own rank. */
static uint64_t rank(size_t n, unsigned percent)
{
    struct spread spread = {0};
    for (size_t i = 0; i < n; i++) {
        spread_add(&spread, i + 1);
    }
    uint64_t figure = spread_percentile(&spread, percent);
    cr_expect_eq(spread.n, n);
    cr_expect_eq(spread.sum, n * (n + 1) / 2);
    cr_expect_eq(spread.longest, n);
    spread_deinit(&spread);
    return figure;
}

Test(spread, nearest_rank)
{
    static const struct {
        size_t n;
        unsigned percent;
        uint64_t rank;
    } rows[] = {
        {1, 1, 1},
        {1, 50, 1},
        {1, 95, 1},
        {1, 100, 1}, /* */
        {2, 50, 1},
        {2, 51, 2},
        {2, 95, 2}, /* */
        {3, 50, 2},
        {4, 50, 2},
        {5, 50, 3}, /* */
        {5, 30, 2},
        {5, 40, 2},
        {5, 41, 3}, /* */
        {19, 95, 19},
        {20, 95, 19},
        {21, 95, 20},
        {40, 95, 38}, /* */
        {100, 1, 1},
        {100, 95, 95},
        {100, 100, 100},
        {101, 95, 96},
        {1000, 95, 950}, /* the roundest of 944 to 951 */
        {1000, 100, 1000},
    };
    for (size_t i = 0; i < N(rows); i++) {
        cr_expect_eq(rank(rows[i].n, rows[i].percent), rows[i].rank, "%u%% of %zu: %llu",
            rows[i].percent, rows[i].n, (unsigned long long)rank(rows[i].n, rows[i].percent));
    }
}

Test(spread, of_nothing)
{
    struct spread spread = {0};
    struct text text = TEXT_INIT;
    cr_expect_eq(spread_percentile(&spread, 50), 0);
    cr_expect_eq(spread_write(&spread, 0, 1000, &text), SPREAD_BUCKETS);
    expect_text(&text, "");
    spread_deinit(&spread);
}

Test(spread, whatever_their_order)
{
    static const uint64_t list[] = {7, 0, UINT64_MAX, 5, 5, 1};
    struct spread spread = {0};
    for (size_t i = 0; i < N(list); i++) {
        spread_add(&spread, list[i]);
    }
    cr_expect_eq(spread.n, 6);
    cr_expect_eq(spread_percentile(&spread, 50), 5);
    cr_expect_eq(spread_percentile(&spread, 95), INT64_MAX);
    cr_expect_eq(spread.longest, INT64_MAX);
    cr_expect_eq(spread.sum, INT64_MAX); /* more does not fit */
    spread_deinit(&spread);
}

/* Wherever a duration is, its figure is at most 1/64 off, and below 128 ms exact. */
Test(spread, how_exact)
{
    for (uint64_t at = 1; at < INT64_MAX / 3; at += at / 8 + 1) {
        struct spread spread = {0};
        spread_add(&spread, at);
        spread_add(&spread, INT64_MAX);
        uint64_t figure = spread_percentile(&spread, 50);
        uint64_t off = figure > at ? figure - at : at - figure;
        cr_expect_leq(off, at < 128 ? 0 : at / 64, "%llu", (unsigned long long)at);
        spread_deinit(&spread);
    }
}

/* What people wait for is often round. */
Test(spread, round)
{
    static const uint64_t list[] = {1000, 1500, 30000, 60000, 100000, 300000, 3600000};
    for (size_t i = 0; i < N(list); i++) {
        struct spread spread = {0};
        spread_add(&spread, list[i]);
        spread_add(&spread, list[i] * 2);
        cr_expect_eq(spread_percentile(&spread, 50), list[i]);
        spread_deinit(&spread);
    }
}

/* However many there are said to be. */
Test(spread, as_many_as_can_be_counted)
{
    struct spread all = {0};
    for (size_t i = 0; i < 3; i++) {
        char text[] = "1:9223372036854775806,5:1";
        struct spread many = {.sum = INT64_MAX, .longest = 5};
        cr_assert(spread_read(&many, text));
        spread_merge(&all, &many);
        spread_deinit(&many);
    }
    cr_expect_eq(all.n, INT64_MAX);
    cr_expect_eq(spread_percentile(&all, 99), 1);
    cr_expect_eq(spread_percentile(&all, 100), 5);
    spread_deinit(&all);
}

static void expect_same(const struct spread *a, const struct spread *b)
{
    cr_expect_eq(a->n, b->n);
    cr_expect_eq(a->sum, b->sum);
    cr_expect_eq(a->longest, b->longest);
    for (unsigned percent = 1; percent <= 100; percent++) {
        cr_expect_eq(spread_percentile(a, percent), spread_percentile(b, percent));
    }
}

Test(spread, merged_and_written)
{
    struct spread all = {0}, odd = {0}, even = {0}, again = {0};
    struct text text = TEXT_INIT;
    uint64_t number = 1;
    for (size_t i = 0; i < 2000; i++) {
        number = number * 6364136223846793005u + 1442695040888963407u;
        uint64_t duration = number >> 33 >> i % 31;
        spread_add(&all, duration);
        spread_add(i % 2 == 1 ? &odd : &even, duration);
    }
    spread_merge(&odd, &even);
    expect_same(&odd, &all);
    cr_expect_eq(spread_write(&all, 0, SIZE_MAX, &text), SPREAD_BUCKETS);
    again.sum = all.sum;
    again.longest = all.longest;
    cr_expect(spread_read(&again, text.bytes));
    expect_same(&again, &all);
    text_deinit(&text);
    spread_deinit(&all);
    spread_deinit(&odd);
    spread_deinit(&even);
    spread_deinit(&again);
}

Test(spread, what_nobody_writes)
{
    static const char *const texts[] = {"", "1", "1:", ":1", "1:0", "1:-1", "1:1,", "1:1,1:1",
        "2:1,1:1", "3712:1", "1:1;2:1", "01:1", "1:9223372036854775808",
        "1:9223372036854775807,2:1", "200:1"};
    for (size_t i = 0; i < N(texts); i++) {
        struct spread spread = {.longest = 100};
        char *copy = strdup(texts[i]);
        cr_expect_not(spread_read(&spread, copy), "%s", texts[i]); /* 200: from 272 on */
        free(copy);
        spread_deinit(&spread);
    }
}

/* ---- sums ---- */

static struct sums sums, again;

static void teardown(void)
{
    sums_deinit(&sums);
    sums_deinit(&again);
}

TestSuite(sums, .fini = teardown);

static const struct figures *row_of(
    const struct sums *of, const char *name, const char *database, uint64_t uid)
{
    const struct sums_row **rows;
    const struct figures *figures = NULL;
    size_t n = sums_list(of, &rows);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(rows[i]->name, name) == 0 && strcmp(rows[i]->database, database) == 0 &&
            rows[i]->uid == uid) {
            figures = &rows[i]->figures;
        }
    }
    free(rows);
    cr_assert(figures, "%s %s %llu", name, database, (unsigned long long)uid);
    return figures;
}

/* From 1000 to 2000: a lease on two resources, a wait, one that is held, one that waits. */
static void fill(void)
{
    const struct sums_claim both[] = {{"etl", {true, 2}}, {"gpus", {true, 1}}};
    const struct sums_claim unknown[] = {{"etl", {false, 0}}};
    const struct sums_claim none[] = {{"etl", {true, 0}}};
    sums.from = 1000;
    sums.to = 2000;
    sums_add(&sums,
        &(struct sums_entry){SUMS_LEASE, 7, .ended = 1100, .waited = 100, .held = 200}, both,
        2);
    sums_add(&sums, &(struct sums_entry){SUMS_REFUSED, 7, .ended = 1050, .waited = 50}, none,
        1);
    sums_add(&sums, &(struct sums_entry){SUMS_WAITING, 7, .ended = 2000, .waited = 1000}, none,
        1);
    sums_add(&sums,
        &(struct sums_entry){SUMS_HELD, 8, .ended = 2500, .held = 1000,
            .database = "d"},
        both, 1);
    sums_add(&sums, /* before the span: it does not matter how many units it had */
        &(struct sums_entry){SUMS_LEASE, 9, .ended = 999, .held = 998}, unknown,
        1);
    sums_add(&sums,
        &(struct sums_entry){SUMS_LEASE, 9, .ended = 1001, .held = 1000}, unknown,
        1);
}

Test(sums, what_is_counted)
{
    fill();
    const struct figures *etl = row_of(&sums, "etl", "", 7), *all = row_of(&sums, "*", "", 7);
    cr_expect_eq(etl->n_leases, 1);
    cr_expect_eq(etl->n_refused, 1);
    cr_expect_eq(etl->n_waiting, 1);
    cr_expect_eq(etl->waits.n, 3);
    cr_expect_eq(etl->waits.sum, 1150);
    cr_expect_eq(etl->holds.longest, 200);
    cr_expect_eq(etl->unit_time.number, 200);
    cr_expect_eq(all->n_leases, 1);
    cr_expect_eq(all->unit_time.number, 300);
    cr_expect_eq(row_of(&sums, "etl", "d", 8)->unit_time.number, 1000);
    cr_expect_eq(row_of(&sums, "etl", "d", 8)->waits.n, 0);
    cr_expect_not(row_of(&sums, "etl", "", 9)->unit_time.is_given);
    sums_forget(&sums, "d");
    cr_expect_eq(sums.rows.n, 5);
}

static void write_all(struct text *text)
{
    uint64_t cursor = 0;
    do {
        sums_write_some(&sums, &cursor, text);
    } while (cursor != 0);
}

/* As berthctl reads what berth-history writes. */
static size_t read_all(struct text *text)
{
    size_t n = 0;
    char *rest = text->bytes;
    for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
        cr_expect_leq(strlen(line), LINE_BYTES - 1);
        cr_expect(line[0] == '\0' || sums_take(&again, line), "%s", line);
        n += line[0] != '\0';
    }
    return n;
}

Test(sums, as_lines)
{
    struct text text = TEXT_INIT;
    fill();
    write_all(&text);
    cr_expect_not_null(strstr(text.bytes,
        "figures etl uid=7 leases=1 refused=1 unit_time=200 wait_sum=1150 wait_longest=1000"
        " waits=50:1,100:1,317:1 hold_sum=200 hold_longest=200 holds=164:1\n"));
    cr_expect_eq(read_all(&text), 7);
    cr_expect_eq(again.rows.n, sums.rows.n);
    const struct figures *etl = row_of(&again, "etl", "", 7);
    cr_expect_eq(etl->n_leases, 1);
    cr_expect_eq(etl->n_refused, 1);
    cr_expect_eq(etl->unit_time.number, 200);
    expect_same(&etl->waits, &row_of(&sums, "etl", "", 7)->waits);
    cr_expect_not(row_of(&again, "*", "", 9)->unit_time.is_given);
    cr_expect_eq(row_of(&again, "etl", "d", 8)->unit_time.number, 1000);
    text_deinit(&text);
}

/* Of everything that may happen, on as many lines as it takes. */
Test(sums, as_many_lines)
{
    struct text text = TEXT_INIT;
    char name[129] = "";
    memset(name, 'x', sizeof name - 1);
    const struct sums_claim claim = {name, {true, 1}};
    sums.to = UINT64_MAX;
    for (uint64_t at = 1; at < INT64_MAX / 130; at += at / 128 + 1) {
        sums_add(&sums,
            &(struct sums_entry){SUMS_LEASE, 7, .ended = at, .waited = at, .held = at / 64},
            &claim, 1);
    }
    write_all(&text);
    cr_expect_gt(read_all(&text), 10);
    const struct figures *figures = row_of(&again, name, "", 7), *same = row_of(&sums, "*", "", 7);
    cr_expect_eq(figures->n_leases, same->n_leases);
    cr_expect_eq(figures->unit_time.number, same->unit_time.number);
    expect_same(&figures->waits, &same->waits);
    expect_same(&figures->holds, &same->holds);
    text_deinit(&text);
}

Test(sums, malformed)
{
    static const char *const lines[] = {"figures", "figures etl uid=x", "figures etl leases=-1",
        "figures etl uid=1 waits=1:0", "figures etl uid=1 waits=200:1 wait_longest=1",
        "figures etl uid=1 holds=1:1,", "figures etl uid=1 database=%zz",
        "figures etl uid=1 unit_time=9999999999999999999"};
    for (size_t i = 0; i < N(lines); i++) {
        char *copy = strdup(lines[i]);
        cr_expect_not(sums_take(&sums, copy), "%s", lines[i]);
        free(copy);
    }
    cr_expect_eq(sums.rows.n, 0);
}
