/* tls_load.h - reads the files of a database's TLS in a thread of libuv's pool: they may be large,
 * or far away. */
#pragma once

#include "redis/tls.h"

#include <uv.h>

struct tls_load;

/* Called exactly once, but never inside tls_load_begin() or after tls_load_cancel(): with a
 * context, whose reference the callee has, or with NULL and the reason. The load is gone
 * afterwards. */
typedef void tls_load_done(void *context, struct tls_context *tls, const char *why);

/* Copies what it needs of the database. */
struct tls_load *tls_load_begin(
    uv_loop_t *loop, const struct database *database, tls_load_done *done, void *context);
/* Accepts NULL; returns NULL. What is being read is read to its end, for nobody. */
struct tls_load *tls_load_cancel(struct tls_load *load);
/* How many reads of all loops are under way. None can be interrupted. */
size_t tls_load_n_reading(void);
