/* http_room.h - room for connections: a client that never finishes a request keeps nobody else out.
 *
 * All connections stand in one queue, ordered by when they last came or ended a request. In a
 * crowd the first of them goes; one that waits for its route stays, as its route has a time limit.
 * Headers have a deadline. libmicrohttpd has no call that closes a connection: shutdown(2) makes
 * it do so. */
#pragma once

#include <microhttpd.h>
#include <sys/queue.h>
#include <uv.h>

struct http_room {
    TAILQ_HEAD(http_conns, http_conn) conns; /* the one that ended a request longest ago first */
    uv_timer_t late; /* for the first of them whose headers are awaited */
};

enum http_conn_state {
    HTTP_CONN_HEADERS, /* of its next request are awaited */
    HTTP_CONN_ASKS,
    HTTP_CONN_WAITS, /* suspended, until its route answers */
};

/* Whoever closes .late does so after libmicrohttpd has stopped. */
void http_room_init(struct http_room *room, uv_loop_t *loop);
void http_room_set_state(
    struct http_room *room, struct MHD_Connection *connection, enum http_conn_state state);

/* Callbacks of libmicrohttpd; `room` is a struct http_room. */
void http_room_on_connection(void *room, struct MHD_Connection *connection, void **connp,
    enum MHD_ConnectionNotificationCode code);
void *http_room_on_uri(void *room, const char *uri, struct MHD_Connection *connection);
