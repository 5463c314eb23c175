#include "web/http.h"

#include "base/memory.h"
#include "log/log.h"
#include "web/http_room.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

struct http {
    struct MHD_Daemon *daemon;
    struct http_settings settings;
    struct http_figures figures; /* .connections is up to date in http_look() */
    uv_poll_t poll; /* of the daemon's epoll descriptor */
    uv_timer_t timer;
    struct http_room room;
    unsigned n_open; /* handles that are not closed yet */
    bool is_closing; /* the routes are gone: no request reaches them */
};

struct http_request {
    struct http *http;
    struct MHD_Connection *connection;
    const char *path; /* until it is answered */
    enum {
        REQUEST_NEW,
        REQUEST_WAITS, /* suspended, until it is answered */
        REQUEST_ANSWERED,
    } state;
    unsigned status;
    struct MHD_Response *response; /* of one that was answered later */
};

struct http_bytes {
    struct http *http;
    unsigned references;
    const char *bytes;
    size_t length;
    char *owned; /* the same, or NULL */
};

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

/* A connection goes on: libmicrohttpd hears of it in its next turn. */
static void schedule_run(struct http *http)
{
    uv_timer_start(&http->timer, http_on_timer, 0, 0);
}

/* ---- bytes ---- */

static struct http_bytes *bytes_new(
    struct http *http, const char *bytes, size_t length, char *owned)
{
    struct http_bytes *all = memory_new(sizeof *all);
    *all = (struct http_bytes){
        .http = http, .references = 1, .bytes = bytes, .length = length, .owned = owned};
    http->figures.bytes_out += owned ? length : 0;
    return all;
}

struct http_bytes *http_bytes_of(struct http *http, struct text *text)
{
    size_t length = text->length;
    char *bytes = text_take(text);
    return bytes_new(http, bytes, length, bytes);
}

struct http_bytes *http_bytes_static(struct http *http, const char *bytes, size_t length)
{
    return bytes_new(http, bytes, length, NULL);
}

static struct http_bytes *http_bytes_keep(struct http_bytes *bytes)
{
    bytes->references++;
    return bytes;
}

void http_bytes_drop(struct http_bytes *bytes)
{
    if (bytes && --bytes->references == 0) {
        bytes->http->figures.bytes_out -= bytes->owned ? bytes->length : 0;
        free(bytes->owned);
        free(bytes);
    }
}

static void on_sent(void *bytes)
{
    http_bytes_drop(bytes);
}

/* ---- an answer ---- */

static const char *const common_headers[][2] = {
    {"Cache-Control", "no-store"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    {"Cross-Origin-Opener-Policy", "same-origin"},
};

static const char no_page[] =
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static struct MHD_Response *response_new(
    unsigned status, const char *type, struct http_bytes *bytes, const char *policy)
{
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
        bytes->length, (void *)(uintptr_t)bytes->bytes, on_sent, http_bytes_keep(bytes));
    if (!response) {
        abort(); /* there is no memory */
    }
    for (size_t i = 0; i < sizeof common_headers / sizeof common_headers[0]; i++) {
        MHD_add_response_header(response, common_headers[i][0], common_headers[i][1]);
    }
    MHD_add_response_header(response, "Content-Type", type);
    MHD_add_response_header(response, "Content-Security-Policy", policy ? policy : no_page);
    if (status == HTTP_METHOD_NOT_ALLOWED) {
        MHD_add_response_header(response, "Allow", "GET, HEAD");
    }
    return response;
}

static void give(struct http_request *request, unsigned status, struct MHD_Response *response)
{
    struct http *http = request->http;
    http->figures.answered[status / 100 % 6]++;
    request->status = status;
    request->response = response;
    bool was_waiting = request->state == REQUEST_WAITS;
    request->state = REQUEST_ANSWERED;
    if (was_waiting) {
        http_room_set_state(&http->room, request->connection, HTTP_CONN_ASKS);
        MHD_resume_connection(request->connection);
        schedule_run(http);
    }
}

