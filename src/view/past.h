/* past.h - parses the answer to `history`, line by line, into structs. Pure.
 *
 * Doc: doc/protocol.md, history. Unknown keys and lines are ignored; missing known keys are NULL or
 * not given. Strings are decoded, but not escaped. */
#pragma once

#include "view/status.h"
#include "wire/fields.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a lease had of one resource, or wanted. */
struct past_claim {
    const char *name;
    struct words units; /* items, or slots and ranges of slots; none: only waited for */
    struct optional wanted; /* how many units it waited for; not given: it had some */
};

/* A lease or a wait that is over. Times are milliseconds since 1970. */
struct past_lease {
    char *line; /* all strings point into it */
    const char *id;
    struct past_claim *claims;
    size_t n_claims;
    bool has_more_claims; /* the daemon had no room for all of them */
    uint64_t ended;
    uint64_t waited; /* milliseconds */
    struct optional held; /* milliseconds; not given: it was never granted */
    const char *how, *code; /* the code: why it was denied */
    struct optional exit, signal; /* how its job's main process ended */
    struct optional unseen; /* 1: it ended while there was no berthd, at some time before .ended */
    struct optional pid;
    struct shown_user user, login;
    struct shown_user by, by_login; /* who took it away */
    const char *why; /* their reason */
    const char *database; /* of fleet scope: its name */
    const char *holder, *args, *cgroup;
    const char *shown[N_SHOWN];
};

struct past {
    bool begun; /* the `ok` line has come */
    uint64_t now; /* berthd's time of day */
    struct optional since; /* when the oldest lease that berthd still knows ended */
    struct past_lease *leases; /* the oldest first */
    size_t n;
};

/* Its keys, and which of them are members of JSON as they are; an empty one follows. */
extern const struct field past_lease_fields[];

/* What is asked for. Times are milliseconds since 1970. */
struct past_choice {
    struct optional since; /* what ended then or later */
    struct optional until; /* of this, what was asked for before */
    struct optional uid; /* only this user's */
    const char *lease; /* only this one; or NULL */
    char *const *names; /* of resources, or patterns; n_names 0: of all */
    size_t n_names;
};

void past_deinit(struct past *past);

answer_taker past_take; /* of a struct past */

/* Takes an `ended` line at the end of the past. False: malformed, and nothing is added. */
bool past_add(struct past *past, const char *line);
void past_lease_deinit(struct past_lease *lease);

/* Leaves out the leases that were asked for at `until` or later. */
void past_drop_after(struct past *past, uint64_t until);

/* When it was asked for, and (of one that was) granted. */
uint64_t past_asked(const struct past_lease *lease);
uint64_t past_granted(const struct past_lease *lease);
