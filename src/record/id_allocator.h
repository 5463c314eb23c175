/* id_allocator.h - allocates lease ids and tokens below the mark stored in the state directory, and
 * raises the mark early enough that nobody waits for the disk. */
#pragma once

#include <stdbool.h>

struct core;
struct state;

struct id_allocator {
    const struct core *core;
    struct state *state;
    bool are_kept; /* some could be stored at the start; else they depend on the clock */
};

/* At the start: waits for the disk. */
void id_allocator_reserve(struct id_allocator *numbers);
/* Whether there are enough for one more request. */
bool id_allocator_has_some(const struct id_allocator *numbers);
/* Whether half are used up, and nobody has asked for more yet. */
bool id_allocator_is_low(const struct id_allocator *numbers);
/* Asks for more in the next image of the state. False (logged): no numbers are left. */
bool id_allocator_wants_more(struct id_allocator *numbers);
/* At the end of the run: gives the unused ones back. False: there is nothing to store. */
bool id_allocator_give_back(struct id_allocator *numbers);
