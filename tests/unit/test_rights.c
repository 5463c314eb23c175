/* test_rights.c - who may do what: every way to have a right, and no other. */
#include "core/rights.h"

#include "core/resource.h"
#include "status/viewer.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { ROOT = 0, OWN = 900, ALICE = 1001, BOB = 1002, CAROL = 1003, STAFF = 50, WHEEL = 60 };

static uint32_t alice[] = {ALICE};
static uint32_t another[] = {BOB};
static uint32_t wheel[] = {7, WHEEL};

static const struct id_set nobody = {NULL, 0};
static const struct id_set only_alice = {alice, 1};
static const struct id_set only_bob = {another, 1};
static const struct id_set only_wheel = {wheel, 2};

static const struct daemon_admins own_only = {.own_uid = OWN, .users = &nobody, .groups = &nobody,
    .view_users = &nobody, .view_groups = &nobody};

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
        .own_uid = OWN, .users = &only_alice, .groups = &only_wheel,
        .view_users = &nobody, .view_groups = &nobody};
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

Test(rights, one_allow_list_excludes_all_others)
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

/* ---- deny ---- */

Test(rights, denied_whatever_allows_it)
{
    const gid_t gids[] = {STAFF, WHEEL};
    struct credentials named = in_groups(ALICE, gids, 1), member = in_groups(BOB, gids, 2);
    const struct rights all[] = {
        {.deny_users = only_alice},
        {.deny_users = only_alice, .allow_users = only_alice},
        {.deny_users = only_alice, .allow_groups = only_wheel},
        {.deny_users = only_alice, .admin_users = only_alice},
        {.deny_groups = only_wheel},
        {.deny_groups = only_wheel, .allow_users = only_alice, .allow_groups = only_wheel},
        {.deny_groups = only_wheel, .admin_groups = only_wheel},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        const struct credentials *denied = all[i].deny_users.n > 0 ? &named : &member;
        cr_expect_not(rights_use(denied, &own_only, &all[i]), "%zu", i);
    }
    cr_expect(rights_use(&member, &own_only, &all[0]));
    cr_expect(rights_use(&named, &own_only, &all[4]));
    cr_expect(rights_use(&named, &own_only, &all[5]));
}

Test(rights, a_denied_user_may_still_administer)
{
    const struct rights rights = {.deny_users = only_alice, .admin_users = only_alice};
    struct credentials named = who(ALICE);
    cr_expect(rights_admin_of(&named, &own_only, &rights));
    cr_expect_not(rights_use(&named, &own_only, &rights));
}

Test(rights, admins_of_the_daemon_are_never_denied)
{
    const gid_t gids[] = {WHEEL};
    static uint32_t ids[] = {ROOT, OWN, ALICE};
    const struct id_set all = {ids, 3};
    const struct rights rights = {.deny_users = all, .deny_groups = only_wheel};
    const struct daemon_admins admins = {
        .own_uid = OWN, .users = &only_alice, .groups = &only_wheel,
        .view_users = &nobody, .view_groups = &nobody};
    const struct credentials people[] = {
        in_groups(ROOT, gids, 1), who(ROOT), who(OWN), who(ALICE), in_groups(BOB, gids, 1)};
    for (size_t i = 0; i < sizeof people / sizeof people[0]; i++) {
        cr_expect(rights_use(&people[i], &admins, &rights), "%zu", i);
    }
}

Test(rights, unknown_groups_are_refused_if_one_may_be_denied)
{
    const gid_t gids[] = {STAFF};
    const struct rights rights = {.deny_groups = only_wheel, .allow_users = only_alice};
    struct credentials unknown = who(ALICE), known = in_groups(ALICE, gids, 1);
    cr_expect_not(rights_use(&unknown, &own_only, &rights));
    cr_expect(rights_use(&known, &own_only, &rights));
}

/* ---- what is shown of leases ---- */

