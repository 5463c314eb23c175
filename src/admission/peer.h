/* peer.h - whose process has connected: its uid, groups and pid as of connect(), by the kernel. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct peer {
    pid_t pid; /* 0 if it is in a PID namespace that we cannot see */
    uid_t uid;
    gid_t gid;
};

/* False if the kernel does not say (errno). */
bool peer_read(int fd, struct peer *peer);
/* All its groups; the caller frees them. NULL if the kernel does not say: there is at least one. */
gid_t *peer_groups(int fd, size_t *np);
