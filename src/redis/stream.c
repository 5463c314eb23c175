#include "redis/stream.h"

#include "base/memory.h"
#include "base/text.h"
#include "redis/one_line.h"
#include "redis/tls.h"

#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

enum { KEEPALIVE_SECONDS = 60 };

struct stream {
    uv_loop_t *loop;
    const struct stream_events *events;
    void *context;
    union {
        uv_handle_t handle;
        uv_stream_t stream;
        uv_tcp_t tcp;
        uv_pipe_t pipe;
    } uv;
    uv_timer_t timer;
    /* Whichever comes first sends what this turn has to send. */
    uv_prepare_t prepare;
    uv_check_t check;
    int n_handles; /* not closed yet */
    bool is_tcp;
    bool is_open; /* the kernel has connected it */
    bool is_connected; /* the owner may use it: with TLS, the handshake is over too */
    bool has_heard; /* anything at all */
    bool is_writing, is_overdue, closing;
    union {
        struct sockaddr any;
        struct sockaddr_storage storage;
        struct sockaddr_un local;
    } address;
    uv_connect_t connecting;
    int error; /* to be reported in the next turn; 0: none */
    struct resp_reader *reader;
    struct text output; /* plain */
    struct tls *tls; /* or NULL */
    struct tls_context *tls_context;
    char *host; /* with TLS: the server's certificate is for it */
};

/* ---- the end ---- */

static void stream_on_closed(uv_handle_t *handle)
{
    struct stream *stream = handle->data;
    if (--stream->n_handles == 0) {
        resp_reader_free(stream->reader);
        text_deinit(&stream->output);
        tls_free(stream->tls);
        tls_context_unref(stream->tls_context);
        free(stream->host);
        free(stream);
    }
}

/* As far as the kernel takes it at once. */
static void stream_say_goodbye(struct stream *stream)
{
    if (stream->tls && stream->is_connected && !stream->is_writing && !stream->error) {
        tls_end(stream->tls);
        struct text *out = tls_output(stream->tls);
        uv_buf_t buffer = uv_buf_init(out->bytes, (unsigned)out->length);
        uv_try_write(&stream->uv.stream, &buffer, 1);
    }
}

struct stream *stream_close(struct stream *stream)
{
    if (stream && !stream->closing) {
        stream_say_goodbye(stream);
        stream->closing = true;
        uv_close(&stream->uv.handle, stream_on_closed);
        uv_close((uv_handle_t *)&stream->timer, stream_on_closed);
        uv_close((uv_handle_t *)&stream->prepare, stream_on_closed);
        uv_close((uv_handle_t *)&stream->check, stream_on_closed);
    }
    return NULL;
}

static void stream_break(struct stream *stream, const char *why)
{
    if (!stream->closing) {
        stream->events->on_broken(stream->context, why);
    }
}

const char *stream_why_refused(int error)
{
    bool is_refused = error == UV_EAFNOSUPPORT || error == UV_EPERM;
    return is_refused ? " (berthd's unit forbids TCP: install the drop-in tcp.conf, see berthd(8))"
                      : "";
}

const char *stream_why_late(const struct stream *stream)
{
    return stream->tls && stream->is_open && !stream->is_connected
        ? " in the TLS handshake (does the server speak TLS on that port?)"
        : "";
}

/* Appended to an error of the kernel. */
static const char *stream_hint(const struct stream *stream, int error)
{
    if (!stream->is_open) {
        return stream_why_refused(error);
    } else if (stream->tls && !stream->is_connected) {
        return " in the TLS handshake";
    }
    return stream->tls || stream->has_heard || !stream->is_tcp
        ? ""
        : " before sending anything (if it expects TLS, use rediss://)";
}

static void stream_break_with(struct stream *stream, int error)
{
    char why[ONE_LINE_BYTES];
    const char *trouble = stream->tls ? tls_why(stream->tls) : NULL;
    format_one_line(why, sizeof why, "%s: %s%s",
        stream->is_connected ? "connection lost" : "cannot connect",
        trouble               ? trouble
            : error == UV_EOF ? "closed by the server"
                              : uv_strerror(error),
        trouble ? "" : stream_hint(stream, error));
    stream_break(stream, why);
}

/* ---- time ---- */

static void stream_on_timer(uv_timer_t *timer)
{
    struct stream *stream = timer->data;
    if (!stream->is_overdue) {
        /* Reads what has arrived first: an answer that came while this process was stopped, or the
         * reason why the server refuses to be written to. */
        stream->is_overdue = true;
        uv_timer_start(timer, stream_on_timer, 1, 0);
    } else if (stream->error) {
        stream_break_with(stream, stream->error);
    } else {
        stream->is_overdue = false;
        stream->events->on_timer(stream->context);
    }
}

