#include "daemon/numbers.h"

#include "core/core.h"
#include "journal/state.h"

enum { NUMBERS_PER_REQUEST = 64 }; /* more ids or tokens than one request can use up */

/* Waiters take tokens later, when nobody can be held back any more: these are left for them. */
static uint64_t numbers_needed(const struct numbers *numbers)
{
    uint64_t n_waiting = core_n_waiting(numbers->core);
    return core_next_number(numbers->core) + NUMBERS_PER_REQUEST +
        n_waiting * MAX_RESOURCES_PER_LEASE;
}

void numbers_reserve(struct numbers *numbers)
{
    numbers->are_kept = state_reserve_numbers(numbers->state, core_next_number(numbers->core));
}

/* If none could be stored at the start, that is no reason to refuse: recovery.c has logged it. */
bool numbers_are_left(const struct numbers *numbers)
{
    return !numbers->are_kept || state_has_numbers(numbers->state, numbers_needed(numbers));
}

bool numbers_are_short(const struct numbers *numbers)
{
    return numbers->are_kept && state_is_short_of_numbers(numbers->state, numbers_needed(numbers));
}

bool numbers_want_more(struct numbers *numbers)
{
    return state_want_numbers(numbers->state, numbers_needed(numbers));
}

bool numbers_give_back(struct numbers *numbers)
{
    if (numbers->are_kept) {
        state_give_back_numbers(numbers->state, core_next_number(numbers->core));
    }
    return numbers->are_kept;
}
