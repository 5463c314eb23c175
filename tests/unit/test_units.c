/* test_units.c - lists of units, parsed: good ones exactly, all others refused. */
#include "core/units.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The list again, one word a unit; "no" if it was refused. */
static const char *parsed(const char *list, bool is_pool, uint32_t count)
{
    static char out[8 * MAX_UNITS];
    char *text = strdup(list);
    struct saved_unit *units = calloc(count + 1, sizeof *units);
    size_t n = (size_t)snprintf(out, sizeof out, "no");
    if (units_parse(text, is_pool, count, units)) {
        n = 0;
        for (uint32_t i = 0; i < count; i++) {
            const char *space = i > 0 ? " " : "";
            n += units[i].item
                ? (size_t)snprintf(out + n, sizeof out - n, "%s%s", space, units[i].item)
                : (size_t)snprintf(out + n, sizeof out - n, "%s%u", space, units[i].slot);
            cr_assert_eq(!units[i].item, !is_pool);
        }
    }
    free(units);
    free(text);
    return out;
}

Test(units, slots)
{
    cr_expect_str_eq(parsed("0", false, 1), "0");
    cr_expect_str_eq(parsed("0-3,7", false, 5), "0 1 2 3 7");
    cr_expect_str_eq(parsed("7,0-1", false, 3), "7 0 1");
    cr_expect_str_eq(parsed("999999", false, 1), "999999");
    cr_expect_str_eq(parsed("999998-999999", false, 2), "999998 999999");
}

Test(units, items)
{
    cr_expect_str_eq(parsed("gpu0", true, 1), "gpu0");
    cr_expect_str_eq(parsed("b,a,10.0.0.1:80", true, 3), "b a 10.0.0.1:80");
    cr_expect_str_eq(parsed("0-3", true, 1), "0-3");
}

Test(units, not_so_many)
{
    for (uint32_t count = 0; count < 8; count++) {
        cr_expect_eq(strcmp(parsed("0-3", false, count), "no") != 0, count == 4);
        cr_expect_eq(strcmp(parsed("a,b,c,d", true, count), "no") != 0, count == 4);
    }
}

Test(units, each_once)
{
    cr_expect_str_eq(parsed("3,3", false, 2), "no");
    cr_expect_str_eq(parsed("0-3,2", false, 5), "no");
    cr_expect_str_eq(parsed("9,0-3,9", false, 6), "no");
    cr_expect_str_eq(parsed("a,a", true, 2), "no");
    cr_expect_str_eq(parsed("b,a,c,b", true, 4), "no");
}

Test(units, malformed)
{
    const char *const slots[] = {"", ",", "0,", ",0", "0,,1", "-", "-1", "1-", "3-3", "3-1",
        "0-1-2", "00", "01", "0-01", "+1", "a", "1a", "0x1", " 1", "1 ", "1000000", "0-1000000",
        "18446744073709551616", "99999999999999999999999999999999999999999999"};
    const char *const items[] = {"", ",", "a,", ",a", "a,,b", "a b", "a=b", "a%20", "\xc3\xa4",
        "12345678901234567890123456789012345678901234567890123456789012345"};
    for (size_t i = 0; i < sizeof slots / sizeof slots[0]; i++) {
        for (uint32_t count = 0; count < 4; count++) {
            cr_expect_str_eq(parsed(slots[i], false, count), "no", "%s", slots[i]);
        }
        cr_expect_eq(units_count(slots[i], false), 0, "%s", slots[i]);
    }
    for (size_t i = 0; i < sizeof items / sizeof items[0]; i++) {
        for (uint32_t count = 0; count < 4; count++) {
            cr_expect_str_eq(parsed(items[i], true, count), "no", "%s", items[i]);
        }
    }
}

Test(units, as_many_as_a_line_can_name)
{
    char list[16 * MAX_UNITS], *end = list;
    cr_expect_eq(units_count("0-16383", false), MAX_UNITS);
    cr_expect_eq(units_count("0-16384", false), 0);
    cr_expect_eq(units_count("0-999999,0-999999", false), 0);
    for (uint32_t i = 0; i < MAX_UNITS; i++) { /* the worst order for finding duplicates */
        end += sprintf(end, i > 0 ? ",%u" : "%u", (i * 1021) % MAX_UNITS);
    }
    cr_expect_eq(units_count(list, false), MAX_UNITS);
    cr_expect_eq(units_count(list, true), MAX_UNITS);
    cr_expect_str_neq(parsed(list, false, MAX_UNITS), "no");
    cr_expect_str_neq(parsed(list, true, MAX_UNITS), "no");
    strcpy(end, ",77");
    cr_expect_eq(units_count(list, true), 0);
}
