#include "base/memory.h"
#include "web/http_internal.h"

#include <stdlib.h>

/* ---- bytes ---- */

static struct http_bytes *bytes_new(
    struct http *http, const char *bytes, size_t length, char *owned)
{
    struct http_bytes *all = memory_new(sizeof *all);
    *all = (struct http_bytes){
        .http = http, .references = 1, .bytes = bytes, .length = length, .owned = owned};
    http->bytes_out += owned ? length : 0;
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
        bytes->http->bytes_out -= bytes->owned ? bytes->length : 0;
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

static struct MHD_Response *response_new(const struct http_request *request, unsigned status,
    const char *type, struct http_bytes *bytes, const char *policy)
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
    if (request->http->settings.origins->n > 0) {
        MHD_add_response_header(response, "Vary", "Origin");
    }
    if (request->origin) {
        MHD_add_response_header(response, "Access-Control-Allow-Origin", request->origin);
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
        http_schedule_run(http);
    }
}

void http_answer(struct http_request *request, enum http_status status, const char *type,
    struct http_bytes *bytes, const char *policy)
{
    if (request->http->bytes_out > HTTP_BYTES_OUT && bytes->owned && status == HTTP_OK) {
        http_say(request, HTTP_UNAVAILABLE, "too much waits to be read: try again later");
        return;
    }
    give(request, status, response_new(request, status, type, bytes, policy));
}

void http_say(struct http_request *request, enum http_status status, const char *line)
{
    struct text text = TEXT_INIT;
    text_add(&text, line);
    text_add(&text, "\n");
    struct http_bytes *bytes = http_bytes_of(request->http, &text);
    give(request, status, response_new(request, status, HTTP_TEXT, bytes, NULL));
    http_bytes_drop(bytes);
}
