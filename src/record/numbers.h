/* numbers.h - allocates lease ids and tokens below the mark stored in the state directory, and
 * raises the mark early enough that nobody waits for the disk. */
#ifndef BERTH_RECORD_NUMBERS_H
#define BERTH_RECORD_NUMBERS_H

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
/* Whether there are enough for one more request. */
bool numbers_are_left(const struct numbers *numbers);
/* Whether half are used up, and nobody has asked for more yet. */
bool numbers_are_short(const struct numbers *numbers);
/* Asks for more in the next image of the state. False (logged): no numbers are left. */
bool numbers_want_more(struct numbers *numbers);
/* At the end of the run: gives the unused ones back. False: there is nothing to store. */
bool numbers_give_back(struct numbers *numbers);

#endif
