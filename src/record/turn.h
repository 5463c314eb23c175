/* turn.h - what every callback of the event loop must do before it returns. */
#ifndef BERTH_RECORD_TURN_H
#define BERTH_RECORD_TURN_H

#include <stdbool.h>

struct turn {
    void (*apply_effects)(struct turn *turn);
    void (*end)(struct turn *turn);
    bool stopping; /* berthd ends: nothing new begins, nothing is written down, leases live on */
};

/* After each operation of the core: turns its effects into lines, and clears them. */
static inline void apply_effects(struct turn *turn)
{
    turn->apply_effects(turn);
}

/* At the end of each callback: sends, and sets the timer. */
static inline void turn_end(struct turn *turn)
{
    turn->end(turn);
}

#endif
