/* loop_iteration.h - what every callback of the event loop must do before it returns. */
#pragma once

#include <stdbool.h>

struct loop_iteration {
    void (*apply_effects)(struct loop_iteration *turn);
    void (*end)(struct loop_iteration *turn);
    bool stopping; /* berthd ends: nothing new begins, nothing is written down, leases live on */
};

/* After each operation of the core: turns its effects into lines, and clears them. */
static inline void apply_effects(struct loop_iteration *turn)
{
    turn->apply_effects(turn);
}

/* At the end of each callback: sends, and sets the timer. */
static inline void loop_iteration_end(struct loop_iteration *turn)
{
    turn->end(turn);
}
