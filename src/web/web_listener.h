/* web_listener.h - the socket that browsers connect to: of loopback TCP or a Unix socket, made here
 * or by a service manager. berth-web serves only users of this host; others must log in at a
 * proxy. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

struct web_listener {
    int fd; /* listens; -1: none */
    char name[PATH_MAX]; /* "http://127.0.0.1:8181/", or the path of a Unix socket */
    char *path; /* of a Unix socket made here; NULL: another */
    dev_t device;
    ino_t inode;
};

/* Where it listens if nothing else is said. */
#define WEB_LISTEN_DEFAULT "127.0.0.1:8181"

/* What is wrong with "ADDRESS:PORT" (port 0: any that is free) or the path of a Unix socket, as far
 * as it can be seen without it; NULL: nothing. */
const char *web_listener_explain(const char *listen);

/* Takes the socket that was handed over; *is_therep: there is one. False (logged): it will not
 * do. */
bool web_listener_take(struct web_listener *listener, bool *is_therep);
/* Where web_listener_explain() finds nothing wrong. False (logged): it cannot listen there. */
bool web_listener_open(struct web_listener *listener, const char *listen);
/* Unlinks a path that is still ours. Whoever has taken .fd over closes it. */
void web_listener_close(struct web_listener *listener);
