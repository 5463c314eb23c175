/* secret.h - a password from a file: its one line, without the line's end. */
#ifndef BERTH_REDIS_SECRET_H
#define BERTH_REDIS_SECRET_H

#include <stdbool.h>
#include <stddef.h>

/* `source` is a path, or "credential:NAME" for $CREDENTIALS_DIRECTORY/NAME. *secretp is the
 * caller's, for secret_free(). False: `why` says what is wrong, without any of the content. */
bool secret_read(const char *source, char **secretp, char *why, size_t size);
/* Wiped; NULL is fine. Returns NULL. */
char *secret_free(char *secret);

#endif
