/* test_conn_state.c - what a connection may do, by what has happened to it. */
#include "conn/conn_state.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* ---- transitions ---- */

enum { IMPOSSIBLE = -1 };
enum region { PEER, ANSWER, PACE, N_REGIONS };

struct change {
    enum conn_event event;
    enum region region;
    uint8_t from;
    int to;
};

/* An event changes only what has a row. */
static const struct change changes[] = {
    {CONN_INPUT_ENDED, PEER, PEER_OPEN, PEER_HALF_CLOSED},
    {CONN_WRITE_FAILED, PEER, PEER_OPEN, PEER_WRITE_FAILED},
    {CONN_WRITE_FAILED, PEER, PEER_HALF_CLOSED, PEER_WRITE_FAILED},
    {CONN_CLOSED, PEER, PEER_OPEN, PEER_CLOSED},
    {CONN_CLOSED, PEER, PEER_HALF_CLOSED, PEER_CLOSED},
    {CONN_CLOSED, PEER, PEER_WRITE_FAILED, PEER_CLOSED},
    {CONN_CLOSED, PACE, PACE_SPENT, PACE_FREE},
    {CONN_CLOSED, PACE, PACE_QUEUED, PACE_FREE},
    {CONN_CLOSED, PACE, PACE_CALLED, PACE_FREE},
    {CONN_PARKED, ANSWER, ANSWER_NONE, ANSWER_PARKED},
    {CONN_PARKED, ANSWER, ANSWER_PARKED, IMPOSSIBLE},
    {CONN_PARKED, ANSWER, ANSWER_LONG, IMPOSSIBLE},
    {CONN_ANSWERED, ANSWER, ANSWER_NONE, IMPOSSIBLE},
    {CONN_ANSWERED, ANSWER, ANSWER_PARKED, ANSWER_NONE},
    {CONN_ANSWERED, ANSWER, ANSWER_LONG, IMPOSSIBLE},
    {CONN_ANSWERED, PACE, PACE_FREE, PACE_SPENT},
    {CONN_LONG_BEGINS, ANSWER, ANSWER_NONE, ANSWER_LONG},
    {CONN_LONG_BEGINS, ANSWER, ANSWER_PARKED, IMPOSSIBLE},
    {CONN_LONG_BEGINS, ANSWER, ANSWER_LONG, IMPOSSIBLE},
    {CONN_LONG_ENDS, ANSWER, ANSWER_NONE, IMPOSSIBLE},
    {CONN_LONG_ENDS, ANSWER, ANSWER_PARKED, IMPOSSIBLE},
    {CONN_LONG_ENDS, ANSWER, ANSWER_LONG, ANSWER_NONE},
    {CONN_PUT_OFF, PACE, PACE_FREE, PACE_QUEUED},
    {CONN_PUT_OFF, PACE, PACE_SPENT, PACE_QUEUED},
    {CONN_PUT_OFF, PACE, PACE_QUEUED, IMPOSSIBLE},
    {CONN_PUT_OFF, PACE, PACE_CALLED, PACE_QUEUED},
    {CONN_CALLED, PACE, PACE_FREE, IMPOSSIBLE},
    {CONN_CALLED, PACE, PACE_SPENT, IMPOSSIBLE},
    {CONN_CALLED, PACE, PACE_QUEUED, PACE_CALLED},
    {CONN_CALLED, PACE, PACE_CALLED, IMPOSSIBLE},
    {CONN_HAS_ACTED, PACE, PACE_CALLED, PACE_FREE},
    {CONN_HAS_LOOKED, PACE, PACE_SPENT, PACE_FREE},
};

enum { N_CHANGES = sizeof changes / sizeof changes[0] };

static int expected(enum conn_event event, enum region region, uint8_t from)
{
    for (size_t i = 0; i < N_CHANGES; i++) {
        const struct change *row = &changes[i];
        if (row->event == event && row->region == region && row->from == from) {
            return row->to;
        }
    }
    return from;
}

static void expect_pass(enum conn_event event, const struct conn_state *from)
{
    const uint8_t before[N_REGIONS] = {from->peer, from->answer, from->pace};
    int after[N_REGIONS];
    bool is_possible = true;
    for (int i = 0; i < N_REGIONS; i++) {
        after[i] = expected(event, (enum region)i, before[i]);
        is_possible &= after[i] != IMPOSSIBLE;
    }
    struct conn_state state = *from;
    cr_expect_eq(conn_state_handle_event(&state, event), is_possible, "event %d in %d %d %d", event,
        before[PEER], before[ANSWER], before[PACE]);
    cr_expect(state.peer == (is_possible ? after[PEER] : before[PEER]) &&
            state.answer == (is_possible ? after[ANSWER] : before[ANSWER]) &&
            state.pace == (is_possible ? after[PACE] : before[PACE]),
        "event %d in %d %d %d: %d %d %d", event, before[PEER], before[ANSWER], before[PACE],
        state.peer, state.answer, state.pace);
}

