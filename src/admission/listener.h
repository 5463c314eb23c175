/* listener.h - the one socket, made so that two daemons never share a path, and that only a stale
 * socket is ever unlinked. */
#pragma once

#include "conf/conf.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/un.h>

struct inherited {
    int fd; /* listening, non-blocking, close-on-exec; -1: none was handed over */
    char path[sizeof((struct sockaddr_un *)NULL)->sun_path + 1]; /* absolute, as bound */
};

struct listener {
    int fd; /* bound; not listening before listen() is called, unless inherited */
    int lock_fd; /* <runtime directory>/<socket's name>.lock, held for life */
    char *path;
    dev_t device; /* of our socket, so that only that is unlinked */
    ino_t inode; /* 0 for an inherited one: it is never unlinked */
};

#define LISTENER_INIT                                                                              \
    {                                                                                              \
        .fd = -1, .lock_fd = -1                                                                    \
    }

/* Makes the last folder of the path if it is missing. Logs errors. */
bool listener_open(struct listener *listener, const char *path, uint32_t mode);
/* Takes the descriptor over, in any case. Excludes other daemons as our own socket does. */
bool listener_adopt(struct listener *listener, const struct inherited *inherited);
bool listener_is_inherited(const struct listener *listener);
/* Unlinks the socket if it is still ours. */
void listener_close(struct listener *listener);

/* ---- sockets that a service manager hands over ---- */

/* Takes one listening Unix stream socket with a path, or none. False (logged) if anything else was
 * handed over. */
bool inherited_take(struct inherited *inherited);

/* Logs which settings of the file do not apply: the socket's unit has them. */
void inherited_say_ignored(const struct inherited *inherited, const struct conf *conf);
