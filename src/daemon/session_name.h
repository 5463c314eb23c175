/* session_name.h - who this daemon is to a database: a name that a restart keeps, whatever becomes of
 * its journal, and that no other daemon has: not the one after a reboot, not the one in another
 * container, not the one on another socket. */
#ifndef BERTH_DAEMON_SESSION_NAME_H
#define BERTH_DAEMON_SESSION_NAME_H

#include <stdint.h>

enum {
    SESSION_HOST_SIZE = 65,
    SESSION_NAME_SIZE = 17, /* 16 hex digits */
};

/* The host's name, for people: what is no byte of a name is `_`. */
void session_host_read(char out[static SESSION_HOST_SIZE]);

/* Looks at the runtime directory, which must be there; `socket_path` is the socket's one name. */
void session_name_make(char out[static SESSION_NAME_SIZE], const char *boot_id,
    const char *socket_path, const char *database_name);

/* ---- for tests ---- */

struct session_origin {
    const char *boot_id, *host, *socket_path, *database_name;
    uint64_t device, inode; /* of the runtime directory */
};

void session_name_format(char out[static SESSION_NAME_SIZE], const struct session_origin *identity);
/* In place. */
void session_host_clean(char *host);

#endif
