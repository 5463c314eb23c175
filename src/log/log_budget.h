/* log_budget.h - how many lines one user may provoke in the log in a minute: each has a budget of its
 * own, so that whoever fills the log hides nothing about others. Pure: time is an argument. */
#ifndef BERTH_LOG_LOG_BUDGET_H
#define BERTH_LOG_LOG_BUDGET_H

#include "base/time.h"

#include <stdbool.h>

enum {
    LOG_BUDGET_PER_MINUTE = 10,
    LOG_BUDGETS = 64, /* users whose numbers are the same modulo this share one */
};

#define LOG_BUDGET_NOBODY UINT32_MAX /* provoked by no user in particular */

struct log_budgets {
    struct log_budget {
        nanoseconds minute_began;
        uint32_t said, suppressed;
    } of[LOG_BUDGETS + 1]; /* zeroed at first */
};

/* Whether one more line may be said. *suppressedp: of how many, in a minute that is over, nothing was
 * said; they are told with this one. */
bool log_budget_take(
    struct log_budgets *budgets, uint32_t uid, nanoseconds now, uint32_t *suppressedp);

#endif
