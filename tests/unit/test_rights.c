/* test_rights.c - who may do what: every way to have a right, and no other. */
#include "core/rights.h"

#include "core/resource.h"
#include "status/viewer.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROOT = 0, OWN = 900, ALICE = 1001, BOB = 1002, CAROL = 1003, STAFF = 50, WHEEL = 60 };

static uint32_t alice[] = {ALICE}, bob[] = {BOB}, wheel[] = {7, WHEEL};
static uint32_t all[] = {ROOT, OWN, ALICE};
static const gid_t gids[] = {STAFF, WHEEL};

#define ONLY_ALICE                                                                                 \
    {                                                                                              \
        alice, 1                                                                                   \
    }
#define ONLY_BOB                                                                                   \
    {                                                                                              \
        bob, 1                                                                                     \
    }
#define ONLY_WHEEL                                                                                 \
    {                                                                                              \
        wheel, 2                                                                                   \
    }

static const struct id_set nobody = {NULL, 0}, only_alice = ONLY_ALICE, only_wheel = ONLY_WHEEL;

static const struct daemon_admins own_alone = {.own_uid = OWN,
    .users = &nobody,
    .groups = &nobody,
    .view_users = &nobody,
    .view_groups = &nobody};
static const struct daemon_admins with_admins = {.own_uid = OWN,
    .users = &only_alice,
    .groups = &only_wheel,
    .view_users = &nobody,
    .view_groups = &nobody};
static const struct daemon_admins with_viewers = {.own_uid = OWN,
    .users = &nobody,
    .groups = &nobody,
    .view_users = &only_alice,
    .view_groups = &only_wheel};

static const struct {
    const char *who;
    uid_t uid;
    size_t n_gids; /* of STAFF, WHEEL; 0: its groups are not known */
    const struct daemon_admins *admins;
    struct rights rights;
    const char *may; /* administer the daemon, the resource; use it; see its leases */
} rows[] = {
    {"root", ROOT, 0, &own_alone, {.allow_users = ONLY_ALICE}, "drus"},
    {"the daemon's own user", OWN, 0, &own_alone, {.allow_users = ONLY_ALICE}, "drus"},
    {"anybody, without a list", BOB, 0, &own_alone, {.admin_users = ONLY_ALICE}, "u"},
    {"an admin of the daemon", ALICE, 0, &with_admins, {.admin_users = ONLY_BOB}, "drus"},
    {"an admin of the daemon by a group", BOB, 2, &with_admins, {.admin_users = {NULL, 0}}, "drus"},
    {"one of another group", BOB, 1, &with_admins, {.admin_users = {NULL, 0}}, "u"},
    {"an admin of the resource", ALICE, 0, &own_alone,
        {.admin_users = ONLY_ALICE, .admin_groups = ONLY_WHEEL}, "rus"},
    {"an admin of the resource by a group", BOB, 2, &own_alone,
        {.admin_users = ONLY_ALICE, .admin_groups = ONLY_WHEEL}, "rus"},
    {"on the list", ALICE, 0, &own_alone, {.allow_users = ONLY_ALICE}, "u"},
    {"not on the list", BOB, 2, &own_alone, {.allow_users = ONLY_ALICE}, ""},
    {"of a group on the list", BOB, 2, &own_alone, {.allow_groups = ONLY_WHEEL}, "u"},
    {"of no group on the list", ALICE, 0, &own_alone, {.allow_groups = ONLY_WHEEL}, ""},
    {"an admin who is not on the list", ALICE, 0, &own_alone,
        {.allow_groups = ONLY_WHEEL, .admin_users = ONLY_ALICE}, "rus"},
    /* denied, whatever allows it */
    {"denied", ALICE, 1, &own_alone, {.deny_users = ONLY_ALICE}, ""},
    {"denied and allowed", ALICE, 1, &own_alone,
        {.deny_users = ONLY_ALICE, .allow_users = ONLY_ALICE}, ""},
    {"denied where a group is allowed", ALICE, 1, &own_alone,
        {.deny_users = ONLY_ALICE, .allow_groups = ONLY_WHEEL}, ""},
    {"denied, but an admin", ALICE, 1, &own_alone,
        {.deny_users = ONLY_ALICE, .admin_users = ONLY_ALICE}, "rs"},
    {"of a denied group", BOB, 2, &own_alone, {.deny_groups = ONLY_WHEEL}, ""},
    {"of a group that is denied and allowed", BOB, 2, &own_alone,
        {.deny_groups = ONLY_WHEEL, .allow_users = ONLY_ALICE, .allow_groups = ONLY_WHEEL}, ""},
    {"of a denied group of admins", BOB, 2, &own_alone,
        {.deny_groups = ONLY_WHEEL, .admin_groups = ONLY_WHEEL}, "rs"},
    {"where another is denied", BOB, 2, &own_alone, {.deny_users = ONLY_ALICE}, "u"},
    {"where another group is denied", ALICE, 1, &own_alone, {.deny_groups = ONLY_WHEEL}, "u"},
    {"allowed where another group is denied", ALICE, 1, &own_alone,
        {.deny_groups = ONLY_WHEEL, .allow_users = ONLY_ALICE, .allow_groups = ONLY_WHEEL}, "u"},
    {"allowed, but of unknown groups", ALICE, 0, &own_alone,
        {.deny_groups = ONLY_WHEEL, .allow_users = ONLY_ALICE}, ""},
    /* but for admins of the daemon */
    {"root, denied by a group", ROOT, 2, &with_admins,
        {.deny_users = {all, 3}, .deny_groups = ONLY_WHEEL}, "drus"},
    {"the daemon's own user, denied", OWN, 0, &with_admins, {.deny_users = {all, 3}}, "drus"},
    {"an admin of the daemon, denied", ALICE, 0, &with_admins,
        {.deny_users = {all, 3}, .deny_groups = ONLY_WHEEL}, "drus"},
    {"an admin of the daemon, denied by a group", BOB, 2, &with_admins, {.deny_groups = ONLY_WHEEL},
        "drus"},
    /* who sees everything changes nothing */
    {"a viewer", ALICE, 0, &with_viewers, {.allow_users = ONLY_BOB}, "s"},
    {"a viewer by a group", CAROL, 2, &with_viewers, {.allow_users = ONLY_BOB}, "s"},
    {"no viewer", BOB, 0, &with_viewers, {.allow_users = ONLY_BOB}, "u"},
    {"no viewer by this group", CAROL, 1, &with_viewers, {.allow_users = ONLY_BOB}, ""},
};

