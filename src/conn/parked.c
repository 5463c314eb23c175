#include "conn/parked.h"

#include "admission/server.h"
#include "base/memory.h"
#include "conn/conn.h"

#include <stdlib.h>

enum { PATIENCE_MS = 4000 };

struct parked {
    uv_timer_t timer;
    struct conn *conn;
    const struct parked_ops *ops;
    void *state;
    struct text events; /* events held back */
    char *line; /* to be carried out again; or NULL */
    uint64_t since; /* by the loop's clock, in ms; never 0 */
};

static bool is_parked(const struct conn *conn)
{
    return conn->state.answer == ANSWER_PARKED;
}

static void parked_on_closed(uv_handle_t *handle)
{
    struct parked *parked = container_of((uv_timer_t *)handle, struct parked, timer);
    text_deinit(&parked->events);
    free(parked->line);
    free(parked);
}

static void on_late(uv_timer_t *timer)
{
    struct conn *conn = container_of(timer, struct parked, timer)->conn;
    struct server *server = conn->server;
    conn->traffic->parked->ops->late(conn);
    loop_iteration_end(&server->turn);
}

void parked_begin(struct conn *conn, const struct parked_ops *ops, void *state)
{
    struct parked *parked = memory_new(sizeof *parked);
    *parked = (struct parked){.conn = conn, .ops = ops, .state = state};
    uv_timer_init(&conn->server->loop, &parked->timer);
    uint64_t now = uv_now(&conn->server->loop), gone_by;
    parked->since = conn_is_repeated(conn) ? conn->traffic->in.since : now + 1;
    gone_by = now + 1 - parked->since;
    uv_timer_start(&parked->timer, on_late, gone_by < PATIENCE_MS ? PATIENCE_MS - gone_by : 0, 0);
    conn_handle_event(conn, CONN_PARKED);
    conn->traffic->parked = parked;
}

void parked_hold_back(
    struct conn *conn, const char *line, const struct parked_ops *ops, void *state)
{
    parked_begin(conn, ops, state);
    conn->traffic->parked->line = memory_string(line);
}

void *parked_state(const struct conn *conn)
{
    return is_parked(conn) ? conn->traffic->parked->state : NULL;
}

bool parked_outlives_peer(const struct conn *conn)
{
    return is_parked(conn) && conn->traffic->parked->ops->outlives_peer;
}

struct text *parked_held_back(const struct conn *conn)
{
    bool is_held = is_parked(conn) && conn->traffic->parked->ops->holds_events;
    return is_held ? &conn->traffic->parked->events : NULL;
}

void parked_end(struct conn *conn)
{
    struct parked *parked = conn->traffic->parked;
    conn_handle_event(conn, CONN_ANSWERED);
    parked->ops->free(parked->state);
    text_add_bytes(conn_answers(conn), parked->events.bytes, parked->events.length);
    uv_close((uv_handle_t *)&parked->timer, parked_on_closed);
    conn_mark_dirty(conn);
}

void parked_again(struct conn *conn)
{
    struct parked *parked = conn->traffic->parked;
    conn_again(conn, parked->line, parked->since);
    parked->line = NULL;
    parked_end(conn);
}

void parked_close(struct conn *conn)
{
    if (is_parked(conn)) {
        parked_end(conn);
    }
}
