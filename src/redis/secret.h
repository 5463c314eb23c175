/* secret.h - a password from a file: its only line, without the line's end. */
#ifndef BERTH_REDIS_SECRET_H
#define BERTH_REDIS_SECRET_H

#include <stdbool.h>
#include <stddef.h>

/* `source` is a path, or "credential:NAME" for $CREDENTIALS_DIRECTORY/NAME. The caller ends
 * *secretp with secret_free(). False: `why` says what is wrong, and quotes nothing. */
bool secret_read(const char *source, char **secretp, char *why, size_t size);
/* Wipes the secret. Accepts NULL; returns NULL. */
char *secret_free(char *secret);

#endif
