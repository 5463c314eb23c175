/* wait_message.h - the one line that a waiting berth writes: what it waits for, who holds that, its
 * place. Made from the answer to `status lease=ID`. Pure but for the message at the end. */
#ifndef BERTH_BERTH_WAIT_MESSAGE_H
#define BERTH_BERTH_WAIT_MESSAGE_H

#include "base/clock.h"
#include "client/answer.h"

#include <stdbool.h>
#include <stdint.h>

struct wait_message {
    nanoseconds say_at; /* NEVER: written, or not to be written */
    bool was_asked; /* the answer is being read */
    uint64_t position;
    char why[192]; /* why nothing is granted at present; or "" */
    char grace_of[NAME_BYTES + 1]; /* the database that is in its grace, or "" */
    uint64_t grace; /* what is left of the grace, milliseconds */
    char lease[LEASE_ID_SIZE];
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

/* Takes a line of the answer. True when it was the last one: the message has been written. */
bool wait_message_take(struct wait_message *wait_message, const struct answer *answer);

#endif
