#include "web/http.h"

#include "base/memory.h"
#include "log/log.h"
#include "web/http_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- a request ---- */

static enum MHD_Result send_answer(struct http_request *request)
{
    struct MHD_Response *response = request->response;
    enum MHD_Result result = MHD_queue_response(request->connection, request->status, response);
    request->response = NULL;
    MHD_destroy_response(response);
    return result;
}

/* libmicrohttpd calls it with the headers, again for the end of the (empty) body, and again when a
 * suspended connection goes on. An answer to the headers alone ends the connection afterwards: so
 * it does after a refusal. */
static enum MHD_Result on_request(void *context, struct MHD_Connection *connection,
    const char *path, const char *method, const char *version, const char *upload,
    size_t *upload_size, void **requestp)
{
    struct http *http = context;
    struct http_request *request = *requestp;
    (void)version, (void)upload;
    if (!request) {
        request = memory_new(sizeof *request);
        *request = (struct http_request){.http = http, .connection = connection};
        *requestp = request;
        http_room_set_state(&http->room, connection, HTTP_CONN_ASKS);
        return http_check(request, method) ? MHD_YES : send_answer(request);
    }
    if (*upload_size > 0) {
        return MHD_NO;
    }
    if (request->state == REQUEST_NEW && http->is_closing) {
        http_say(request, HTTP_UNAVAILABLE, "berth-web ends");
    } else if (request->state == REQUEST_NEW) {
        request->path = path;
        http->settings.take(http->settings.context, request);
    }
    if (request->state == REQUEST_ANSWERED) {
        return send_answer(request);
    }
    request->state = REQUEST_WAITS;
    http_room_set_state(&http->room, connection, HTTP_CONN_WAITS);
    MHD_suspend_connection(connection);
    return MHD_YES;
}

static void http_on_end(void *context, struct MHD_Connection *connection, void **requestp,
    enum MHD_RequestTerminationCode code)
{
    struct http *http = context;
    struct http_request *request = *requestp;
    (void)code;
    if (request) {
        http_room_set_state(&http->room, connection, HTTP_CONN_HEADERS);
        if (request->response) {
            MHD_destroy_response(request->response);
        }
        free((void *)(uintptr_t)request->origin);
        free(request);
        *requestp = NULL;
    }
}

void *http_context(const struct http_request *request)
{
    return request->http->settings.context;
}

const char *http_path(const struct http_request *request)
{
    return request->path;
}

const char *http_query(const struct http_request *request, const char *key)
{
    return MHD_lookup_connection_value(request->connection, MHD_GET_ARGUMENT_KIND, key);
}

/* ---- connections ---- */

static uint64_t n_connections(const struct http *http)
{
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    return info ? info->num_connections : 0;
}

static __attribute__((format(printf, 2, 0))) void on_message(
    void *context, const char *format, va_list arguments)
{
    char text[512];
    (void)context;
    vsnprintf(text, sizeof text, format, arguments);
    log_debug("libmicrohttpd: %s", text);
}

/* ---- the loop ---- */

static void turn(struct http *http);

static void http_on_timer(uv_timer_t *timer)
{
    turn(container_of(timer, struct http, timer));
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    (void)status, (void)events;
    turn(container_of(poll, struct http, poll));
}

/* What libmicrohttpd could do at once waits for a millisecond when it has had its turns: others
 * have theirs. */
static void turn(struct http *http)
{
    enum { TURNS = 8 };
    MHD_UNSIGNED_LONG_LONG wait = 0;
    bool waits = true;
    for (int i = 0; i < TURNS && waits && wait == 0; i++) {
        MHD_run(http->daemon);
        waits = MHD_get_timeout(http->daemon, &wait) == MHD_YES;
    }
    if (waits) {
        uv_timer_start(&http->timer, http_on_timer, wait > 0 ? wait : 1, 0);
    } else {
        uv_timer_stop(&http->timer);
    }
}

void http_schedule_run(struct http *http)
{
    uv_timer_start(&http->timer, http_on_timer, 0, 0);
}

static bool start(struct http *http, uv_loop_t *loop, int fd)
{
    http->daemon = MHD_start_daemon(MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0,
        NULL, NULL, on_request, http, MHD_OPTION_EXTERNAL_LOGGER, on_message, NULL,
        MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT, (unsigned)HTTP_CONNECTIONS,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)HTTP_IDLE_SECONDS,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)HTTP_REQUEST_BYTES, MHD_OPTION_NOTIFY_COMPLETED,
        http_on_end, http, MHD_OPTION_NOTIFY_CONNECTION, http_room_on_connection, &http->room,
        MHD_OPTION_URI_LOG_CALLBACK, http_room_on_uri, &http->room, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_SIGPIPE_HANDLED_BY_APP, 1, MHD_OPTION_END);
    const union MHD_DaemonInfo *info =
        http->daemon ? MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_EPOLL_FD) : NULL;
    return info && uv_poll_init(loop, &http->poll, info->epoll_fd) == 0;
}

struct http *http_open(uv_loop_t *loop, int fd, const struct http_settings *settings)
{
    struct http *http = memory_new(sizeof *http);
    http->settings = *settings;
    if (!start(http, loop, fd)) {
        log_error("libmicrohttpd cannot serve the socket");
        if (http->daemon) {
            MHD_stop_daemon(http->daemon);
        } else {
            close(fd);
        }
        free(http);
        return NULL;
    }
    uv_timer_init(loop, &http->timer);
    http_room_init(&http->room, loop);
    http->n_open = 3;
    uv_poll_start(&http->poll, UV_READABLE, on_poll);
    turn(http);
    return http;
}

static void http_on_closed(uv_handle_t *handle)
{
    struct http *http = handle->data;
    if (--http->n_open == 0) {
        free(http);
    }
}

void http_close(struct http *http)
{
    uv_poll_stop(&http->poll);
    http->is_closing = true;
    turn(http); /* what has just been answered is sent, as far as it can be */
    MHD_stop_daemon(http->daemon);
    http->poll.data = http->timer.data = http->room.late.data = http;
    uv_close((uv_handle_t *)&http->poll, http_on_closed);
    uv_close((uv_handle_t *)&http->timer, http_on_closed);
    uv_close((uv_handle_t *)&http->room.late, http_on_closed);
}

void http_look(const struct http *http, struct http_figures *figures)
{
    *figures = http->figures;
    figures->connections = n_connections(http);
    figures->bytes_out = http->bytes_out;
}
