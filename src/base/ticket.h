/* ticket.h - who stands before whom where requests wait: the bigger priority, then the smaller
 * ticket. A ticket is a number that only grows, below 2^52. An operator's `move first` gives one
 * above that: the later, the smaller. Such a ticket stands before all others, whatever their
 * priority; so it says all that there is to know about the move, also to a database. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { TICKET_BITS = 53 };

#define TICKET_FIRST_MAX ((UINT64_C(1) << TICKET_BITS) - 1)

/* Of all others: as many as there may be, the smaller id decides. */
#define TICKET_NUMBER_MAX (TICKET_FIRST_MAX / 2 - 1)

static inline bool ticket_is_first(uint64_t ticket)
{
    return ticket > TICKET_FIRST_MAX / 2 + 1;
}

/* Whatever the priorities. */
static inline bool ticket_is_before(uint64_t ticket, uint64_t other)
{
    bool is_first = ticket_is_first(ticket);
    return is_first != ticket_is_first(other) ? is_first : ticket < other;
}

/* For a move with that number. */
static inline uint64_t ticket_of_first(uint64_t number)
{
    return TICKET_FIRST_MAX - number;
}

/* The number that it was made from. */
static inline uint64_t ticket_number(uint64_t ticket)
{
    return ticket_is_first(ticket) ? TICKET_FIRST_MAX - ticket : ticket;
}

static inline int64_t ticket_priority(uint64_t ticket, int64_t priority)
{
    return ticket_is_first(ticket) ? INT32_MAX : priority;
}
