/* peer.h - who is at the other end of a connection, as the kernel says. */
#ifndef BERTH_ADMISSION_PEER_H
#define BERTH_ADMISSION_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct peer {
    pid_t pid; /* 0 if it is in a PID namespace that we cannot see */
    uid_t uid;
    gid_t gid;
};

/* Supplementary groups; peer_groups_deinit() frees `gids`. */
struct peer_groups {
    gid_t *gids;
    size_t n;
};

/* As of connect(). False if the kernel does not say (errno). */
bool peer_read(int fd, struct peer *peer);
bool peer_groups_read(int fd, struct peer_groups *groups);
void peer_groups_deinit(struct peer_groups *groups);

#endif