void stream_set_timer(struct stream *stream, nanoseconds after)
{
    if (stream->closing || stream->error) {
        return;
    }
    stream->is_overdue = false;
    if (after == 0) {
        uv_timer_stop(&stream->timer);
    } else {
        uv_update_time(stream->loop);
        uv_timer_start(&stream->timer, stream_on_timer, (uint64_t)(after + 999999) / 1000000, 0);
    }
}

/* For errors found where no callback may run. */
static void stream_fail_later(struct stream *stream, int error)
{
    stream->error = error;
    stream->is_overdue = false;
    uv_timer_start(&stream->timer, stream_on_timer, 0, 0);
}

/* ---- out ---- */

struct pending_write {
    uv_write_t request;
    struct text bytes;
};

static void on_written(uv_write_t *request, int status)
{
    struct pending_write *pending = container_of(request, struct pending_write, request);
    struct stream *stream = request->data;
    text_deinit(&pending->bytes);
    free(pending);
    stream->is_writing = false;
    if (stream->closing) {
        return;
    } else if (status < 0) {
        stream_fail_later(stream, status);
    } else {
        stream_flush(stream);
    }
}

static void stream_write_rest(struct stream *stream, struct text *out, size_t sent)
{
    struct pending_write *pending = memory_new(sizeof *pending);
    pending->bytes = *out;
    pending->request.data = stream;
    *out = (struct text)TEXT_INIT;
    uv_buf_t buffer =
        uv_buf_init(pending->bytes.bytes + sent, (unsigned)(pending->bytes.length - sent));
    int error = uv_write(&pending->request, &stream->uv.stream, &buffer, 1, on_written);
    stream->is_writing = error == 0;
    if (error) {
        text_deinit(&pending->bytes);
        free(pending);
        stream_fail_later(stream, error);
    }
}

/* What the kernel is to have next. All that a turn sends becomes records together. */
static struct text *stream_sealed(struct stream *stream)
{
    if (!stream->tls) {
        return &stream->output;
    }
    if (stream->is_connected && stream->output.length > 0) {
        tls_send(stream->tls, stream->output.bytes, stream->output.length);
        explicit_bzero(stream->output.bytes, stream->output.length);
        stream->output.length = 0;
        if (tls_why(stream->tls)) {
            stream_fail_later(stream, UV_EPROTO);
        }
    }
    return tls_output(stream->tls);
}

void stream_flush(struct stream *stream)
{
    uv_prepare_stop(&stream->prepare);
    uv_check_stop(&stream->check);
    if (!stream->is_open || stream->is_writing) {
        return;
    }
    struct text *out = stream_sealed(stream);
    if (out->length == 0) {
        return;
    }
    uv_buf_t buffer = uv_buf_init(out->bytes, (unsigned)out->length);
    int sent = uv_try_write(&stream->uv.stream, &buffer, 1);
    if (sent == (int)out->length) {
        out->length = 0;
    } else if (sent < 0 && sent != UV_EAGAIN) {
        stream_fail_later(stream, sent);
    } else {
        stream_write_rest(stream, out, sent < 0 ? 0 : (size_t)sent);
    }
}

static void on_prepare(uv_prepare_t *prepare)
{
    stream_flush(prepare->data);
}

static void on_check(uv_check_t *check)
{
    stream_flush(check->data);
}

void stream_send(struct stream *stream, const char *bytes, size_t n)
{
    if (stream->closing) {
        return;
    }
    text_add_bytes(&stream->output, bytes, n);
    uv_prepare_start(&stream->prepare, on_prepare);
    uv_check_start(&stream->check, on_check);
}

void stream_send_text(struct stream *stream, struct text *text)
{
    if (text->length > 0) {
        stream_send(stream, text->bytes, text->length);
        explicit_bzero(text->bytes, text->length);
    }
    text_deinit(text);
}

/* ---- in ---- */

void stream_set_bound(struct stream *stream, size_t n_bytes)
{
    resp_reader_set_bound(stream->reader, n_bytes);
}

static void stream_take_replies(struct stream *stream)
{
    const struct resp *reply;
    enum resp_next next = RESP_MORE;
    while (!stream->closing && (next = resp_reader_next(stream->reader, &reply)) == RESP_REPLY) {
        stream->events->on_reply(stream->context, reply);
    }
    if (next == RESP_NONSENSE) {
        stream_break(stream, "closing the connection: the answer is not RESP, or far too long");
    }
}

/* The kernel has connected it, or TLS has: the owner may use it. */
static void stream_is_ready(struct stream *stream)
{
    stream->is_connected = true;
    stream->events->on_connected(stream->context);
}

