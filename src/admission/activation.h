/* activation.h - the listening socket that a service manager has made and keeps: which sockets
 * berthd takes. */
#pragma once

#include "conf/conf.h"

#include <stdbool.h>
#include <sys/un.h>

struct inherited {
    int fd; /* listening, non-blocking, close-on-exec; -1: none was handed over */
    char path[sizeof((struct sockaddr_un *)NULL)->sun_path + 1]; /* absolute, as bound */
};

/* Takes one listening Unix stream socket with a path, or none. False (logged) if anything else was
 * handed over. */
bool activation_take(struct inherited *inherited);

/* Logs which settings of the file do not apply: the socket's unit has them. */
void activation_say_ignored(const struct inherited *inherited, const struct conf *conf);
