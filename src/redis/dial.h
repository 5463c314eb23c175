/* dial.h - from a configured place (a name and a port, or a path) to a connected stream: looks the
 * name up without blocking, and tries its addresses in turn. With TLS it is connected when the
 * handshake is over. */
#pragma once

#include "redis/stream.h"

struct dial;

/* Called exactly once, but never inside dial_new() or after dial_cancel(): with a stream, for
 * stream_hand_over() at once, or with NULL and the reason. The dial is gone afterwards. */
typedef void dial_done(void *context, struct stream *stream, const char *why);

/* `timeout` bounds the lookup, and each address. `tls`: NULL for a plain connection; the dial and
 * its stream keep references. */
struct dial *dial_tcp(uv_loop_t *loop, const char *host, uint16_t port, struct tls_context *tls,
    nanoseconds timeout, dial_done *done, void *context);
struct dial *dial_unix(
    uv_loop_t *loop, const char *path, nanoseconds timeout, dial_done *done, void *context);
/* Accepts NULL; returns NULL. A lookup that is under way ends by itself, and then frees the
 * dial. */
struct dial *dial_cancel(struct dial *dial);
/* How many lookups of all loops are under way. Neither libuv nor the C library can cancel one. */
size_t dial_n_looking(void);
