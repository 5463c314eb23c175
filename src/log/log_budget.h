/* log_budget.h - per-user rate limit on log lines, so that a user who floods the log cannot hide
 * what others do. Pure: time is an argument. */
#pragma once

#include "base/time.h"

#include <stdbool.h>

enum {
    LOG_BUDGET_PER_MINUTE = 10,
    LOG_BUDGETS = 64, /* users whose uids are equal modulo this share a budget */
};

#define LOG_BUDGET_NOBODY UINT32_MAX /* for lines that no particular user provoked */

struct log_budgets {
    struct log_budget {
        nanoseconds minute_began;
        uint32_t logged, suppressed;
    } of[LOG_BUDGETS + 1]; /* zeroed at first */
};

/* Whether one more line may be written. *suppressedp is the number of lines suppressed in a minute
 * that is over; this line is to mention them. */
bool log_budget_take(
    struct log_budgets *budgets, uint32_t uid, nanoseconds now, uint32_t *suppressedp);
