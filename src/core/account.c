#include "core/account.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>

void accounts_init(struct accounts *accounts)
{
    *accounts = (struct accounts){.by_uid = TABLE_INIT};
    for (size_t i = 0; i < N_ACCOUNT_SLOTS; i++) {
        accounts->bounds[i] = UNBOUNDED;
    }
}

void accounts_deinit(struct accounts *accounts)
{
    table_deinit(&accounts->by_uid);
}

void accounts_set_bounds(struct accounts *accounts, const struct user_bounds *bounds)
{
    accounts->bounds[ACCOUNT_CLIENTS] = bounds->clients;
    accounts->bounds[ACCOUNT_WAITERS] = bounds->waiters;
    accounts->bounds[ACCOUNT_LEASES] = bounds->leases;
    accounts->bounds[ACCOUNT_INSTANCES] = bounds->instances;
}

static struct account *account_find(const struct accounts *accounts, uint32_t uid)
{
    struct table_node *node = table_find_number(&accounts->by_uid, uid);
    return node ? container_of(node, struct account, node) : NULL;
}

static bool account_is_unused(const struct account *account)
{
    uint32_t used = 0;
    for (size_t i = 0; i < N_ACCOUNT_SLOTS; i++) {
        used |= account->used[i];
    }
    return used == 0;
}

bool accounts_have_room(
    const struct accounts *accounts, uint32_t uid, enum account_slot slot, uint32_t n_gone)
{
    const struct account *account = account_find(accounts, uid);
    uint32_t used = account ? account->used[slot] : 0;
    return used - n_gone < accounts->bounds[slot];
}

uint32_t accounts_bound_met(const struct accounts *accounts, uint32_t uid, enum account_slot slot)
{
    return accounts_have_room(accounts, uid, slot, 0) ? UNBOUNDED : accounts->bounds[slot];
}

/* False if the account has as much as the bound; the charge is then empty. */
static bool charge_take_below(struct charge *charge, struct accounts *accounts, uint32_t uid,
    enum account_slot slot, uint32_t bound)
{
    struct account *account = account_find(accounts, uid);
    *charge = (struct charge){.account = NULL};
    if ((account ? account->used[slot] : 0) >= bound) {
        return false;
    }
    if (!account) {
        account = memory_new(sizeof *account);
        account->uid = uid;
        table_insert(&accounts->by_uid, &account->node, hash_number(uid));
    }
    account->used[slot]++;
    *charge = (struct charge){.account = account, .slot = slot};
    return true;
}

bool charge_take(
    struct charge *charge, struct accounts *accounts, uint32_t uid, enum account_slot slot)
{
    return charge_take_below(charge, accounts, uid, slot, accounts->bounds[slot]);
}

void charge_force(
    struct charge *charge, struct accounts *accounts, uint32_t uid, enum account_slot slot)
{
    charge_take_below(charge, accounts, uid, slot, UNBOUNDED);
}

void charge_give_back(struct charge *charge, struct accounts *accounts)
{
    struct account *account = charge->account;
    if (!account) {
        return;
    }
    assert(account->used[charge->slot] > 0);
    account->used[charge->slot]--;
    charge->account = NULL;
    if (account_is_unused(account)) {
        table_remove(&accounts->by_uid, &account->node);
        free(account);
    }
}
