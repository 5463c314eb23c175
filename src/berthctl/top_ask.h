/* top_ask.h - one question of `berthctl top` to berthd at a time, over a connection of its own,
 * while the picture goes on. Never waits. */
#ifndef BERTH_BERTHCTL_TOP_ASK_H
#define BERTH_BERTHCTL_TOP_ASK_H

#include "berthctl/top_actions.h"
#include "client/connection.h"

struct top_ask {
    const struct endpoint *endpoint;
    struct connection connection;
    nanoseconds deadline;
    bool is_ok; /* the first line has come */
    struct text said; /* escaped */
};

/* Sends the question if it is a new one; gives up the one before it. */
void top_ask_send(struct top_ask *ask, struct top *top, nanoseconds now);

/* Reads what is there; calls top_answered() with a whole answer. */
void top_ask_read(struct top_ask *ask, struct top *top);

/* When berthd has not answered in time; NEVER: nothing is asked. */
nanoseconds top_ask_due(const struct top_ask *ask);
void top_ask_give_up(struct top_ask *ask, struct top *top);

void top_ask_end(struct top_ask *ask);

#endif
