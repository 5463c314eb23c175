#include "conn/conn_state.h"

/* ---- transitions ---- */

#define TO(state) ((state) + 1)
enum { STAYS = 0, NO = UINT8_MAX }; /* NO: the event cannot happen there */

/* The next state by the present one, in the order of the enums. */
struct transition {
    uint8_t peer[N_CONN_PEERS];
    uint8_t answer[N_CONN_ANSWERS];
    uint8_t pace[N_CONN_PACES];
};

static const struct transition transitions[N_CONN_EVENTS] = {
    [CONN_INPUT_ENDED] = {.peer = {[PEER_OPEN] = TO(PEER_HALF_CLOSED)}},
    [CONN_WRITE_FAILED] = {.peer = {TO(PEER_WRITE_FAILED), TO(PEER_WRITE_FAILED)}},
    [CONN_CLOSED] = {.peer = {[0 ... N_CONN_PEERS - 1] = TO(PEER_CLOSED)},
        .pace = {[0 ... N_CONN_PACES - 1] = TO(PACE_FREE)}},
    [CONN_PARKED] = {.answer = {TO(ANSWER_PARKED), NO, NO}},
    [CONN_ANSWERED] = {.answer = {NO, TO(ANSWER_NONE), NO}, .pace = {[PACE_FREE] = TO(PACE_SPENT)}},
    [CONN_LONG_BEGINS] = {.answer = {TO(ANSWER_LONG), NO, NO}},
    [CONN_LONG_ENDS] = {.answer = {NO, NO, TO(ANSWER_NONE)}},
    [CONN_PUT_OFF] = {.pace = {TO(PACE_QUEUED), TO(PACE_QUEUED), NO, TO(PACE_QUEUED)}},
    [CONN_CALLED] = {.pace = {NO, NO, TO(PACE_CALLED), NO}},
    [CONN_HAS_ACTED] = {.pace = {[PACE_CALLED] = TO(PACE_FREE)}},
    [CONN_HAS_LOOKED] = {.pace = {[PACE_SPENT] = TO(PACE_FREE)}},
};

static uint8_t after(uint8_t before, uint8_t to)
{
    return to == STAYS ? before : (uint8_t)(to - 1);
}

bool conn_state_handle_event(struct conn_state *state, enum conn_event event)
{
    const struct transition *row = &transitions[event];
    uint8_t peer = row->peer[state->peer];
    uint8_t answer = row->answer[state->answer];
    uint8_t pace = row->pace[state->pace];
    if (peer == NO || answer == NO || pace == NO) {
        return false;
    }
    *state = (struct conn_state){
        after(state->peer, peer),
        after(state->answer, answer),
        after(state->pace, pace),
    };
    return true;
}

/* ---- questions ---- */

bool conn_load_is_behind(struct conn_load load)
{
    return load.unsent >= CONN_UNSENT_LIMIT;
}

bool conn_state_has_work_left(struct conn_state state, struct conn_load load)
{
    bool is_blocked = state.answer == ANSWER_PARKED || conn_load_is_behind(load);
    return state.answer == ANSWER_LONG || state.pace == PACE_QUEUED ||
        (is_blocked && load.unread > 0);
}

bool conn_state_may_read(struct conn_state state, struct conn_load load)
{
    return state.peer == PEER_OPEN && !conn_state_has_work_left(state, load) &&
        !conn_load_is_behind(load);
}

bool conn_state_may_take_line(struct conn_state state, struct conn_load load)
{
    return state.peer != PEER_CLOSED && state.answer == ANSWER_NONE && state.pace != PACE_QUEUED &&
        !conn_load_is_behind(load);
}

bool conn_state_may_send_piece(struct conn_state state, struct conn_load load)
{
    return state.peer < PEER_WRITE_FAILED && state.answer == ANSWER_LONG &&
        state.pace != PACE_QUEUED && !conn_load_is_behind(load);
}

bool conn_state_is_over(struct conn_state state, struct conn_load load)
{
    return state.peer == PEER_HALF_CLOSED && state.answer == ANSWER_NONE &&
        state.pace != PACE_QUEUED && load.unsent == 0;
}
