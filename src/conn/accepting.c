#include "conn/accepting.h"

#include "admission/server.h"
#include "base/clock.h"
#include "base/memory.h"
#include "conn/conn.h"
#include "log/log.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

enum {
    ACCEPT_AGAIN_MS = 100,
    MAX_ACCEPTS = 16, /* in one turn of the loop */
    REFUSE_AGAIN_MS = 1,
    REFUSING_FACTOR = 3,
};

#define REFUSING_BURST (NANOSECONDS_PER_SECOND / 50)

static void on_connection(uv_poll_t *poll, int status, int events);

static void start_accepting(struct accepting *accepting)
{
    uv_poll_start(&accepting->poll, UV_READABLE, on_connection);
}

static void on_accept_timer(uv_timer_t *timer)
{
    start_accepting(container_of(timer, struct accepting, timer));
}

static void stop_accepting(struct accepting *accepting, unsigned for_ms)
{
    uv_poll_stop(&accepting->poll);
    uv_timer_start(&accepting->timer, on_accept_timer, for_ms, 0);
}

/* Refusing takes little time, but clients can make us refuse without end: at most one part in
 * REFUSING_FACTOR of any second goes into it. */
static bool refuses_too_much(struct accepting *accepting, nanoseconds began)
{
    nanoseconds now = clock_now();
    nanoseconds from = accepting->refused_until > now ? accepting->refused_until : now;
    accepting->refused_until = from + (now - began) * REFUSING_FACTOR;
    return accepting->refused_until > now + REFUSING_BURST;
}

static bool accept_next(struct accepting *accepting)
{
    nanoseconds began = clock_now();
    int fd = accept4(accepting->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
        bool is_enough = !conn_accept(accepting->server, fd) && refuses_too_much(accepting, began);
        if (is_enough) {
            stop_accepting(accepting, REFUSE_AGAIN_MS);
        }
        return !is_enough;
    }
    if (errno == EINTR || errno == ECONNABORTED) {
        return true;
    }
    if (errno != EAGAIN) {
        log_ratelimited("cannot accept a connection: %s", strerror(errno));
        stop_accepting(accepting, ACCEPT_AGAIN_MS);
    }
    return false;
}

/* Not by uv_listen(): its loop would keep us for as long as clients connect without end, and for
 * ever when there are no descriptors. Connections left over wait for the next turn. */
static void on_accept_check(uv_check_t *check)
{
    struct accepting *accepting = container_of(check, struct accepting, check);
    struct server *server = accepting->server;
    uv_check_stop(check);
    if (server->turn.stopping) {
        return; /* a signal came in the same turn */
    }
    scheduler_begin_work(&server->scheduler, NULL);
    for (int n = 1; accept_next(accepting) && n < MAX_ACCEPTS; n++) {
    }
    loop_iteration_end(&server->turn);
}

/* First everything else of this turn: a client that closes a connection and makes another finds the
 * place free. */
static void on_connection(uv_poll_t *poll, int status, int events)
{
    struct accepting *accepting = container_of(poll, struct accepting, poll);
    (void)status, (void)events;
    uv_check_start(&accepting->check, on_accept_check);
}

void accepting_init(struct accepting *accepting, struct server *server)
{
    *accepting = (struct accepting){.server = server, .fd = -1};
    uv_check_init(&server->loop, &accepting->check);
    uv_timer_init(&server->loop, &accepting->timer);
}

void accepting_begin(struct accepting *accepting, int fd)
{
    accepting->fd = fd;
    uv_poll_init(&accepting->server->loop, &accepting->poll, fd);
    start_accepting(accepting);
}

void accepting_end(struct accepting *accepting)
{
    if (accepting->fd >= 0) {
        uv_close((uv_handle_t *)&accepting->poll, NULL);
        accepting->fd = -1;
    }
}
