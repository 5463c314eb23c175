#include "log/log_budget.h"

bool log_budget_take(
    struct log_budgets *budgets, uint32_t uid, nanoseconds now, uint32_t *suppressedp)
{
    struct log_budget *budget =
        &budgets->of[uid == LOG_BUDGET_NOBODY ? LOG_BUDGETS : uid % LOG_BUDGETS];
    *suppressedp = 0;
    if (budget->logged == 0 || now - budget->minute_began >= 60 * NANOSECONDS_PER_SECOND) {
        *suppressedp = budget->suppressed;
        *budget = (struct log_budget){.minute_began = now};
    }
    if (budget->logged == LOG_BUDGET_PER_MINUTE) {
        budget->suppressed++;
        return false;
    }
    budget->logged++;
    return true;
}
