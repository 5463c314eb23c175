/* secret.h - a password from a file: its only line, without the line's end. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

/* `source` is a path, or "credential:NAME" for $CREDENTIALS_DIRECTORY/NAME. The caller ends
 * *secretp with secret_free(). False: `why` says what is wrong, and quotes nothing. */
bool secret_read(const char *source, char **secretp, char *why, size_t size);
/* The path that a source means: NULL, or what is wrong with it. */
const char *secret_find(const char *source, char path[PATH_MAX]);
/* What follows when the file cannot be used: how credentials come about; or "". */
const char *secret_hint(const char *source);
/* Wipes the secret. Accepts NULL; returns NULL. */
char *secret_free(char *secret);
