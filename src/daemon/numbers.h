/* numbers.h - ids and tokens for leases: all are below the mark that the state directory keeps. That is
 * moved on so early that nobody has to wait for it. */
#ifndef BERTH_DAEMON_NUMBERS_H
#define BERTH_DAEMON_NUMBERS_H

#include <stdbool.h>

struct core;
struct state;

struct numbers {
    const struct core *core;
    struct state *state;
    bool are_kept; /* some could be stored at the start; else they depend on the clock */
};

/* At the start: waits for the disk. */
void numbers_reserve(struct numbers *numbers);
/* Whether there are some for one more request. */
bool numbers_are_left(const struct numbers *numbers);
/* Whether half of them are used up, and no more are wanted yet. */
bool numbers_are_short(const struct numbers *numbers);
/* The next image of the state has more. False (logged): there are no more. */
bool numbers_want_more(struct numbers *numbers);
/* The end of the run: what was not given out. False: there is nothing to store. */
bool numbers_give_back(struct numbers *numbers);

#endif
