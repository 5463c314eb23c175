/* wait_message.h - what a berth waits for, who holds that, its place: one line, made from the
 * answer to `status lease=ID`. Pure. */
#ifndef BERTH_BERTH_WAIT_MESSAGE_H
#define BERTH_BERTH_WAIT_MESSAGE_H

#include "client/answer.h"

#include <stdbool.h>
#include <stdint.h>

enum wait_message_state {
    WAIT_MESSAGE_GOES_ON,
    WAIT_MESSAGE_COMPLETE, /* wait_message.line is the text */
    WAIT_MESSAGE_NONE, /* the answer was a refusal */
};

struct wait_message {
    uint64_t position; /* 0: not known yet */
    char stops[1024]; /* what grants nothing to anybody, such as a pause and its reason: without
                         anything that counts */
    char why[192]; /* why nothing is granted at present; or "" */
    char grace_of[NAME_BYTES + 1]; /* the database that is in its grace, or "" */
    uint64_t grace; /* what is left of the grace, milliseconds */
    const char *lease; /* ours */
    /* The resource being read. */
    struct {
        char name[NAME_BYTES + 1];
        char held[256]; /* the holders, in words */
        char state[REASON_BYTES + 32]; /* paused, closed, ..., or "" */
        uint64_t limit, in_use, cooling, reserved, wants;
        uint64_t kept, keeper; /* units for older waiters, and the first one's place */
        uint64_t position; /* our own */
        unsigned n_holders; /* in the answer */
        unsigned n_said; /* in the line */
    } resource;
    char line[1024];
};

/* `lease` must stay valid. */
void wait_message_begin(struct wait_message *wait_message, const char *lease);
/* Takes a line of the answer. */
enum wait_message_state wait_message_take(
    struct wait_message *wait_message, const struct answer *answer);

#endif
