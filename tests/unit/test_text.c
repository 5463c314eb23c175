/* test_text.c - text that grows. */
#include "base/text.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Test(textbuf, takes_everything_in_order)
{
    struct text text = TEXT_INIT;
    text_add(&text, "ok");
    text_add_number(&text, 0);
    text_add_number(&text, UINT64_MAX);
    text_add_bytes(&text, NULL, 0);
    text_add_repeated(&text, '-', 3);
    text_add_format(&text, "%s=%d", "n", -5);
    text_add_key(&text, "reason", "a b%");
    text_add_key(&text, "none", NULL);
    text_add_key(&text, "empty", "");
    text_add_number_key(&text, "held", 7);
    cr_assert_str_eq(text.bytes, "ok018446744073709551615---n=-5 reason=a%20b%25 empty= held=7");
    cr_assert_eq(text.length, strlen(text.bytes));
    text_deinit(&text);
    cr_assert_null(text.bytes);
}

Test(textbuf, takes_numbers_of_any_length)
{
    struct text text = TEXT_INIT;
    char expected[32];
    for (uint64_t number = 1; number <= UINT64_MAX / 10; number *= 10) {
        const uint64_t numbers[] = {number - 1, number, number + 1, 9 * number, 10 * number - 1};
        for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
            text.length = 0;
            text_add_number(&text, numbers[i]);
            snprintf(expected, sizeof expected, "%" PRIu64, numbers[i]);
            cr_assert_str_eq(text.bytes, expected);
        }
    }
    text_deinit(&text);
}

static const uint64_t some_numbers[] = {0, 9, 10, 99999999, 100000000, UINT64_C(9999999999999999),
    UINT64_C(10000000000000000), UINT64_C(0x0123456789abcdef), UINT64_C(0xf0e1d2c3b4a59687),
    UINT64_MAX};

/* What lies behind its room belongs to others. */
Test(put, writes_to_no_more_than_its_room)
{
    char room[MAX_DIGITS + 1], expected[32];
    for (size_t i = 0; i < sizeof some_numbers / sizeof some_numbers[0]; i++) {
        memset(room, '#', sizeof room);
        char *end = put_number(room, some_numbers[i]);
        int n = snprintf(expected, sizeof expected, "%" PRIu64, some_numbers[i]);
        cr_expect_eq(end - room, n);
        cr_expect(memcmp(room, expected, (size_t)n) == 0);
        cr_expect_eq(room[MAX_DIGITS], '#');
    }
}

Test(put, hexadecimal)
{
    char room[HEX_DIGITS + 1], expected[32];
    for (size_t i = 0; i < sizeof some_numbers / sizeof some_numbers[0]; i++) {
        memset(room, '#', sizeof room);
        cr_expect_eq(put_hex(room, some_numbers[i]) - room, HEX_DIGITS);
        snprintf(expected, sizeof expected, "%016" PRIx64 "#", some_numbers[i]);
        cr_expect(memcmp(room, expected, sizeof room) == 0);
    }
}

Test(textbuf, grows_at_every_length)
{
    struct text text = TEXT_INIT;
    for (size_t i = 1; i <= 5000; i++) {
        text_add_encoded(&text, "\n");
        cr_assert_eq(text.length, 3 * i);
        cr_assert_eq(strlen(text.bytes), 3 * i);
    }
    text_deinit(&text);
}

/* A caller that prints the bytes need not check for NULL. */
Test(textbuf, an_empty_text_is_a_string)
{
    struct text text = TEXT_INIT;
    text_add(&text, "");
    cr_assert_str_eq(text.bytes, "");
    text_deinit(&text);
}

Test(textbuf, is_handed_over)
{
    struct text text = TEXT_INIT;
    char *empty = text_take(&text);
    cr_assert_str_eq(empty, "");
    free(empty);
    text_add(&text, "x");
    char *full = text_take(&text);
    cr_assert_str_eq(full, "x");
    cr_assert_null(text.bytes);
    free(full);
}