void http_answer(struct http_request *request, enum http_status status, const char *type,
    struct http_bytes *bytes, const char *policy)
{
    if (request->http->figures.bytes_out > HTTP_BYTES_OUT && bytes->owned && status == HTTP_OK) {
        http_say(request, HTTP_UNAVAILABLE, "too much waits to be read: try again later");
        return;
    }
    give(request, status, response_new(status, type, bytes, policy));
}

void http_say(struct http_request *request, enum http_status status, const char *line)
{
    struct text text = TEXT_INIT;
    text_add(&text, line);
    text_add(&text, "\n");
    struct http_bytes *bytes = http_bytes_of(request->http, &text);
    give(request, status, response_new(status, HTTP_TEXT, bytes, NULL));
    http_bytes_drop(bytes);
}

/* ---- what is asked, and by whom ---- */

static const char *header(struct http_request *request, const char *name)
{
    return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

static bool refuse(struct http_request *request, enum http_status status, const char *why)
{
    http_say(request, status, why);
    return false;
}

struct header_names {
    bool are_tokens;
    unsigned n_hosts, n_lengths;
};

/* A name that is no token, such as "Content-Length ", would escape the checks below while a proxy
 * may take it for the header that it resembles. */
static enum MHD_Result look_at_name(
    void *context, enum MHD_ValueKind kind, const char *name, const char *value)
{
    static const char token[] = "!#$%&'*+-.^_`|~0123456789"
                                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    struct header_names *names = context;
    (void)kind, (void)value;
    names->are_tokens &= name[0] != '\0' && name[strspn(name, token)] == '\0';
    names->n_hosts += strcasecmp(name, "Host") == 0;
    names->n_lengths += strcasecmp(name, "Content-Length") == 0;
    return MHD_YES;
}

static bool has_body(struct http_request *request, unsigned n_lengths)
{
    const char *length = header(request, "Content-Length");
    return header(request, "Transfer-Encoding") || (length && strcmp(length, "0") != 0) ||
        n_lengths > 1; /* which one counts? a proxy may differ */
}

static bool check_origin(struct http_request *request, const char *host)
{
    const char *origin = header(request, "Origin");
    return !origin || origin_is_own(origin, host) ||
        refuse(request, HTTP_FORBIDDEN, "a page of another site asks");
}

/* Whether the request may be carried out; else it says why not, and has been answered. */
static bool http_check(struct http_request *request, const char *method)
{
    const char *host = header(request, "Host");
    struct header_names names = {.are_tokens = true};
    MHD_get_connection_values(request->connection, MHD_HEADER_KIND, look_at_name, &names);
    if (!names.are_tokens) {
        return refuse(request, HTTP_BAD_REQUEST, "a header name must be a token");
    }
    if (!host || names.n_hosts != 1) {
        return refuse(request, HTTP_BAD_REQUEST, "a request has one header Host");
    }
    if (!host_is_known(host, request->http->settings.hosts)) {
        return refuse(request, HTTP_MISDIRECTED,
            "the header Host names neither loopback nor one of `hosts` in the file of berth-web");
    }
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        return refuse(request, HTTP_METHOD_NOT_ALLOWED, "only GET and HEAD");
    }
    if (has_body(request, names.n_lengths)) {
        return refuse(request, HTTP_CONTENT_TOO_LARGE, "a request has no body");
    }
    return check_origin(request, host);
}

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

static __attribute__((format(printf, 2, 0))) void on_message(
    void *context, const char *format, va_list arguments)
{
    char text[512];
    (void)context;
    vsnprintf(text, sizeof text, format, arguments);
    log_debug("libmicrohttpd: %s", text);
}

/* ---- life ---- */

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
    const union MHD_DaemonInfo *info =
        MHD_get_daemon_info(http->daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS);
    *figures = http->figures;
    figures->connections = info ? info->num_connections : 0;
}