Test(conn_state, each_event_in_each_state)
{
    for (unsigned i = 0; i < N_CONN_EVENTS * N_CONN_PEERS * N_CONN_ANSWERS * N_CONN_PACES; i++) {
        unsigned rest = i / N_CONN_EVENTS;
        struct conn_state from = {
            .peer = (uint8_t)(rest % N_CONN_PEERS),
            .answer = (uint8_t)(rest / N_CONN_PEERS % N_CONN_ANSWERS),
            .pace = (uint8_t)(rest / N_CONN_PEERS / N_CONN_ANSWERS),
        };
        expect_pass((enum conn_event)(i % N_CONN_EVENTS), &from);
    }
}

/* ---- questions ---- */

#define FULL CONN_UNSENT_LIMIT

struct question {
    struct conn_state state;
    struct conn_load load;
    const char *yes; /* read, take a line, send a piece, has work left, is over, behind */
};

static const struct question questions[] = {
    {{PEER_OPEN, ANSWER_NONE, PACE_FREE}, {0, 0}, "rl"},
    {{PEER_OPEN, ANSWER_NONE, PACE_SPENT}, {0, 0}, "rl"},
    {{PEER_OPEN, ANSWER_NONE, PACE_CALLED}, {0, 0}, "rl"},
    {{PEER_OPEN, ANSWER_NONE, PACE_QUEUED}, {0, 0}, "w"},
    {{PEER_OPEN, ANSWER_NONE, PACE_FREE}, {1, 1}, "rl"},
    {{PEER_OPEN, ANSWER_NONE, PACE_FREE}, {0, FULL - 1}, "rl"},
    {{PEER_OPEN, ANSWER_NONE, PACE_FREE}, {0, FULL}, "b"},
    {{PEER_OPEN, ANSWER_NONE, PACE_FREE}, {1, FULL}, "wb"},
    /* The end of the peer's input is read while its answer is awaited, unless more has come. */
    {{PEER_OPEN, ANSWER_PARKED, PACE_FREE}, {0, 0}, "r"},
    {{PEER_OPEN, ANSWER_PARKED, PACE_FREE}, {1, 0}, "w"},
    {{PEER_OPEN, ANSWER_PARKED, PACE_QUEUED}, {0, 0}, "w"},
    {{PEER_OPEN, ANSWER_PARKED, PACE_CALLED}, {0, FULL}, "b"},
    {{PEER_OPEN, ANSWER_LONG, PACE_FREE}, {0, 0}, "pw"},
    {{PEER_OPEN, ANSWER_LONG, PACE_CALLED}, {1, 1}, "pw"},
    {{PEER_OPEN, ANSWER_LONG, PACE_QUEUED}, {0, 0}, "w"},
    {{PEER_OPEN, ANSWER_LONG, PACE_FREE}, {0, FULL}, "wb"},
    {{PEER_HALF_CLOSED, ANSWER_NONE, PACE_FREE}, {0, 0}, "lo"},
    {{PEER_HALF_CLOSED, ANSWER_NONE, PACE_FREE}, {0, 1}, "l"},
    {{PEER_HALF_CLOSED, ANSWER_NONE, PACE_QUEUED}, {0, 0}, "w"},
    {{PEER_HALF_CLOSED, ANSWER_PARKED, PACE_FREE}, {0, 0}, ""},
    {{PEER_HALF_CLOSED, ANSWER_LONG, PACE_FREE}, {0, 0}, "pw"},
    /* The beginning of a line is no reason to stay. */
    {{PEER_HALF_CLOSED, ANSWER_NONE, PACE_FREE}, {1, 0}, "lo"},
    {{PEER_WRITE_FAILED, ANSWER_NONE, PACE_FREE}, {0, 0}, "l"},
    {{PEER_WRITE_FAILED, ANSWER_PARKED, PACE_FREE}, {1, 0}, "w"},
    {{PEER_WRITE_FAILED, ANSWER_LONG, PACE_FREE}, {0, 0}, "w"},
    {{PEER_CLOSED, ANSWER_NONE, PACE_FREE}, {1, 0}, ""},
};

Test(conn_state, what_it_may_do)
{
    for (size_t i = 0; i < sizeof questions / sizeof questions[0]; i++) {
        const struct question *row = &questions[i];
        char yes[8];
        snprintf(yes, sizeof yes, "%s%s%s%s%s%s",
            conn_state_may_read(row->state, row->load) ? "r" : "",
            conn_state_may_take_line(row->state, row->load) ? "l" : "",
            conn_state_may_send_piece(row->state, row->load) ? "p" : "",
            conn_state_has_work_left(row->state, row->load) ? "w" : "",
            conn_state_is_over(row->state, row->load) ? "o" : "",
            conn_load_is_behind(row->load) ? "b" : "");
        cr_expect_str_eq(yes, row->yes, "row %zu", i);
    }
}
