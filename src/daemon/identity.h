/* identity.h - who this daemon is to a database: a name that a restart keeps, whatever becomes of
 * its journal, and that no other daemon has: not the one after a reboot, not the one in another
 * container, not the one on another socket. */
#ifndef BERTH_DAEMON_IDENTITY_H
#define BERTH_DAEMON_IDENTITY_H

#include <stdint.h>

enum {
    IDENTITY_HOST_SIZE = 65,
    IDENTITY_SESSION_SIZE = 17, /* 16 hex digits */
};

/* The host's name, for people: what is no byte of a name is `_`. */
void identity_host(char out[static IDENTITY_HOST_SIZE]);

/* Looks at the runtime directory, which must be there; `socket_path` is the socket's one name. */
void identity_session(char out[static IDENTITY_SESSION_SIZE], const char *boot_id,
    const char *socket_path, const char *database_name);

/* ---- for tests ---- */

struct identity {
    const char *boot_id, *host, *socket_path, *database_name;
    uint64_t device, inode; /* of the runtime directory */
};

void identity_format(char out[static IDENTITY_SESSION_SIZE], const struct identity *identity);
/* In place. */
void identity_clean_host(char *host);

#endif