Test(rights, who_sees_everything_changes_nothing)
{
    const gid_t gids[] = {STAFF, WHEEL};
    const struct daemon_admins admins = {.own_uid = OWN, .users = &nobody, .groups = &nobody,
        .view_users = &only_alice, .view_groups = &only_wheel};
    const struct rights closed = {.allow_users = only_bob};
    const struct credentials viewers[] = {who(ALICE), in_groups(CAROL, gids, 2)};
    for (size_t i = 0; i < 2; i++) {
        cr_expect(rights_see(&viewers[i], &admins, &closed));
        cr_expect_not(rights_use(&viewers[i], &admins, &closed));
        cr_expect_not(rights_admin_of(&viewers[i], &admins, &closed));
        cr_expect_not(rights_admin_of_daemon(&viewers[i], &admins));
    }
    const struct credentials others[] = {who(BOB), in_groups(CAROL, gids, 1)};
    for (size_t i = 0; i < 2; i++) {
        cr_expect_not(rights_see(&others[i], &admins, &closed));
    }
}

Test(rights, admins_see_what_they_administer)
{
    const struct rights of_alice = {.admin_users = only_alice}, of_nobody = {.admin_users = nobody};
    struct credentials admin = who(ALICE), root = who(ROOT);
    cr_expect(rights_see(&admin, &own_only, &of_alice));
    cr_expect_not(rights_see(&admin, &own_only, &of_nobody));
    cr_expect(rights_see(&root, &own_only, &of_nobody));
}

static bool sees_what_the_context_says(void *context, const struct rights *rights)
{
    return rights == context;
}

/* A lease of alice on resources with these two definitions. */
static bool sees(uid_t uid, const struct definition *a, const struct definition *b,
    const struct definition *administered)
{
    struct resource first = {.definition = a}, second = {.definition = b};
    struct lease *lease = calloc(1, sizeof *lease + 2 * sizeof lease->claims[0]);
    lease->uid = ALICE;
    lease->n_claims = 2;
    lease->claims[0].resource = &first;
    lease->claims[1].resource = &second;
    static const struct rights none;
    const struct viewer viewer = {.uid = uid,
        .context = (void *)(administered ? &administered->rights : &none),
        .may_see = sees_what_the_context_says};
    bool seen = viewer_sees(&viewer, lease);
    free(lease);
    return seen;
}

Test(rights, what_one_resource_hides_the_other_does_not_show)
{
    const struct definition open = {.limit = 1}, shut = {.shows_to_owner_only = true},
                            other = {.shows_to_owner_only = true};
    cr_expect(sees(BOB, &open, &open, NULL));
    cr_expect_not(sees(BOB, &open, &shut, NULL));
    cr_expect_not(sees(BOB, &shut, &open, NULL));
    cr_expect_not(sees(BOB, &shut, &open, &open));
    cr_expect(sees(BOB, &shut, &open, &shut));
    cr_expect_not(sees(BOB, &shut, &other, &shut));
    cr_expect(sees(ALICE, &shut, &other, NULL));
}

Test(rights, what_is_shown_of_other_hosts_leases)
{
    const struct definition open = {.limit = 1}, shut = {.shows_to_owner_only = true};
    static const struct rights none;
    struct viewer viewer = {.uid = BOB, .context = (void *)&none,
        .may_see = sees_what_the_context_says};
    cr_expect(viewer_sees_remote(&viewer, ALICE, 0, &open));
    cr_expect(viewer_sees_remote(&viewer, ALICE, 0, NULL));
    cr_expect_not(viewer_sees_remote(&viewer, ALICE, 1, &open), "its own host hides it");
    cr_expect_not(viewer_sees_remote(&viewer, ALICE, 0, &shut), "this host does");
    cr_expect(viewer_sees_remote(&viewer, BOB, 2, &shut));
    viewer.context = (void *)&shut.rights;
    cr_expect(viewer_sees_remote(&viewer, ALICE, 1, &shut));
    cr_expect_not(viewer_sees_remote(&viewer, ALICE, 2, &shut), "another resource hides it too");
    viewer.context = NULL; /* of the daemon */
    cr_expect(viewer_sees_remote(&viewer, ALICE, 2, &shut));
}
