/* state_wait.h - waits for a state file that is there and cannot be read: what operators have
 * changed and who may prove what is not known, so nothing is granted until then. A restart, which
 * is not an event, then does all that a start does. */
#pragma once

#include <stdbool.h>
#include <uv.h>

struct state;

struct state_wait {
    uv_timer_t timer;
    uv_work_t work; /* in libuv's pool: the disk may take its time */
    const struct state *state;
    bool (*readable)(struct state_wait *wait);
    bool is_looking;
    bool is_readable; /* the work's result */
};

/* If the state could not be read: looks at it each second, and calls readable() if it can be, until
 * that returns true. */
void state_wait_begin(struct state_wait *wait, const struct state *state,
    bool (*readable)(struct state_wait *wait));
