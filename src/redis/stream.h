/* stream.h - one connection that speaks RESP, on a libuv stream, plain or in TLS: bytes out,
 * replies in. It knows no commands. What is sent in one turn of the loop leaves in one write,
 * before the loop waits again.
 *
 * No callback runs inside a call of these functions. */
#pragma once

#include "base/time.h"
#include "redis/resp.h"

#include <sys/socket.h>
#include <uv.h>

struct stream;
struct tls_context;

struct stream_events {
    void (*on_connected)(void *context); /* with TLS: and the handshake is over */
    void (*on_reply)(void *context, const struct resp *reply);
    void (*on_timer)(void *context);
    /* Called at most once; only stream_close() may follow. */
    void (*on_broken)(void *context, const char *why);
};

/* These begin to connect. With `tls` (NULL: plain), of which it keeps a reference, the server must
 * have a certificate for `host`, or for the configured server-name. */
struct stream *stream_tcp(uv_loop_t *loop, const struct sockaddr *address, struct tls_context *tls,
    const char *host, const struct stream_events *events, void *context);
struct stream *stream_unix(
    uv_loop_t *loop, const char *path, const struct stream_events *events, void *context);
/* Another connection to the same place, with TLS and the same certificates if that one has them. */
struct stream *stream_again(
    const struct stream *stream, const struct stream_events *events, void *context);
/* The stream reports to another owner from now on. */
void stream_hand_over(struct stream *stream, const struct stream_events *events, void *context);

/* What one reply may have in bytes, up to RESP_MAX_BYTES. A new stream is at STREAM_FIRST_BOUND:
 * nobody knows yet who answers. */
enum { STREAM_FIRST_BOUND = 1024 * 1024 };
void stream_set_bound(struct stream *stream, size_t n_bytes);

/* Copies the bytes. */
void stream_send(struct stream *stream, const char *bytes, size_t n);
/* Hands what was sent to the kernel now, as far as it takes it, instead of at the turn's end. */
void stream_flush(struct stream *stream);
/* Ends the text, and wipes it: there may be a password in it. */
void stream_send_text(struct stream *stream, struct text *text);
/* One on_timer after that span; 0: none. It comes only after everything that had arrived by then
 * was read. */
void stream_set_timer(struct stream *stream, nanoseconds after);
/* No callback comes afterwards; the stream frees itself. Accepts NULL; returns NULL. */
struct stream *stream_close(struct stream *stream);

/* Appended to "timed out": what was waited for, if it is worth saying; or "". */
const char *stream_why_late(const struct stream *stream);
/* Appended to "cannot connect": what the service's unit has to do with that error; or "". */
const char *stream_why_refused(int error);
