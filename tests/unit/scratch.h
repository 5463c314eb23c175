/* scratch.h - an empty directory for one test, which is its working directory and in
 * absolute form scratch_path(). */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* A suite's .init and .fini. */
void scratch_begin(void);
void scratch_end(void);

/* Absolute, of a name in it; good until the next call. */
const char *scratch_path(const char *name);

/* The whole file; the caller frees it. */
char *scratch_read(const char *name, size_t *np);
void scratch_write(const char *name, const void *bytes, size_t n);
off_t scratch_size(const char *name);