Test(rights, who_may_do_what)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct credentials who = {
            .uid = rows[i].uid, .gids = rows[i].n_gids > 0 ? gids : NULL, .n_gids = rows[i].n_gids};
        const struct daemon_admins *admins = rows[i].admins;
        const struct rights *rights = &rows[i].rights;
        char may[8];
        snprintf(may, sizeof may, "%s%s%s%s", rights_admin_of_daemon(&who, admins) ? "d" : "",
            rights_admin_of(&who, admins, rights) ? "r" : "",
            rights_use(&who, admins, rights) ? "u" : "",
            rights_see(&who, admins, rights) ? "s" : "");
        cr_expect_str_eq(may, rows[i].may, "%s: %s", rows[i].who, may);
    }
}

static bool keeps_history(uid_t uid, const char *name, const char *history_user)
{
    const struct credentials who = {.uid = uid};
    struct daemon_admins admins = with_viewers;
    admins.users = &only_alice;
    admins.history_user = history_user;
    return rights_history(&who, &admins, name);
}

Test(rights, who_gets_the_whole_history)
{
    cr_expect(keeps_history(ROOT, NULL, "keeper"));
    cr_expect(keeps_history(OWN, NULL, "keeper"));
    cr_expect(keeps_history(BOB, "keeper", "keeper"));
    cr_expect(keeps_history(BOB, NULL, "1002"));
    cr_expect_not(keeps_history(BOB, NULL, "keeper"));
    cr_expect_not(keeps_history(BOB, "keepers", "keeper"));
    cr_expect_not(keeps_history(BOB, "bob", "10021"));
    cr_expect_not(keeps_history(ALICE, "alice", "keeper"), "neither an admin nor a viewer");
}

/* ---- what is shown of leases ---- */

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
    cr_expect(viewer_sees_remote(&viewer, ALICE, false, &open));
    cr_expect(viewer_sees_remote(&viewer, ALICE, false, NULL));
    cr_expect_not(viewer_sees_remote(&viewer, ALICE, true, &open), "its own host hides it");
    cr_expect_not(viewer_sees_remote(&viewer, ALICE, false, &shut), "this host does");
    cr_expect(viewer_sees_remote(&viewer, BOB, true, &shut));
    viewer.context = (void *)&shut.rights;
    cr_expect(viewer_sees_remote(&viewer, ALICE, true, &shut));
    cr_expect_not(viewer_sees_remote(&viewer, ALICE, true, &open), "another resource hides it");
    cr_expect_not(viewer_sees_remote(&viewer, ALICE, true, NULL), "one not known here hides it");
    viewer.context = NULL; /* of the daemon */
    cr_expect(viewer_sees_remote(&viewer, ALICE, true, NULL));
}
