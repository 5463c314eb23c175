#include "web/http_room.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/time.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>

enum {
    CROWDED = 800, /* of more connections, or of half as many of one user, the oldest goes */
    HEADERS_SECONDS = 10, /* until the headers of a connection's next request are complete */
    URI_BYTES = 2048,
    QUERY_KEYS = 16,
};

/* uid of a TCP client: the kernel does not say. */
#define NO_UID ((uid_t)-1)

struct http_conn {
    int fd; /* of libmicrohttpd */
    uid_t uid; /* who has connected to a Unix socket, else NO_UID */
    nanoseconds since; /* it connected, or its last request ended */
    enum http_conn_state state;
    bool is_shut; /* libmicrohttpd will hear of it */
    TAILQ_ENTRY(http_conn) entry;
};

static int fd_of(struct MHD_Connection *connection)
{
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

static struct http_conn *conn_of(struct MHD_Connection *connection)
{
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)->socket_context;
}

static uid_t peer_uid(int fd)
{
    struct ucred peer = {.uid = NO_UID};
    socklen_t size = sizeof peer;
    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size);
    return peer.uid;
}

static void shut(struct http_conn *conn)
{
    conn->is_shut = true;
    shutdown(conn->fd, SHUT_RDWR);
}

/* ---- headers that never end ---- */

static void on_late(uv_timer_t *timer);

static void http_room_set_timer(struct http_room *room, nanoseconds now)
{
    const struct http_conn *conn;
    TAILQ_FOREACH (conn, &room->conns, entry) {
        if (conn->state == HTTP_CONN_HEADERS && !conn->is_shut) {
            nanoseconds due = conn->since + HEADERS_SECONDS * NANOSECONDS_PER_SECOND;
            uv_timer_start(&room->late, on_late, milliseconds(due > now ? due - now : 0) + 1, 0);
            return;
        }
    }
}

static void on_late(uv_timer_t *timer)
{
    struct http_room *room = container_of(timer, struct http_room, late);
    const nanoseconds now = clock_now();
    struct http_conn *conn;
    TAILQ_FOREACH (conn, &room->conns, entry) {
        if (now - conn->since < HEADERS_SECONDS * NANOSECONDS_PER_SECOND) {
            break;
        }
        if (conn->state == HTTP_CONN_HEADERS && !conn->is_shut) {
            shut(conn);
        }
    }
    http_room_set_timer(room, now);
}

static void enqueue(struct http_room *room, struct http_conn *conn)
{
    conn->since = clock_now();
    TAILQ_INSERT_TAIL(&room->conns, conn, entry);
    if (!uv_is_active((uv_handle_t *)&room->late)) {
        http_room_set_timer(room, conn->since);
    }
}

/* ---- too many ---- */

/* The oldest one of this user goes (NO_UID: of anybody), if they are more than `most`. */
static void http_room_make_room(struct http_room *room, uid_t uid, unsigned most)
{
    struct http_conn *conn, *oldest = NULL;
    unsigned n = 0;
    TAILQ_FOREACH (conn, &room->conns, entry) {
        if (!conn->is_shut && (uid == NO_UID || conn->uid == uid)) {
            n++;
            oldest = oldest || conn->state == HTTP_CONN_WAITS ? oldest : conn;
        }
    }
    if (n > most && oldest) {
        shut(oldest);
    }
}

void http_room_on_connection(void *context, struct MHD_Connection *connection, void **connp,
    enum MHD_ConnectionNotificationCode code)
{
    struct http_room *room = context;
    struct http_conn *conn = *connp;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
        TAILQ_REMOVE(&room->conns, conn, entry);
        free(conn);
        return;
    }
    *connp = conn = memory_new(sizeof *conn);
    int fd = fd_of(connection);
    *conn = (struct http_conn){.fd = fd, .uid = peer_uid(fd)};
    enqueue(room, conn);
    if (conn->uid != NO_UID) {
        http_room_make_room(room, conn->uid, CROWDED / 2);
    }
    http_room_make_room(room, NO_UID, CROWDED);
}

/* ---- requests ---- */

void http_room_set_state(
    struct http_room *room, struct MHD_Connection *connection, enum http_conn_state state)
{
    struct http_conn *conn = conn_of(connection);
    conn->state = state;
    if (state == HTTP_CONN_HEADERS) {
        TAILQ_REMOVE(&room->conns, conn, entry);
        enqueue(room, conn);
    }
}

/* With its memory used up by the keys of a query, libmicrohttpd 0.9.75 sends nothing at all. */
void *http_room_on_uri(void *context, const char *uri, struct MHD_Connection *connection)
{
    static const char refusal[] = "HTTP/1.1 414 URI Too Long\r\nConnection: close\r\n"
                                  "Content-Length: 0\r\n\r\n";
    size_t n_keys = 0;
    (void)context;
    for (const char *key = uri; (key = strchr(key, '&')); key++) {
        n_keys++;
    }
    if (n_keys >= QUERY_KEYS || strlen(uri) > URI_BYTES) {
        struct http_conn *conn = conn_of(connection);
        send(conn->fd, refusal, sizeof refusal - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
        shut(conn);
    }
    return NULL;
}

/* ---- the room ---- */

void http_room_init(struct http_room *room, uv_loop_t *loop)
{
    TAILQ_INIT(&room->conns);
    uv_timer_init(loop, &room->late);
}
