#include "daemon/parked.h"

#include "core/memory.h"
#include "daemon/fleet.h"
#include "daemon/server.h"

#include <assert.h>
#include <stdlib.h>

enum { PATIENCE_MS = 4000 };

struct parked {
    uv_timer_t timer;
    struct conn *conn;
    const struct parked_ops *ops;
    void *state;
};

static void on_closed(uv_handle_t *handle)
{
    free(container_of((uv_timer_t *)handle, struct parked, timer));
}

static void on_late(uv_timer_t *timer)
{
    struct conn *conn = container_of(timer, struct parked, timer)->conn;
    struct server *server = conn->server;
    fleet_forget(server, conn);
    conn->parked->ops->late(conn);
    server_end_turn(server);
}

void parked_begin(struct conn *conn, const struct parked_ops *ops, void *state)
{
    assert(!conn->parked);
    struct parked *parked = memory_new(sizeof *parked);
    *parked = (struct parked){.conn = conn, .ops = ops, .state = state};
    uv_timer_init(&conn->server->loop, &parked->timer);
    uv_timer_start(&parked->timer, on_late, PATIENCE_MS, 0);
    conn->parked = parked;
}

void *parked_state(const struct conn *conn)
{
    return conn->parked ? conn->parked->state : NULL;
}

void parked_end(struct conn *conn)
{
    struct parked *parked = conn->parked;
    conn->parked = NULL;
    conn->was_parked = true;
    parked->ops->free(conn, parked->state);
    uv_close((uv_handle_t *)&parked->timer, on_closed);
    conn_mark_dirty(conn);
}

void parked_close(struct conn *conn)
{
    if (conn->parked) {
        fleet_forget(conn->server, conn);
        parked_end(conn);
    }
}
