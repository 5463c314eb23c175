/* account.h - what one uid uses, and the bounds on it.
 *
 * A charge (after dbus-broker's util/user.c) records which account it was taken from, so that
 * returning it is one idempotent call: a count can neither leak nor be given back twice. */
#pragma once

#include "base/table.h"
#include "core/definition.h"

#include <stdbool.h>
#include <stdint.h>

enum account_slot {
    ACCOUNT_CLIENTS,
    ACCOUNT_WAITERS,
    ACCOUNT_LEASES,
    ACCOUNT_INSTANCES,
    N_ACCOUNT_SLOTS
};

struct account {
    struct table_node node; /* in accounts.by_uid */
    uint32_t uid;
    uint32_t used[N_ACCOUNT_SLOTS];
};

struct accounts {
    struct table by_uid; /* only those that use something */
    uint32_t bounds[N_ACCOUNT_SLOTS];
};

struct charge {
    struct account *account; /* NULL: nothing is charged */
    enum account_slot slot;
};

void accounts_init(struct accounts *accounts);
void accounts_deinit(struct accounts *accounts); /* asserts that nothing is charged */
/* A uid that is above a new bound keeps what it has. */
void accounts_set_bounds(struct accounts *accounts, const struct user_bounds *bounds);

/* The bound, if the uid has as much as that; else UNBOUNDED. */
uint32_t accounts_bound_met(const struct accounts *accounts, uint32_t uid, enum account_slot slot);

/* May the uid have one more, if `n_gone` of those that it has do not count? */
bool accounts_have_room(
    const struct accounts *accounts, uint32_t uid, enum account_slot slot, uint32_t n_gone);

/* False if the uid is at its bound; the charge is then empty. */
bool charge_take(
    struct charge *charge, struct accounts *accounts, uint32_t uid, enum account_slot slot);
/* Ignores the bound: for what the uid had before. */
void charge_force(
    struct charge *charge, struct accounts *accounts, uint32_t uid, enum account_slot slot);
void charge_give_back(struct charge *charge, struct accounts *accounts);
