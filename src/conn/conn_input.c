#include "conn/conn_input.h"

#include "admission/server.h"
#include "base/memory.h"
#include "record/counting.h"
#include "status/answer_lines.h"
#include "wire/protocol.h"

#include <assert.h>
#include <stdlib.h>

enum { LINES_PER_CHECK = 16 }; /* how often a connection checks whether the turn has become long */

/* ---- what is under way ---- */

/* A connection takes what the one before has left: as a rule memory for one is enough for all. */
struct traffic *conn_begin_traffic(struct conn *conn)
{
    struct server *server = conn->server;
    conn->traffic = server->spare ? server->spare : memory_new(sizeof *conn->traffic);
    server->spare = NULL;
    return conn->traffic;
}

void traffic_free(struct traffic *traffic)
{
    if (traffic) {
        linebuf_deinit(&traffic->input);
        text_deinit(&traffic->output);
        free(traffic->again);
        free(traffic);
    }
}

static bool is_under_way(const struct conn *conn)
{
    const struct traffic *traffic = conn->traffic;
    return conn_unread(conn) > 0 || traffic->input.skipping || traffic->output.length > 0 ||
        conn->state.answer != ANSWER_NONE;
}

void conn_end_traffic(struct conn *conn)
{
    enum { MAX_SPARE = 4096 };
    struct server *server = conn->server;
    struct traffic *traffic = conn->traffic;
    if (!traffic) {
        return;
    }
    if (traffic->output.length == 0 && traffic->output.size > MAX_SPARE) {
        text_deinit(&traffic->output); /* half a line keeps no long answer's memory */
    }
    if (is_under_way(conn)) {
        return;
    }
    conn->traffic = NULL;
    if (server->spare) {
        traffic_free(traffic);
    } else {
        server->spare = traffic;
    }
}

/* ---- bytes ---- */

/* If only one connection were closed for want of memory, its leases would end with it. */
void conn_feed(struct conn *conn, char *bytes, size_t n)
{
    if (!linebuf_feed(&conn_traffic(conn)->input, bytes, n)) {
        abort();
    }
}

void conn_keep_input(struct conn *conn)
{
    if (!linebuf_keep(&conn->traffic->input)) {
        abort();
    }
}

/* ---- lines ---- */

bool conn_is_too_fast(const struct conn *conn)
{
    return conn->state.pace != PACE_CALLED &&
        scheduler_must_wait(&conn->server->scheduler, conn->member.fair_user);
}

void conn_again(struct conn *conn, char *line)
{
    assert(!conn->traffic->again);
    conn->traffic->again = line;
}

bool conn_has_line(const struct conn *conn)
{
    const struct traffic *traffic = conn->traffic;
    return traffic && (traffic->again || linebuf_has_line(&traffic->input));
}

/* A line that is skipped because nobody hears its answer is no act. */
static void conn_run_line(struct conn *conn, char *line, size_t length)
{
    if (conn->server->run_line(conn, line, length)) {
        conn_pass_pace(conn, CONN_HAS_ACTED);
    }
}

/* False: no line was held back. */
static bool conn_carry_out_again(struct conn *conn)
{
    char *line = conn->traffic->again;
    if (line) {
        conn->traffic->again = NULL;
        conn_run_line(conn, line, strlen(line));
        free(line);
    }
    return line;
}

static bool conn_carry_out_next(struct conn *conn)
{
    char *line;
    size_t length;
    enum line_result result = linebuf_next(&conn->traffic->input, &line, &length);
    if (result == LINE_MORE) {
        return false;
    }
    conn->traffic->parked_since = 0;
    if (result == LINE_OK) {
        conn_run_line(conn, line, length);
    } else {
        conn_pass_pace(conn, CONN_HAS_ACTED);
        scheduler_charge_request(&conn->server->scheduler, conn->member.fair_user);
        answer_error(conn_answers(conn), CODE_TOO_LONG, NULL);
        conn->server->counts->refusals[CODE_TOO_LONG]++;
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

void conn_take_lines(struct conn *conn)
{
    struct scheduler *scheduler = &conn->server->scheduler;
    bool may_have_acted = conn->state.pace == PACE_SPENT;
    bool has_more = conn_unread(conn) > 0;
    conn_pass_pace(conn, CONN_HAS_LOOKED);
    for (unsigned n = 1; has_more && conn_state_may_take_line(conn->state, conn_load(conn)); n++) {
        bool has_acted = may_have_acted || n == 2 || n % LINES_PER_CHECK == 0;
        if ((has_acted && scheduler_is_long(scheduler)) || conn_is_too_fast(conn)) {
            conn_put_off(conn);
            return;
        }
        has_more = conn_carry_out_one(conn) && conn_unread(conn) > 0;
    }
}
