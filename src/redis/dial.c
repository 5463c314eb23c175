#include "redis/dial.h"

#include "base/memory.h"
#include "redis/one_line.h"
#include "redis/tls.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_ADDRESSES = 8 };

struct dial {
    uv_loop_t *loop;
    nanoseconds timeout;
    dial_done *done;
    void *context;
    uv_timer_t timer; /* of the lookup */
    uv_getaddrinfo_t lookup;
    int n_open; /* the timer and the lookup: they must be over before the dial is freed */
    bool is_looking, is_over;
    struct sockaddr_storage addresses[MAX_ADDRESSES];
    size_t n, next;
    struct stream *stream; /* the one being connected */
    struct tls_context *tls; /* or NULL */
    char *host;
};

static size_t n_looking;

/* ---- the end ---- */

static void dial_unref(struct dial *dial)
{
    if (--dial->n_open == 0) {
        tls_context_unref(dial->tls);
        free(dial->host);
        free(dial);
    }
}

static void on_timer_closed(uv_handle_t *handle)
{
    dial_unref(handle->data);
}

struct dial *dial_cancel(struct dial *dial)
{
    if (dial && !dial->is_over) {
        dial->is_over = true;
        stream_close(dial->stream);
        if (dial->is_looking) {
            uv_cancel((uv_req_t *)&dial->lookup);
        }
        uv_close((uv_handle_t *)&dial->timer, on_timer_closed);
    }
    return NULL;
}

static void dial_end(struct dial *dial, struct stream *stream, const char *why)
{
    dial_done *done = dial->done;
    void *context = dial->context;
    if (stream) {
        dial->stream = NULL; /* belongs to the caller now */
        stream_set_timer(stream, 0);
    }
    dial_cancel(dial);
    done(context, stream, why);
}

/* ---- connecting ---- */

static void dial_next(struct dial *dial);

static void on_connected(void *context)
{
    struct dial *dial = context;
    dial_end(dial, dial->stream, NULL);
}

static void on_broken(void *context, const char *why)
{
    struct dial *dial = context;
    dial->stream = stream_close(dial->stream);
    if (dial->next < dial->n) {
        dial_next(dial);
    } else {
        dial_end(dial, NULL, why);
    }
}

static void on_connect_timer(void *context)
{
    const struct dial *dial = context;
    char why[ONE_LINE_BYTES];
    format_one_line(why, sizeof why, "cannot connect: timed out%s", stream_why_late(dial->stream));
    on_broken(context, why);
}

static void on_early_reply(void *context, const struct resp *reply)
{
    (void)reply;
    on_broken(context, "cannot connect: the server sent data before any request");
}

static const struct stream_events connecting = {
    .on_connected = on_connected,
    .on_reply = on_early_reply,
    .on_timer = on_connect_timer,
    .on_broken = on_broken,
};

static void dial_next(struct dial *dial)
{
    const struct sockaddr_storage *address = &dial->addresses[dial->next++];
    dial->stream = stream_tcp(
        dial->loop, (const struct sockaddr *)address, dial->tls, dial->host, &connecting, dial);
    stream_set_timer(dial->stream, dial->timeout);
}

/* ---- looking up ---- */

static void dial_add(struct dial *dial, const struct sockaddr *address, size_t size)
{
    bool is_ip = address->sa_family == AF_INET || address->sa_family == AF_INET6;
    if (is_ip && dial->n < MAX_ADDRESSES && size <= sizeof dial->addresses[0]) {
        memcpy(&dial->addresses[dial->n++], address, size);
    }
}

/* 0, or the error: a unit without TCP has no name service either, which says less. */
static int try_tcp(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        return uv_translate_sys_error(errno);
    }
    close(fd);
    return 0;
}

static void on_found(uv_getaddrinfo_t *lookup, int status, struct addrinfo *found)
{
    struct dial *dial = lookup->data;
    dial->is_looking = false;
    n_looking--;
    for (const struct addrinfo *each = found; each; each = each->ai_next) {
        dial_add(dial, each->ai_addr, each->ai_addrlen);
    }
    uv_freeaddrinfo(found);
    if (!dial->is_over) {
        uv_timer_stop(&dial->timer);
        if (dial->n > 0) {
            dial_next(dial);
        } else {
            char why[ONE_LINE_BYTES];
            format_one_line(why, sizeof why, "cannot look the name up: %s%s", uv_strerror(status),
                stream_why_refused(try_tcp()));
            dial_end(dial, NULL, why);
        }
    }
    dial_unref(dial);
}

static void on_lookup_timer(uv_timer_t *timer)
{
    dial_end(timer->data, NULL, "cannot look the name up: timed out");
}

static void dial_look_up(struct dial *dial, const char *host, uint16_t port)
{
    char service[8];
    static const struct addrinfo hints = {
        .ai_socktype = SOCK_STREAM,
        .ai_flags = AI_NUMERICSERV,
    };
    snprintf(service, sizeof service, "%u", port);
    dial->lookup.data = dial;
    uv_timer_start(&dial->timer, on_lookup_timer, (uint64_t)(dial->timeout + 999999) / 1000000, 0);
    /* If the lookup cannot even begin, the timer says so. */
    if (uv_getaddrinfo(dial->loop, &dial->lookup, on_found, host, service, &hints) == 0) {
        dial->is_looking = true;
        dial->n_open++;
        n_looking++;
    }
}

size_t dial_n_looking(void)
{
    return n_looking;
}

/* ---- beginning ---- */

static struct dial *dial_new(uv_loop_t *loop, nanoseconds timeout, dial_done *done, void *context)
{
    struct dial *dial = memory_new(sizeof *dial);
    dial->loop = loop;
    dial->timeout = timeout;
    dial->done = done;
    dial->context = context;
    uv_timer_init(loop, &dial->timer);
    dial->timer.data = dial;
    dial->n_open = 1;
    return dial;
}

/* Numeric addresses need no thread of libuv's pool, and so never wait for one. */
static bool is_numeric(const char *host, uint16_t port, struct sockaddr_storage *address)
{
    memset(address, 0, sizeof *address);
    return uv_ip4_addr(host, port, (struct sockaddr_in *)address) == 0 ||
        uv_ip6_addr(host, port, (struct sockaddr_in6 *)address) == 0;
}

struct dial *dial_tcp(uv_loop_t *loop, const char *host, uint16_t port, struct tls_context *tls,
    nanoseconds timeout, dial_done *done, void *context)
{
    struct dial *dial = dial_new(loop, timeout, done, context);
    dial->tls = tls_context_ref(tls);
    dial->host = memory_string(host);
    if (is_numeric(host, port, &dial->addresses[0])) {
        dial->n = 1;
        dial_next(dial);
    } else {
        dial_look_up(dial, host, port);
    }
    return dial;
}

struct dial *dial_unix(
    uv_loop_t *loop, const char *path, nanoseconds timeout, dial_done *done, void *context)
{
    struct dial *dial = dial_new(loop, timeout, done, context);
    dial->stream = stream_unix(loop, path, &connecting, dial);
    stream_set_timer(dial->stream, timeout);
    return dial;
}
