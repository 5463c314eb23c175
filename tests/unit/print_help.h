/* print_help.h - what the tests of berthctl's output share. */
#pragma once

#include "view/printable.h"

#include <criterion/criterion.h>
#include <locale.h>

#define N(array) (sizeof(array) / sizeof(array)[0])

/* For the tests that need one; the others run in "C". */
static inline void use_utf8(void)
{
    if (!setlocale(LC_CTYPE, "C.UTF-8")) {
        cr_skip_test("no locale C.UTF-8");
    }
}

static inline void expect_text(struct text *text, const char *expected)
{
    cr_expect_str_eq(text->bytes ? text->bytes : "", expected);
    text_deinit(text);
}
