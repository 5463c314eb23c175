/* test_datetime.c - times of day as an operator writes and reads them (view/datetime.h). */
#include "print_help.h"
#include "view/datetime.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <time.h>

#define SECOND INT64_C(1000)
#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

/* Monday, 2026-11-23 01:30:00 UTC, and 123 ms */
#define NOW (INT64_C(1795397400) * SECOND + 123)
#define MIDNIGHT (NOW - 123 - HOUR - 30 * MINUTE)

/* Central Europe: an hour ahead of UTC, two in summer. */
static void setup(void)
{
    setenv("TZ", "UTC0", 1);
    tzset();
}

static void setup_central_europe(void)
{
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
}

static void expect_when(const char *text, int64_t expected)
{
    int64_t when = -1;
    cr_expect(datetime_parse(text, NOW, &when), "%s", text);
    cr_expect_eq(when, expected, "%s: %lld, not %lld", text, (long long)when, (long long)expected);
}

Test(when, forms, .init = setup)
{
    expect_when("1h", NOW - HOUR);
    expect_when("1h30m", NOW - HOUR - 30 * MINUTE);
    expect_when("250ms", NOW - 250);
    expect_when("01:29", MIDNIGHT + HOUR + 29 * MINUTE);
    expect_when("01:30", MIDNIGHT + HOUR + 30 * MINUTE);
    expect_when("00:00:01", MIDNIGHT + SECOND);
    expect_when("today", MIDNIGHT);
    expect_when("yesterday", MIDNIGHT - DAY);
    expect_when("yesterday 03:00", MIDNIGHT - DAY + 3 * HOUR);
    expect_when("today 23:00", MIDNIGHT + 23 * HOUR);
    expect_when("2026-11-22", MIDNIGHT - DAY);
    expect_when("2026-11-22 03:00", MIDNIGHT - DAY + 3 * HOUR);
    expect_when("2026-11-22T03:00:30", MIDNIGHT - DAY + 3 * HOUR + 30 * SECOND);
    expect_when("2028-02-29", MIDNIGHT + 463 * DAY);
}

static void expect_day_and_time(int64_t when, const char *expected)
{
    struct text text = TEXT_INIT;
    text_add_day_and_time(&text, when, NOW);
    cr_expect_str_eq(text.bytes, expected);
    text_deinit(&text);
}

Test(when, as_it_is_read, .init = setup)
{
    expect_day_and_time(MIDNIGHT, "today 00:00");
    expect_day_and_time(MIDNIGHT + HOUR + SECOND, "today 01:00:01");
    expect_day_and_time(MIDNIGHT - SECOND, "yesterday 23:59:59");
    expect_day_and_time(MIDNIGHT - DAY, "yesterday 00:00");
    expect_day_and_time(MIDNIGHT - DAY - MINUTE, "2026-11-21 23:59");
    expect_day_and_time(MIDNIGHT + DAY, "2026-11-24 00:00");
}

/* A time that has not come yet today was yesterday. */
Test(when, the_last_such_time, .init = setup)
{
    expect_when("01:31", MIDNIGHT - DAY + HOUR + 31 * MINUTE);
    expect_when("23:59:59", MIDNIGHT - SECOND);
}

Test(when, malformed, .init = setup)
{
    static const char *const wrong[] = {"", "x", "3:00", "24:00", "03:60", "03:00:60", "03:00x",
        "-1h", "tomorrow", "yesterday03:00", "yesterday ", "today  03:00", "2026-11-31",
        "2026-13-01", "2026-00-01", "2026-11-00", "2027-02-29", "2026-11-22 ", "2026-11-22 3",
        "2026-1-2", "1969-12-31", "2026-11-22 03:00 ", "99999999999h"};
    for (size_t i = 0; i < N(wrong); i++) {
        int64_t when;
        cr_expect_not(datetime_parse(wrong[i], NOW, &when), "%s", wrong[i]);
    }
}

Test(when, in_the_local_time, .init = setup_central_europe)
{
    expect_when("02:00", MIDNIGHT + HOUR);
    expect_when("today", MIDNIGHT - HOUR);
    expect_when("2026-07-01 12:00", INT64_C(1782900000) * SECOND); /* 10:00 UTC */
    struct text text = TEXT_INIT;
    text_add_datetime(&text, NOW, NOW);
    expect_text(&text, "02:30:00");
}

/* A day has 23 or 25 hours when the clocks are set. */
Test(when, yesterday_was_longer, .init = setup_central_europe)
{
    int64_t when, now = INT64_C(1792972800) * SECOND; /* 2026-10-26 01:00 there, 00:00 UTC */
    cr_assert(datetime_parse("today", now, &when));
    cr_expect_eq(when, now - HOUR);
    cr_assert(datetime_parse("yesterday", now, &when));
    cr_expect_eq(when, now - HOUR - 25 * HOUR);
    cr_assert(datetime_parse("1d", now, &when));
    cr_expect_eq(when, now - 24 * HOUR);
}

Test(when, shown, .init = setup)
{
    static const struct {
        int64_t when;
        const char *shown;
    } rows[] = {
        {NOW, "01:30:00"},
        {MIDNIGHT, "00:00:00"},
        {MIDNIGHT - 1, "2026-11-22 23:59:59"},
        {MIDNIGHT + DAY, "2026-11-24 00:00:00"},
        {MIDNIGHT - 365 * DAY, "2025-11-23 00:00:00"},
        {0, "1970-01-01 00:00:00"},
    };
    for (size_t i = 0; i < N(rows); i++) {
        struct text text = TEXT_INIT;
        text_add_datetime(&text, rows[i].when, NOW);
        expect_text(&text, rows[i].shown);
    }
}
