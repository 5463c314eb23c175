#include "admission/peer.h"

#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

bool peer_read(int fd, struct peer *peer)
{
    struct ucred credentials;
    socklen_t size = sizeof credentials;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &size) < 0) {
        return false;
    }
    *peer = (struct peer){credentials.pid, credentials.uid, credentials.gid};
    return true;
}

bool peer_groups_read(int fd, struct peer_groups *groups)
{
    socklen_t size = 0;
    *groups = (struct peer_groups){0};
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &size) == 0) {
        return true; /* none */
    }
    if (errno != ERANGE) {
        return false;
    }
    groups->gids = memory_resize(NULL, size, 1);
    if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups->gids, &size) < 0) {
        peer_groups_deinit(groups);
        return false;
    }
    groups->n = size / sizeof *groups->gids;
    return true;
}

void peer_groups_deinit(struct peer_groups *groups)
{
    free(groups->gids);
    *groups = (struct peer_groups){0};
}
