/* http.h - HTTP on one listening socket, by libmicrohttpd, on the loop: bounded connections and
 * answers, a time limit, and the same headers on each answer. What a request is answered is its
 * route's business (routes.c).
 *
 * Only GET and HEAD; no bodies. A request whose header Host or Origin names somebody else is
 * refused before its route hears of it. */
#pragma once

#include "base/text.h"
#include "web/host_allowlist.h"

#include <stdint.h>
#include <uv.h>

enum {
    HTTP_CONNECTIONS = 1200, /* further ones wait until some are closed */
    HTTP_IDLE_SECONDS = 60, /* at most between two pieces of an answer that are read */
    HTTP_REQUEST_BYTES = 16384, /* of a request's line and headers */
    HTTP_BYTES_OUT = 128 << 20, /* of answers that have not been read; then there are no new ones */
};

enum http_status {
    HTTP_OK = 200,
    HTTP_BAD_REQUEST = 400,
    HTTP_FORBIDDEN = 403,
    HTTP_NOT_FOUND = 404,
    HTTP_METHOD_NOT_ALLOWED = 405,
    HTTP_CONTENT_TOO_LARGE = 413,
    HTTP_MISDIRECTED = 421,
    HTTP_UNAVAILABLE = 503,
};

#define HTTP_TEXT "text/plain; charset=utf-8"
#define HTTP_JSON "application/json"
#define HTTP_HTML "text/html; charset=utf-8"

struct http;
struct http_request;

/* Bytes of answers, which several may share. */
struct http_bytes;

struct http_settings {
    const struct name_list *hosts;
    /* Answers the request at once, or keeps it and answers it later. */
    void (*take)(void *context, struct http_request *request);
    void *context;
};

struct http_figures {
    uint64_t connections, bytes_out; /* now */
    uint64_t answered[6]; /* since the start, by the first digit of the status */
};

/* Takes over the listening descriptor. Settings outlive it. NULL (logged): it cannot serve. */
struct http *http_open(uv_loop_t *loop, int fd, const struct http_settings *settings);
/* All requests have been answered before. The loop must run once more for its handles. */
void http_close(struct http *http);
void http_look(const struct http *http, struct http_figures *figures);

void *http_context(const struct http_request *request); /* of the settings */
const char *http_path(const struct http_request *request);
/* A key of the query, decoded; NULL: it is not there. Good until the answer. */
const char *http_query(const struct http_request *request, const char *key);

/* Answers it; the request must not be used any more. `type` is a literal. `policy`: the header
 * Content-Security-Policy, NULL: that of what is no page. */
void http_answer(struct http_request *request, enum http_status status, const char *type,
    struct http_bytes *bytes, const char *policy);
/* A line of text. */
void http_say(struct http_request *request, enum http_status status, const char *line);

/* Takes the text over. Whoever has made or kept it drops it, before http_close(). */
struct http_bytes *http_bytes_of(struct http *http, struct text *text);
struct http_bytes *http_bytes_static(struct http *http, const char *bytes, size_t length);
void http_bytes_drop(struct http_bytes *bytes); /* NULL is nothing */
