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

gid_t *peer_groups(int fd, size_t *np)
{
    struct peer peer;
    socklen_t size = 0;
    bool is_known = peer_read(fd, &peer) &&
        (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, NULL, &size) == 0 || errno == ERANGE);
    if (!is_known) {
        return NULL;
    }
    gid_t *gids = memory_resize(NULL, size + sizeof *gids, 1);
    if (size > 0 && getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, gids, &size) < 0) {
        free(gids);
        return NULL;
    }
    size_t n = size / sizeof *gids;
    gids[n] = peer.gid;
    *np = n + 1;
    return gids;
}
