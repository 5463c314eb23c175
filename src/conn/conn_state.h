/* conn_state.h - what a connection may do now. Pure: conn.c reports what has happened, and asks.
 *
 * A connection has three independent states. A row changes only the states that it names; "-"
 * cannot happen there.
 *
 *   peer: what can still come and go      OPEN ...> HALF_CLOSED ...> WRITE_FAILED ...> CLOSED
 *   answer: what the peer is owed         NONE <..> PARKED, NONE <..> LONG
 *   pace: whether other users come first  FREE ...> QUEUED ...> CALLED ...> FREE; FREE <..> SPENT
 *
 *   event          peer                       answer         pace
 *   INPUT_ENDED    OPEN -> HALF_CLOSED
 *   WRITE_FAILED   OPEN, HALF_CLOSED -> WRITE_FAILED
 *   CLOSED         all -> CLOSED                             all -> FREE
 *   PARKED                                    NONE -> PARKED
 *   ANSWERED                                  PARKED -> NONE FREE -> SPENT
 *   LONG_BEGINS                               NONE -> LONG
 *   LONG_ENDS                                 LONG -> NONE
 *   PUT_OFF                                                  all but QUEUED -> QUEUED
 *   CALLED                                                   QUEUED -> CALLED, the others -
 *   HAS_ACTED                                                CALLED -> FREE
 *   HAS_LOOKED                                               SPENT -> FREE
 *
 * PARKED and LONG_BEGINS need NONE, ANSWERED needs PARKED, and LONG_ENDS needs LONG. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum conn_peer {
    PEER_OPEN,
    PEER_HALF_CLOSED, /* it sends nothing more, but reads */
    PEER_WRITE_FAILED, /* its last lines are carried out, then it is closed */
    PEER_CLOSED, /* on our side; the struct lives until libuv has let go */
    N_CONN_PEERS
};

enum conn_answer {
    ANSWER_NONE,
    ANSWER_PARKED, /* a database or the disk is being asked on its behalf */
    ANSWER_LONG, /* it is being sent, piece by piece */
    N_CONN_ANSWERS
};

enum conn_pace {
    PACE_FREE, /* input is carried out, at its user's rate */
    PACE_SPENT, /* the same, but not in a turn of the loop that has lasted long */
    PACE_QUEUED, /* in its user's fair queue */
    PACE_CALLED, /* from that queue: one line or one piece, whatever its user's rate is */
    N_CONN_PACES
};

enum conn_event {
    CONN_INPUT_ENDED,
    CONN_WRITE_FAILED, /* nothing can be sent to it any more */
    CONN_CLOSED,
    CONN_PARKED,
    CONN_ANSWERED, /* what was parked */
    CONN_LONG_BEGINS,
    CONN_LONG_ENDS,
    CONN_PUT_OFF,
    CONN_CALLED, /* its turn has come */
    CONN_HAS_ACTED, /* or has read, at least */
    CONN_HAS_LOOKED, /* whether the turn of the loop has lasted long */
    N_CONN_EVENTS
};

/* All zero: just accepted. Only conn_state_handle_event() writes it. */
struct conn_state {
    uint8_t peer; /* enum conn_peer */
    uint8_t answer; /* enum conn_answer */
    uint8_t pace; /* enum conn_pace */
};

/* Bytes on our side of the socket. */
struct conn_load {
    size_t unread; /* of lines not carried out yet, or of the beginning of one */
    size_t unsent; /* of answers and events */
};

enum { CONN_UNSENT_LIMIT = 64 * 1024 }; /* a peer that leaves so much unread is behind */

/* False: the event cannot happen now; the state is unchanged. */
bool conn_state_handle_event(struct conn_state *state, enum conn_event event);

/* Whether to read the socket: only while no input waits, so that a peer that sends faster than its
 * lines are carried out fills its own buffers, not ours. */
bool conn_state_may_read(struct conn_state state, struct conn_load load);
bool conn_state_may_take_line(struct conn_state state, struct conn_load load);
bool conn_state_may_send_piece(struct conn_state state, struct conn_load load);
/* Whether lines will be carried out later: leases do not end before. */
bool conn_state_has_work_left(struct conn_state state, struct conn_load load);
/* Whether the peer has closed its side, and has had every answer. */
bool conn_state_is_over(struct conn_state state, struct conn_load load);
/* Whether the peer does not take what it is sent. */
bool conn_load_is_behind(struct conn_load load);
