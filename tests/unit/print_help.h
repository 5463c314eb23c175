/* print_help.h - what the tests of berthctl's output share. */
#pragma once

#include "view/printable.h"

#include <criterion/criterion.h>
#include <locale.h>
#include <string.h>

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

/* They stand in it in this order. */
static inline void expect_parts(struct text *text, const char *const parts[], size_t n)
{
    const char *at = text->bytes;
    for (size_t i = 0; i < n; i++) {
        at = strstr(at, parts[i]);
        cr_assert(at, "%s\n%s", parts[i], text->bytes);
        at += strlen(parts[i]);
    }
    text_deinit(text);
}
