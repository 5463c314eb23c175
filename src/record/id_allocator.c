#include "record/id_allocator.h"

#include "core/core.h"
#include "journal/state.h"
#include "record/journal_log.h"

enum { NUMBERS_PER_REQUEST = 64 }; /* more ids or tokens than one request can use up */

/* Waiters take tokens later, when nobody can be held back any more: these are left for them. */
static uint64_t numbers_needed(const struct id_allocator *numbers)
{
    uint64_t n_waiting = core_n_waiting(numbers->core);
    return core_next_number(numbers->core) + NUMBERS_PER_REQUEST +
        n_waiting * MAX_RESOURCES_PER_LEASE;
}

/* The next image of the state has a mark well above `next`. */
static bool want(const struct id_allocator *numbers, uint64_t next)
{
    bool are_there = state_want_numbers(numbers->state, next);
    if (!are_there) {
        state_log_no_numbers(numbers->state);
    }
    return are_there;
}

void id_allocator_reserve(struct id_allocator *numbers)
{
    struct state *state = numbers->state;
    numbers->are_kept = false;
    if (want(numbers, core_next_number(numbers->core))) {
        int error;
        enum stored stored = state_store(state, &error);
        state_log_stored(state, stored, error);
        numbers->are_kept = stored == STORED;
    }
}

/* If none could be stored at the start, that is no reason to refuse: recovery.c has logged it. */
bool id_allocator_has_some(const struct id_allocator *numbers)
{
    return !numbers->are_kept || state_has_numbers(numbers->state, numbers_needed(numbers));
}

bool id_allocator_is_low(const struct id_allocator *numbers)
{
    return numbers->are_kept && state_is_short_of_numbers(numbers->state, numbers_needed(numbers));
}

bool id_allocator_wants_more(struct id_allocator *numbers)
{
    return want(numbers, numbers_needed(numbers));
}

bool id_allocator_give_back(struct id_allocator *numbers)
{
    if (numbers->are_kept) {
        state_give_back_numbers(numbers->state, core_next_number(numbers->core));
    }
    return numbers->are_kept;
}
