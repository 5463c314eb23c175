/* dial.h - from a place as it is configured (a name and a port, or a path) to a connected stream:
 * looks the name up without blocking, and tries its addresses in turn. */
#ifndef BERTH_REDIS_DIAL_H
#define BERTH_REDIS_DIAL_H

#include "redis/stream.h"

struct dial;

/* Exactly once, never inside dial_new(), not after dial_cancel(). A stream, for
 * stream_hand_over() at once, or NULL and why not. The dial is gone afterwards. */
typedef void dial_done(void *context, struct stream *stream, const char *why);

/* `timeout` is that of looking up, and of each address. */
struct dial *dial_tcp(uv_loop_t *loop, const char *host, uint16_t port, nanoseconds timeout,
    dial_done *done, void *context);
struct dial *dial_unix(
    uv_loop_t *loop, const char *path, nanoseconds timeout, dial_done *done, void *context);
/* NULL is fine. Returns NULL. A name lookup that is under way ends by itself, and with it the dial.
 */
struct dial *dial_cancel(struct dial *dial);
/* Lookups under way, of all loops: nothing can cut them short, neither libuv nor the C library. */
size_t dial_n_looking(void);

#endif
