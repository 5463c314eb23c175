/* record_words.h - what the writer and the reader of a lease's record have in common. */
#pragma once

#include "core/core.h"

/* The values of a record, and while it is read its text. */
#define NO_USER UINT64_MAX

struct record {
    struct saved_lease lease; /* first: record_free() gets a pointer to it */
    const char *database; /* its name; NULL: host scope */
    uint64_t by, by_login; /* who takes it away; NO_USER: not known */
    nanoseconds lapse; /* the ttl of a lease that is bound to a process as well; 0: none */
    char *kept; /* the rest of `text`: words not understood */
    char text[]; /* the strings point into it */
};

enum presence {
    MAY_WAITING = 1,
    MAY_HELD = 2,
    MUST_WAITING = 4 | MAY_WAITING,
    MUST_HELD = 8 | MAY_HELD,
    MANY = 16, /* the key may be given more than once */
    ENVELOPE = 32, /* read alike by every version */
    MAY = MAY_WAITING | MAY_HELD,
    MUST = MUST_WAITING | MUST_HELD | ENVELOPE,
};

#define MAX_COOLDOWN (INT64_C(3650) * 86400 * NANOSECONDS_PER_SECOND)
#define MAX_TICKET (UINT64_C(1) << 53) /* the largest integer exact in Lua */

extern const char *const record_state_words[2]; /* by .is_held */
/* For `stopping`; has gaps. */
extern const char *const record_stopping_words[N_OUTCOMES];
