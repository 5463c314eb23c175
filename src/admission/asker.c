#include "admission/asker.h"

#include "admission/user_names.h"
#include "core/lease.h"
#include "job/process.h"

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

/* The pid that its client gave or, if the main process of a tree has ended, that of the wrapper,
 * which has kept the lease since. Reads /proc where there is a wrapper: while its client is
 * connected, nothing reports the main process's end. */
static int32_t pid_of(const struct lease *lease)
{
    bool is_tree = lease->binding == BOUND_PROCESS && lease->wrapper.pid != 0;
    bool is_wrapper_s = is_tree && (lease->main_is_gone || !process_is_alive(&lease->process));
    return is_wrapper_s ? lease->wrapper.pid : lease->pid;
}

void asker_init(struct asker *asker, int fd, uint32_t uid, const struct daemon_admins *admins)
{
    *asker = (struct asker){
        .fd = fd,
        .admins = admins,
        .credentials = {.uid = uid},
        .viewer = {.uid = uid, .context = asker, .may_see = may_see, .pid_of = pid_of},
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
    free(asker->gids);
}

static void look_for_groups(struct asker *asker)
{
    asker->has_looked = true;
    asker->gids = peer_groups(asker->fd, &asker->credentials.n_gids);
    asker->credentials.gids = asker->gids;
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
