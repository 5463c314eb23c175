#include "redis/stream.h"

#include "base/memory.h"
#include "base/text.h"
#include "redis/say.h"

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
    bool is_tcp, is_connected, is_writing, is_overdue, closing;
    union {
        struct sockaddr any;
        struct sockaddr_storage storage;
        struct sockaddr_un local;
    } address;
    uv_connect_t connecting;
    int error; /* to be reported in the next turn; 0: none */
    struct resp_reader *reader;
    struct text output;
};

/* ---- the end ---- */

static void on_closed(uv_handle_t *handle)
{
    struct stream *stream = handle->data;
    if (--stream->n_handles == 0) {
        resp_reader_free(stream->reader);
        text_deinit(&stream->output);
        free(stream);
    }
}

struct stream *stream_close(struct stream *stream)
{
    if (stream && !stream->closing) {
        stream->closing = true;
        uv_close(&stream->uv.handle, on_closed);
        uv_close((uv_handle_t *)&stream->timer, on_closed);
        uv_close((uv_handle_t *)&stream->prepare, on_closed);
        uv_close((uv_handle_t *)&stream->check, on_closed);
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
    return is_refused ? " (berthd's unit allows no TCP: its drop-in tcp.conf does, see berthd(8))"
                      : "";
}

static void stream_break_with(struct stream *stream, int error)
{
    char why[SAY_BYTES];
    say(why, sizeof why, "%s: %s%s", stream->is_connected ? "connection lost" : "cannot connect",
        error == UV_EOF ? "closed by the server" : uv_strerror(error),
        stream->is_connected ? "" : stream_why_refused(error));
    stream_break(stream, why);
}

/* ---- time ---- */

static void on_timer(uv_timer_t *timer)
{
    struct stream *stream = timer->data;
    if (!stream->is_overdue) {
        /* Reads what has arrived first: an answer that came while this process was stopped, or the
         * reason why the server refuses to be written to. */
        stream->is_overdue = true;
        uv_timer_start(timer, on_timer, 1, 0);
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
        uv_timer_start(&stream->timer, on_timer, (uint64_t)(after + 999999) / 1000000, 0);
    }
}

/* For errors found where no callback may run. */
static void stream_fail_later(struct stream *stream, int error)
{
    stream->error = error;
    stream->is_overdue = false;
    uv_timer_start(&stream->timer, on_timer, 0, 0);
}

/* ---- out ---- */

struct pending_write {
    uv_write_t request;
    struct text bytes;
};

static void stream_flush(struct stream *stream);

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

static void stream_write_rest(struct stream *stream, size_t sent)
{
    struct pending_write *pending = memory_new(sizeof *pending);
    pending->bytes = stream->output;
    pending->request.data = stream;
    stream->output = (struct text)TEXT_INIT;
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

static void stream_flush(struct stream *stream)
{
    uv_prepare_stop(&stream->prepare);
    uv_check_stop(&stream->check);
    if (!stream->is_connected || stream->is_writing || stream->output.length == 0) {
        return;
    }
    uv_buf_t buffer = uv_buf_init(stream->output.bytes, (unsigned)stream->output.length);
    int sent = uv_try_write(&stream->uv.stream, &buffer, 1);
    if (sent == (int)stream->output.length) {
        stream->output.length = 0;
    } else if (sent < 0 && sent != UV_EAGAIN) {
        stream_fail_later(stream, sent);
    } else {
        stream_write_rest(stream, sent < 0 ? 0 : (size_t)sent);
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

/* ---- in ---- */

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

/* One buffer serves all: the reader copies. */
static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    static char shared[64 * 1024];
    (void)handle, (void)suggested;
    *buffer = uv_buf_init(shared, sizeof shared);
}

static void on_read(uv_stream_t *uv, ssize_t n, const uv_buf_t *buffer)
{
    struct stream *stream = uv->data;
    if (n > 0) {
        resp_reader_feed(stream->reader, buffer->base, (size_t)n);
        stream_take_replies(stream);
    } else if (n < 0) {
        stream_break_with(stream, (int)n);
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
    stream->is_connected = true;
    stream->events->on_connected(stream->context);
}

static struct stream *stream_new(uv_loop_t *loop, const struct stream_events *events, void *context)
{
    struct stream *stream = memory_new(sizeof *stream);
    stream->loop = loop;
    stream->reader = resp_reader_new();
    stream_hand_over(stream, events, context);
    uv_timer_init(loop, &stream->timer);
    uv_prepare_init(loop, &stream->prepare);
    uv_check_init(loop, &stream->check);
    stream->timer.data = stream->prepare.data = stream->check.data = stream;
    stream->connecting.data = stream;
    stream->n_handles = 4;
    return stream;
}

struct stream *stream_tcp(uv_loop_t *loop, const struct sockaddr *address,
    const struct stream_events *events, void *context)
{
    struct stream *stream = stream_new(loop, events, context);
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
        ? stream_tcp(stream->loop, &stream->address.any, events, context)
        : stream_unix(stream->loop, stream->address.local.sun_path, events, context);
}

void stream_hand_over(struct stream *stream, const struct stream_events *events, void *context)
{
    stream->events = events;
    stream->context = context;
}
