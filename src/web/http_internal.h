/* http_internal.h - what the files of http.h share. */
#pragma once

#include "web/http.h"
#include "web/http_room.h"

struct http {
    struct MHD_Daemon *daemon;
    struct http_settings settings;
    struct http_figures figures; /* .connections and .bytes_out are up to date in http_look() */
    uint64_t bytes_out;
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
    const char *origin; /* whose page may read the answer, or NULL; owned */
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

/* A connection goes on: libmicrohttpd hears of it in its next turn. */
void http_schedule_run(struct http *http);

/* Whether the request may be carried out; else it says why not, and has been answered. */
bool http_check(struct http_request *request, const char *method);
