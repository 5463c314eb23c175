/* session_name.h - this daemon's name in a database. A restart keeps it, even if the journal is
 * lost, and no other daemon has it: neither after a reboot, nor in another container, nor on
 * another socket. */
#pragma once

#include <stdint.h>

enum {
    SESSION_HOST_SIZE = 65,
    SESSION_NAME_SIZE = 17, /* 16 hex digits */
};

/* From the kernel, or else the clock. */
uint64_t random_number(void);

/* The host's name, for people: bytes that a name cannot have become `_`. */
void session_host_read(char out[static SESSION_HOST_SIZE]);

/* Looks at the runtime directory, which must exist; `socket_path` is the socket's one name. */
void session_name_make(char out[static SESSION_NAME_SIZE], const char *boot_id,
    const char *socket_path, const char *database_name);

/* A name that no other daemon has. */
void session_name_random(char out[static SESSION_NAME_SIZE]);

/* ---- for tests ---- */

struct session_origin {
    const char *boot_id, *host, *socket_path, *database_name;
    uint64_t device, inode; /* of the runtime directory */
};

void session_name_format(char out[static SESSION_NAME_SIZE], const struct session_origin *origin);
/* In place. */
void session_host_clean(char *host);
