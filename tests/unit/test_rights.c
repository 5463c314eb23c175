/* test_rights.c - who may do what: every way to have a right, and none besides. */
#include "daemon/rights.h"

#include <criterion/criterion.h>

enum { ROOT = 0, OWN = 900, ALICE = 1001, BOB = 1002, STAFF = 50, WHEEL = 60 };

static uint32_t alice[] = {ALICE};
static uint32_t wheel[] = {7, WHEEL};

static const struct id_set nobody = {NULL, 0};
static const struct id_set only_alice = {alice, 1};
static const struct id_set only_wheel = {wheel, 2};

static const struct daemon_admins own_only = {.own_uid = OWN, .users = &nobody, .groups = &nobody};

static struct credentials who(uid_t uid)
{
    return (struct credentials){.uid = uid};
}

static struct credentials in_groups(uid_t uid, const gid_t *gids, size_t n)
{
    return (struct credentials){.uid = uid, .gids = gids, .n_gids = n};
}

Test(rights, root_and_the_daemon_itself_may_do_everything)
{
    const struct rights closed = {.allow_users = only_alice};
    const uid_t uids[] = {ROOT, OWN};
    for (size_t i = 0; i < 2; i++) {
        struct credentials admin = who(uids[i]);
        cr_assert(rights_admin_of_daemon(&admin, &own_only));
        cr_assert(rights_admin_of(&admin, &own_only, &closed));
        cr_assert(rights_use(&admin, &own_only, &closed));
    }
}

Test(rights, others_are_no_admins)
{
    const struct rights open = {.allow_users = nobody};
    struct credentials bob = who(BOB);
    cr_assert_not(rights_admin_of_daemon(&bob, &own_only));
    cr_assert_not(rights_admin_of(&bob, &own_only, &open));
}

Test(rights, admins_of_the_daemon_by_user_and_by_group)
{
    const struct daemon_admins admins = {
        .own_uid = OWN, .users = &only_alice, .groups = &only_wheel};
    const struct rights open = {.allow_users = nobody};
    const gid_t gids[] = {STAFF, WHEEL};
    struct credentials named = who(ALICE);
    struct credentials by_group = in_groups(BOB, gids, 2);
    struct credentials in_no_group = in_groups(BOB, gids, 1);
    cr_assert(rights_admin_of_daemon(&named, &admins));
    cr_assert(rights_admin_of_daemon(&by_group, &admins));
    cr_assert(rights_admin_of(&by_group, &admins, &open));
    cr_assert_not(rights_admin_of_daemon(&in_no_group, &admins));
}

Test(rights, admins_of_a_resource_are_none_of_the_daemon)
{
    const struct rights rights = {.admin_users = only_alice, .admin_groups = only_wheel};
    const gid_t gids[] = {WHEEL};
    struct credentials named = who(ALICE);
    struct credentials by_group = in_groups(BOB, gids, 1);
    cr_assert(rights_admin_of(&named, &own_only, &rights));
    cr_assert(rights_admin_of(&by_group, &own_only, &rights));
    cr_assert_not(rights_admin_of_daemon(&named, &own_only));
    cr_assert_not(rights_admin_of_daemon(&by_group, &own_only));
}

Test(rights, without_a_list_anyone_may_use)
{
    const struct rights open = {.admin_users = only_alice};
    struct credentials bob = who(BOB);
    cr_assert(rights_use(&bob, &own_only, &open));
}

Test(rights, with_one_list_the_other_lets_nobody_in)
{
    const gid_t gids[] = {STAFF, WHEEL};
    const struct rights by_user = {.allow_users = only_alice};
    const struct rights by_group = {.allow_groups = only_wheel};
    struct credentials named = who(ALICE);
    struct credentials member = in_groups(BOB, gids, 2);
    cr_assert(rights_use(&named, &own_only, &by_user));
    cr_assert_not(rights_use(&member, &own_only, &by_user));
    cr_assert(rights_use(&member, &own_only, &by_group));
    cr_assert_not(rights_use(&named, &own_only, &by_group));
}

Test(rights, admins_may_use_what_they_are_not_on_the_list_of)
{
    const struct rights rights = {.allow_groups = only_wheel, .admin_users = only_alice};
    struct credentials named = who(ALICE);
    cr_assert(rights_use(&named, &own_only, &rights));
}
