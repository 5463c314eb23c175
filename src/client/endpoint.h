/* endpoint.h - which socket to speak to. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/un.h>

#define ENDPOINT_DEFAULT "/run/berth/berth.sock"

struct endpoint {
    char path[sizeof((struct sockaddr_un *)NULL)->sun_path];
    bool is_default; /* nobody has chosen the socket */
};

/* `choice` is the argument of -S ("user" is the user's own daemon), or NULL: then $BERTH_SOCKET,
 * else always the same path, so that one name is one lock even in cron, which has no XDG variables.
 * False if the path is empty, or too long for a socket. */
bool endpoint_choose(struct endpoint *endpoint, const char *choice);

/* The path of the user's own daemon. False if it is too long. */
bool endpoint_of_user(struct endpoint *endpoint);

/* Where the berth-history of that daemon listens. False if the path is too long. */
bool endpoint_of_history(const struct endpoint *berthd, struct endpoint *history);

/* Makes the path absolute, for programs in another directory. */
void endpoint_absolute(const struct endpoint *endpoint, char out[static PATH_MAX]);
