/* activation.h - the listening socket that a service manager has made for us and keeps: which ones
 * we take. */
#ifndef BERTH_DAEMON_ACTIVATION_H
#define BERTH_DAEMON_ACTIVATION_H

#include "conf/conf.h"

#include <stdbool.h>
#include <sys/un.h>

struct inherited {
    int fd; /* listening, not blocking, close-on-exec; -1: none was handed over */
    char path[sizeof((struct sockaddr_un *)NULL)->sun_path + 1]; /* absolute, as it was bound */
};

/* One listening Unix stream socket with a path, or none. False (logged) if anything else was handed
 * over. */
bool activation_take(struct inherited *inherited);

/* Says what of the file does not hold: the unit of the socket has it. */
void activation_say_ignored(const struct inherited *inherited, const struct conf *conf);

#endif
