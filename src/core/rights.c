#include "core/rights.h"

#include <string.h>

static bool set_has(const struct id_set *set, uint32_t id)
{
    for (size_t i = 0; i < set->n; i++) {
        if (set->ids[i] == id) {
            return true;
        }
    }
    return false;
}

static bool is_named(
    const struct credentials *credentials, const struct id_set *users, const struct id_set *groups)
{
    if (set_has(users, credentials->uid)) {
        return true;
    }
    for (size_t i = 0; groups->n > 0 && i < credentials->n_gids; i++) {
        if (set_has(groups, credentials->gids[i])) {
            return true;
        }
    }
    return false;
}

bool rights_admin_of_daemon(
    const struct credentials *credentials, const struct daemon_admins *admins)
{
    return credentials->uid == 0 || credentials->uid == admins->own_uid ||
        is_named(credentials, admins->users, admins->groups);
}

bool rights_admin_of(const struct credentials *credentials, const struct daemon_admins *admins,
    const struct rights *rights)
{
    return rights_admin_of_daemon(credentials, admins) ||
        is_named(credentials, &rights->admin_users, &rights->admin_groups);
}

bool rights_see(const struct credentials *credentials, const struct daemon_admins *admins,
    const struct rights *rights)
{
    return rights_admin_of(credentials, admins, rights) ||
        is_named(credentials, admins->view_users, admins->view_groups);
}

bool rights_history(
    const struct credentials *credentials, const struct daemon_admins *admins, const char *name)
{
    uint64_t id;
    bool is_id = number_parse(admins->history_user, UINT32_MAX, &id) && id == credentials->uid;
    return credentials->uid == 0 || credentials->uid == admins->own_uid || is_id ||
        (name && strcmp(name, admins->history_user) == 0);
}

static bool is_denied(const struct credentials *credentials, const struct rights *rights)
{
    bool may_be_by_group = rights->deny_groups.n > 0 && !credentials->gids;
    return may_be_by_group || is_named(credentials, &rights->deny_users, &rights->deny_groups);
}

bool rights_use(const struct credentials *credentials, const struct daemon_admins *admins,
    const struct rights *rights)
{
    if (rights_admin_of_daemon(credentials, admins)) {
        return true;
    }
    bool anyone = rights->allow_users.n == 0 && rights->allow_groups.n == 0;
    bool allowed = anyone || is_named(credentials, &rights->allow_users, &rights->allow_groups) ||
        is_named(credentials, &rights->admin_users, &rights->admin_groups);
    return allowed && !is_denied(credentials, rights);
}
