/* wait_message.h - what a berth waits for, or would, who holds that, its place: one line, as the
 * answer to `why` has it. Pure. */
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
    bool is_busy; /* a request that would wait */
    char stops[1024]; /* what grants nothing to anybody, such as a pause and its reason: without
                         anything that counts */
    char line[1024];
};

void wait_message_begin(struct wait_message *wait_message);
/* Takes a line of the answer. */
enum wait_message_state wait_message_take(
    struct wait_message *wait_message, const struct answer *answer);

#endif
