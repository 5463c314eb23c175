/* Which reasons of an outage are logged. */
#include "database/down_reasons.h"

#include <criterion/criterion.h>
#include <stdio.h>

Test(down_reasons, each_new_one)
{
    struct down_reasons said = {.n_reasons = 0};
    cr_expect(down_reasons_add(&said, "closed"));
    cr_expect_not(down_reasons_add(&said, "closed"));
    cr_expect(down_reasons_add(&said, "refused"));
    cr_expect_not(down_reasons_add(&said, "refused"));
    cr_expect(down_reasons_add(&said, "closed"));
}

Test(down_reasons, a_few_at_most)
{
    struct down_reasons said = {.n_reasons = 0};
    int n = 0;
    for (int i = 0; i < 1000; i++) {
        char reason[32];
        snprintf(reason, sizeof reason, "reason %d", i);
        n += down_reasons_add(&said, reason);
    }
    cr_expect_eq(n, 5);
}
