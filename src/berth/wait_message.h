/* wait_message.h - the one line that a waiting berth says: for what, who holds it, its place.
 * Made of the answer to `status lease=ID`. Pure but for the message at the end. */
#ifndef BERTH_BERTH_WAIT_MESSAGE_H
#define BERTH_BERTH_WAIT_MESSAGE_H

#include "base/clock.h"
#include "client/answer.h"

#include <stdbool.h>
#include <stdint.h>

struct wait_message {
    nanoseconds say_at; /* NEVER: said, or not to be said */
    bool was_asked; /* the answer is being read */
    uint64_t position;
    char why[192]; /* nothing is granted at present, whoever holds what; or "" */
    char grace_of[NAME_BYTES + 1]; /* a database that is in its grace, or "" */
    uint64_t grace; /* what is left of it, milliseconds */
    char lease[LEASE_ID_SIZE];
    /* The resource being read. */
    struct {
        char name[NAME_BYTES + 1];
        char held[256]; /* by whom, in words */
        char state[REASON_BYTES + 32]; /* paused, closed, ..., or "" */
        uint64_t limit, in_use, cooling, reserved, wants;
        uint64_t kept, keeper; /* units for older ones, and the place of the first of those */
        uint64_t position; /* our own */
        unsigned n_holders; /* that the answer names */
        unsigned n_said; /* of it, in the line */
    } resource;
    char line[1024];
};

/* A line of the answer. True when it was the last one: then it has been said. */
bool wait_message_take(struct wait_message *wait_message, const struct answer *answer);

#endif
