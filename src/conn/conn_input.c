/* conn_input.c - the way into a connection: bytes become lines, which are carried out while the
 * connection may go on. Writes traffic.in. */
#include "admission/server.h"
#include "conn/conn.h"
#include "status/answer_lines.h"
#include "wire/protocol.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>

enum {
    LINES_PER_CHECK = 16, /* how often a connection checks whether the turn has become long */
    CALLED_BYTES = 4096, /* read at once from a connection that was called from its fair queue */
};

/* ---- bytes ---- */

/* Lends `n` bytes that have come, until conn_keep_input(). If only one connection were closed for
 * want of memory, its leases would end with it. */
static void conn_feed(struct conn *conn, char *bytes, size_t n)
{
    if (!linebuf_feed(&conn_traffic(conn)->in.lines, bytes, n)) {
        abort();
    }
}

/* Keeps what is left of them until more comes. */
static void conn_keep_input(struct conn *conn)
{
    if (!linebuf_keep(&conn->traffic->in.lines)) {
        abort();
    }
}

/* ---- lines ---- */

bool conn_is_too_fast(const struct conn *conn)
{
    return conn->state.pace != PACE_CALLED &&
        scheduler_must_wait(&conn->server->scheduler, conn->member.fair_user);
}

void conn_again(struct conn *conn, char *line, uint64_t since)
{
    assert(!conn->traffic->in.again);
    conn->traffic->in.again = line;
    conn->traffic->in.since = since;
}

bool conn_is_repeated(const struct conn *conn)
{
    return conn->traffic->in.since != 0;
}

/* The beginning of a line does not count. */
static bool conn_has_line(const struct conn *conn)
{
    const struct traffic *traffic = conn->traffic;
    return traffic && (traffic->in.again || linebuf_has_line(&traffic->in.lines));
}

/* A line that is skipped because nobody hears its answer is no act. */
static void conn_run_line(struct conn *conn, char *line, size_t length)
{
    if (conn->server->run_line(conn, line, length)) {
        conn_handle_pace_event(conn, CONN_HAS_ACTED);
    }
}

/* False: no line was held back. */
static bool conn_carry_out_again(struct conn *conn)
{
    char *line = conn->traffic->in.again;
    if (line) {
        conn->traffic->in.again = NULL;
        conn_run_line(conn, line, strlen(line));
        free(line);
    }
    return line;
}

static bool conn_carry_out_next(struct conn *conn)
{
    char *line;
    size_t length;
    enum line_result result = linebuf_next(&conn->traffic->in.lines, &line, &length);
    if (result == LINE_MORE) {
        return false;
    }
    conn->traffic->in.since = 0;
    if (result == LINE_OK) {
        conn_run_line(conn, line, length);
    } else {
        conn_handle_pace_event(conn, CONN_HAS_ACTED);
        scheduler_charge_request(&conn->server->scheduler, conn->member.fair_user);
        answer_error(conn_answers(conn), CODE_TOO_LONG, NULL);
        conn->server->counts.refusals[CODE_TOO_LONG]++;
    }
    return true;
}

/* The next line, one thing of a turn. False: there is no whole line. */
static bool conn_carry_out_one(struct conn *conn)
{
    if (!conn_carry_out_again(conn) && !conn_carry_out_next(conn)) {
        return false;
    }
    apply_effects(&conn->server->turn);
    return true;
}

/* Those of the bytes that were lent, too. */
static void conn_take_fed_lines(struct conn *conn)
{
    struct scheduler *scheduler = &conn->server->scheduler;
    bool may_have_acted = conn->state.pace == PACE_SPENT;
    bool has_more = conn_unread_bytes(conn) > 0;
    conn_handle_pace_event(conn, CONN_HAS_LOOKED);
    for (unsigned n = 1; has_more && conn_state_may_take_line(conn->state, conn_load(conn)); n++) {
        bool has_acted = may_have_acted || n == 2 || n % LINES_PER_CHECK == 0;
        if ((has_acted && scheduler_is_long(scheduler)) || conn_is_too_fast(conn)) {
            conn_put_off(conn);
            return;
        }
        has_more = conn_carry_out_one(conn) && conn_unread_bytes(conn) > 0;
    }
}

void conn_take_lines(struct conn *conn)
{
    if (conn_unread_bytes(conn) > 0) {
        conn_take_fed_lines(conn);
        conn_keep_input(conn);
    }
}

/* ---- reading ---- */

/* Whether the line that was held back, and each line behind it, is carried out although the peer
 * has gone. */
static bool conn_must_stay(const struct conn *conn)
{
    return conn_has_line(conn) || parked_outlives_peer(conn);
}

/* `n`: as recv() returns it. */
static void conn_hear(struct conn *conn, char *bytes, ssize_t n)
{
    if (n > 0) {
        conn_feed(conn, bytes, (size_t)n);
        conn_take_fed_lines(conn);
        conn_keep_input(conn);
        if (conn->state.answer == ANSWER_PARKED) {
            conn_mark_dirty(conn); /* lines wait, perhaps enough */
        }
    } else if (n == 0 && conn_unread_bytes(conn) == 0 && conn_load(conn).unsent == 0 &&
        conn->state.answer == ANSWER_NONE) {
        conn_close(conn);
    } else if (n == 0) {
        conn_end_input(conn);
    } else if (conn_must_stay(conn)) {
        conn_handle_event(conn, CONN_WRITE_FAILED);
        conn_end_input(conn);
    } else {
        conn_close(conn);
    }
}

/* One buffer serves all connections: lines are taken from it before the next read. */
bool conn_read(struct conn *conn)
{
    static char shared[64 * 1024];
    bool is_called = conn->state.pace == PACE_CALLED;
    if (!scheduler_begin_work(&conn->server->scheduler, conn->member.fair_user) && !is_called) {
        conn_put_off(conn);
        return false;
    }
    ssize_t n = recv(conn->fd, shared, is_called ? CALLED_BYTES : sizeof shared, MSG_DONTWAIT);
    bool has_come = n >= 0 || (errno != EAGAIN && errno != EINTR);
    if (has_come) {
        conn_hear(conn, shared, n);
    }
    conn_handle_pace_event(conn, CONN_HAS_ACTED);
    return has_come;
}

/* ---- when sending has failed ---- */

static void conn_take_unanswered(struct conn *conn)
{
    while (!conn_is_closed(conn) && conn_has_line(conn)) {
        conn_drop_output(conn);
        if (!conn_state_may_take_line(conn->state, conn_load(conn))) {
            return;
        }
        conn_take_fed_lines(conn);
        if (conn_has_line(conn) && conn->state.answer == ANSWER_LONG &&
            scheduler_is_long(&conn->server->scheduler)) {
            conn_put_off(conn);
        }
    }
}

/* Lines that it sent before it went: perhaps a `cancel` of what it was just granted. */
static void conn_read_last(struct conn *conn)
{
    enum { MAX_READS = 16 };
    static char bytes[4096];
    ssize_t n = 1;
    for (int i = 0; i < MAX_READS && n > 0 && !conn_is_closed(conn); i++) {
        n = recv(conn->fd, bytes, sizeof bytes, MSG_DONTWAIT);
        if (n > 0) {
            conn_feed(conn, bytes, (size_t)n);
            conn_take_unanswered(conn);
            conn_keep_input(conn);
        }
    }
}

bool conn_take_last_lines(struct conn *conn)
{
    conn_take_unanswered(conn);
    if (!conn_must_stay(conn) &&
        !scheduler_must_wait(&conn->server->scheduler, conn->member.fair_user)) {
        conn_read_last(conn);
    }
    return !conn_must_stay(conn);
}