/* Takes what the server has sent through TLS: none at first, to begin the handshake. */
static void stream_take_sealed(struct stream *stream, const char *bytes, size_t n)
{
    static char plain[16 * 1024]; /* the reader copies */
    enum tls_next next = TLS_MORE;
    size_t length;
    tls_feed(stream->tls, bytes, n);
    do {
        next = tls_next(stream->tls, plain, sizeof plain, &length);
        if (next == TLS_READY) {
            stream_is_ready(stream);
        } else if (next == TLS_PLAIN) {
            resp_reader_feed(stream->reader, plain, length);
            stream_take_replies(stream);
        }
    } while (!stream->closing && (next == TLS_READY || next == TLS_PLAIN));
    if (stream->closing) {
        return;
    }
    stream_flush(stream); /* handshakes, and alerts that say why we hang up */
    if (next != TLS_MORE) {
        stream_break_with(stream, UV_EOF);
    }
}

/* One buffer serves all: the reader copies, and TLS has taken all when a read is over. */
static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    static char shared[64 * 1024];
    (void)handle, (void)suggested;
    *buffer = uv_buf_init(shared, sizeof shared);
}

static void on_read(uv_stream_t *uv, ssize_t n, const uv_buf_t *buffer)
{
    struct stream *stream = uv->data;
    if (n < 0) {
        stream_break_with(stream, (int)n);
    } else if (n > 0 && stream->tls) {
        stream_take_sealed(stream, buffer->base, (size_t)n);
    } else if (n > 0) {
        stream->has_heard = true;
        resp_reader_feed(stream->reader, buffer->base, (size_t)n);
        stream_take_replies(stream);
    }
}

/* ---- connecting ---- */

static void on_connected(uv_connect_t *request, int status)
{
    struct stream *stream = request->data;
    if (stream->closing) {
        return;
    }
    if (status == 0) {
        status = uv_read_start(&stream->uv.stream, on_alloc, on_read);
    }
    if (status < 0) {
        stream_break_with(stream, status);
        return;
    }
    if (stream->is_tcp) {
        uv_tcp_nodelay(&stream->uv.tcp, 1);
        uv_tcp_keepalive(&stream->uv.tcp, 1, KEEPALIVE_SECONDS);
    }
    stream->is_open = true;
    if (stream->tls) {
        stream_take_sealed(stream, NULL, 0);
    } else {
        stream_is_ready(stream);
    }
}

static struct stream *stream_new(uv_loop_t *loop, const struct stream_events *events, void *context)
{
    struct stream *stream = memory_new(sizeof *stream);
    stream->loop = loop;
    stream->reader = resp_reader_new();
    stream_set_bound(stream, STREAM_FIRST_BOUND);
    stream_hand_over(stream, events, context);
    uv_timer_init(loop, &stream->timer);
    uv_prepare_init(loop, &stream->prepare);
    uv_check_init(loop, &stream->check);
    stream->timer.data = stream->prepare.data = stream->check.data = stream;
    stream->connecting.data = stream;
    stream->n_handles = 4;
    return stream;
}

struct stream *stream_tcp(uv_loop_t *loop, const struct sockaddr *address, struct tls_context *tls,
    const char *host, const struct stream_events *events, void *context)
{
    struct stream *stream = stream_new(loop, events, context);
    if (tls) {
        stream->tls_context = tls_context_ref(tls);
        stream->host = memory_string(host);
        stream->tls = tls_new(tls, host);
    }
    bool is_v6 = address->sa_family == AF_INET6;
    memcpy(&stream->address, address,
        is_v6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in));
    stream->is_tcp = true;
    uv_tcp_init(loop, &stream->uv.tcp);
    stream->uv.handle.data = stream;
    int error =
        uv_tcp_connect(&stream->connecting, &stream->uv.tcp, &stream->address.any, on_connected);
    if (error) {
        stream_fail_later(stream, error);
    }
    return stream;
}

struct stream *stream_unix(
    uv_loop_t *loop, const char *path, const struct stream_events *events, void *context)
{
    struct stream *stream = stream_new(loop, events, context);
    uv_pipe_init(loop, &stream->uv.pipe, 0);
    stream->uv.handle.data = stream;
    stream->address.local.sun_family = AF_UNIX;
    /* libuv would truncate the path. */
    if (strlen(path) >= sizeof stream->address.local.sun_path) {
        stream_fail_later(stream, UV_ENAMETOOLONG);
    } else {
        strcpy(stream->address.local.sun_path, path);
        uv_pipe_connect(&stream->connecting, &stream->uv.pipe, path, on_connected);
    }
    return stream;
}

struct stream *stream_again(
    const struct stream *stream, const struct stream_events *events, void *context)
{
    return stream->is_tcp
        ? stream_tcp(stream->loop, &stream->address.any, stream->tls_context, stream->host, events,
              context)
        : stream_unix(stream->loop, stream->address.local.sun_path, events, context);
}

void stream_hand_over(struct stream *stream, const struct stream_events *events, void *context)
{
    stream->events = events;
    stream->context = context;
}
