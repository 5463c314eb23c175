/* status_help.h - takes a whole answer to `status`, for the tests of berthctl. */
#pragma once

#include "view/status.h"

#include <criterion/criterion.h>

/* The last of the lines is its end. */
static inline void take_status(struct status *status, const char *const lines[], size_t n)
{
    for (size_t i = 0; i < n; i++) {
        enum answer_result expected = i + 1 < n ? ANSWER_MORE : ANSWER_END;
        cr_assert_eq(status_take(status, (char *)lines[i]), expected, "%s", lines[i]);
    }
}
