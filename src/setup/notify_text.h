/* notify_text.h - berthd's status in one line, and when it is due. Pure: time is passed in, and
 * nothing is sent. */
#pragma once

#include "core/types.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { NOTIFY_TEXT_SIZE = 512 };

/* All that the line depends on, apart from fixed names. */
struct notify_facts {
    size_t n_held, n_waiting;
    uint32_t down; /* a bit for each database that cannot be reached: the first is bit 0 */
    bool is_draining, is_drained;
    const char *closed_why; /* core_closed_why() */
};

/* "serving /run/berth/berth.sock: 12 leases held, 3 waiting". `databases` has the names for the
 * bits. Without control characters; cut if too long. */
void notify_text(char out[static NOTIFY_TEXT_SIZE], const char *socket,
    const char *const databases[], const struct notify_facts *facts);

/* When the line was last sent, and what it said. */
struct notify_pace {
    struct notify_facts sent;
    nanoseconds tried_at; /* 0: never */
    bool owes; /* more has to go with it, which cannot be left out */
};

/* When `facts` are to be sent: NEVER if they have been, else at most once a second. */
nanoseconds notify_due(const struct notify_pace *pace, const struct notify_facts *facts);
/* An attempt was made; what could not be sent stays due. */
void notify_tried(
    struct notify_pace *pace, const struct notify_facts *facts, bool was_said, nanoseconds now);
