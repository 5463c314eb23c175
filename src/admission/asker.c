#include "admission/asker.h"

#include "admission/user_names.h"
#include "base/memory.h"
#include "job/keeper.h"

#include <stdlib.h>

static bool may_see(void *context, const struct rights *rights)
{
    struct asker *asker = context;
    if (!rights) {
        static const struct rights none;
        return asker_may(asker, rights_see, &none);
    }
    if (rights != asker->last) {
        asker->last = rights;
        asker->last_answer = asker_may(asker, rights_see, rights);
    }
    return asker->last_answer;
}

void asker_init(struct asker *asker, int fd, uint32_t uid, const struct daemon_admins *admins)
{
    *asker = (struct asker){
        .fd = fd,
        .admins = admins,
        .credentials = {.uid = uid},
        .viewer = {.uid = uid, .context = asker, .may_see = may_see, .pid_of = keeper_pid},
    };
}

static const char *user_of(void *context, uint32_t uid)
{
    const struct asker *asker = context;
    return user_names_find(asker->names, uid, asker->now);
}

void asker_names_users(struct asker *asker, struct user_names *names, nanoseconds now)
{
    asker->names = names;
    asker->now = now;
    asker->viewer.user_of = user_of;
}

void asker_deinit(struct asker *asker)
{
    peer_groups_deinit(&asker->groups);
}

static void look_for_groups(struct asker *asker)
{
    int fd = asker->fd;
    struct peer peer;
    struct peer_groups *groups = &asker->groups;
    asker->has_looked = true;
    if (!peer_read(fd, &peer) || !peer_groups_read(fd, groups)) {
        return;
    }
    groups->gids = memory_resize(groups->gids, groups->n + 1, sizeof *groups->gids);
    groups->gids[groups->n++] = peer.gid;
    asker->credentials.gids = groups->gids;
    asker->credentials.n_gids = groups->n;
}

bool rights_daemon(const struct credentials *credentials, const struct daemon_admins *admins,
    const struct rights *rights)
{
    (void)rights;
    return rights_admin_of_daemon(credentials, admins);
}

bool asker_may(struct asker *asker, rights_function *may, const struct rights *rights)
{
    if (may(&asker->credentials, asker->admins, rights)) {
        return true;
    }
    if (asker->has_looked) {
        return false;
    }
    look_for_groups(asker);
    return may(&asker->credentials, asker->admins, rights);
}
