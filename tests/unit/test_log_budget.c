/* test_log_budget.c - what one user may provoke in the log. */
#include "log/log_budget.h"

#include <criterion/criterion.h>

static struct log_budgets budgets;
static uint32_t suppressed;

static bool take(uint32_t uid, int64_t seconds)
{
    return log_budget_take(&budgets, uid, seconds * NANOSECONDS_PER_SECOND, &suppressed);
}

static unsigned take_many(uint32_t uid, unsigned n, int64_t seconds)
{
    unsigned taken = 0;
    for (unsigned i = 0; i < n; i++) {
        taken += take(uid, seconds);
    }
    return taken;
}

Test(log_budget, so_many_in_a_minute)
{
    cr_expect_eq(take_many(7, 30, 100), LOG_BUDGET_PER_MINUTE);
    cr_expect(!take(7, 159));
    cr_expect_eq(suppressed, 0);
    cr_expect(take(7, 160));
    cr_expect_eq(suppressed, 21);
    cr_expect_eq(take_many(7, 30, 160), LOG_BUDGET_PER_MINUTE - 1);
    cr_expect_eq(suppressed, 0);
}

Test(log_budget, each_has_one)
{
    cr_expect_eq(take_many(7, 100, 100), LOG_BUDGET_PER_MINUTE);
    cr_expect_eq(take_many(8, 100, 100), LOG_BUDGET_PER_MINUTE);
    cr_expect_eq(take_many(LOG_BUDGET_NOBODY, 100, 100), LOG_BUDGET_PER_MINUTE);
    cr_expect_eq(take_many(LOG_BUDGET_NOBODY - 1, 100, 100), LOG_BUDGET_PER_MINUTE);
}
