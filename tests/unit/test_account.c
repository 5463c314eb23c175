/* test_account.c - charges: bounded per uid and kind, given back once however often requested. */
#include "core/account.h"

#include <criterion/criterion.h>

static const struct user_bounds bounds = {.clients = 2, .waiters = 1, .leases = 3, .instances = 0};

static struct accounts accounts;

static void begin(void)
{
    accounts_init(&accounts);
    accounts_set_bounds(&accounts, &bounds);
}

static void end(void)
{
    accounts_deinit(&accounts);
}

TestSuite(account, .init = begin, .fini = end);

Test(account, bounded_by_uid_and_slot)
{
    struct charge a, b, c, other, waiter;
    cr_expect(charge_take(&a, &accounts, 1000, ACCOUNT_CLIENTS));
    cr_expect(charge_take(&b, &accounts, 1000, ACCOUNT_CLIENTS));
    cr_expect_not(charge_take(&c, &accounts, 1000, ACCOUNT_CLIENTS));
    cr_expect_null(c.account);
    cr_expect(charge_take(&other, &accounts, 1001, ACCOUNT_CLIENTS));
    cr_expect(charge_take(&waiter, &accounts, 1000, ACCOUNT_WAITERS));
    cr_expect_eq(accounts.by_uid.n, 2);
    charge_give_back(&c, &accounts);
    charge_give_back(&a, &accounts);
    cr_expect(charge_take(&c, &accounts, 1000, ACCOUNT_CLIENTS));
    charge_give_back(&b, &accounts);
    charge_give_back(&c, &accounts);
    charge_give_back(&other, &accounts);
    charge_give_back(&waiter, &accounts);
    cr_expect_eq(accounts.by_uid.n, 0);
}

Test(account, zero_is_a_bound)
{
    struct charge charge;
    cr_expect_not(charge_take(&charge, &accounts, 0, ACCOUNT_INSTANCES));
    cr_expect_eq(accounts.by_uid.n, 0);
    charge_give_back(&charge, &accounts);
}

Test(account, unbounded_until_a_bound_is_set)
{
    struct charge charges[100];
    accounts_init(&accounts);
    for (size_t i = 0; i < 100; i++) {
        cr_expect(charge_take(&charges[i], &accounts, 7, ACCOUNT_LEASES));
    }
    for (size_t i = 0; i < 100; i++) {
        charge_give_back(&charges[i], &accounts);
    }
}

Test(account, giving_back_twice_counts_once)
{
    struct charge a, b, c, d;
    cr_expect(charge_take(&a, &accounts, 5, ACCOUNT_CLIENTS));
    cr_expect(charge_take(&b, &accounts, 5, ACCOUNT_CLIENTS));
    charge_give_back(&a, &accounts);
    charge_give_back(&a, &accounts);
    charge_give_back(&a, &accounts);
    cr_expect(charge_take(&c, &accounts, 5, ACCOUNT_CLIENTS));
    cr_expect_not(charge_take(&d, &accounts, 5, ACCOUNT_CLIENTS));
    charge_give_back(&b, &accounts);
    charge_give_back(&c, &accounts);
}

Test(account, a_lower_bound_revokes_nothing)
{
    struct charge a, b, c;
    cr_expect(charge_take(&a, &accounts, 5, ACCOUNT_CLIENTS));
    cr_expect(charge_take(&b, &accounts, 5, ACCOUNT_CLIENTS));
    struct user_bounds lower = bounds;
    lower.clients = 1;
    accounts_set_bounds(&accounts, &lower);
    charge_give_back(&a, &accounts);
    cr_expect_not(charge_take(&c, &accounts, 5, ACCOUNT_CLIENTS));
    charge_give_back(&b, &accounts);
    cr_expect(charge_take(&c, &accounts, 5, ACCOUNT_CLIENTS));
    charge_give_back(&c, &accounts);
}
