/* past.h - parses the answers to `history` and `stats`, line by line, into structs, and merges
 * them. Pure.
 *
 * Doc: doc/protocol.md, history. Unknown keys and lines are ignored; missing known keys are NULL or
 * not given. Strings are decoded, but not escaped. Times are milliseconds since 1970. */
#pragma once

#include "view/sums.h"
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

/* A lease or a wait that is over. */
struct past_lease {
    char *line; /* all strings point into it */
    const char *id; /* of another host's: SESSION/LEASE */
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
    const char *host; /* whose it was, if it is another host */
    const char *holder, *args, *cgroup;
    const char *bound; /* "program", or NULL */
    const char *shown[N_SHOWN];
};

/* What an operator has done. */
struct past_action {
    char *line;
    const char *verb; /* the command's word */
    uint64_t at;
    struct shown_user user, login;
    const char *resource, *target, *host; /* or NULL; the target: an item, a lease, a database */
    const char *before, *after, *reason; /* or NULL */
};

/* Where something may be missing. */
struct past_gap {
    char *line;
    uint64_t from, until;
    const char *why; /* a word */
    struct optional n; /* how many are missing */
};

/* Who has answered. */
struct past_source {
    char *database; /* its name; NULL: this host */
    struct optional since; /* from when on the answer is complete; not given: nothing is known */
    bool has_more; /* older ones were left out, as only so many were asked for */
};

struct past {
    bool begun; /* the `ok` line has come */
    const struct past_choice *only; /* what does not match is left out at once; or NULL */
    uint64_t now; /* the answerer's time of day */
    struct past_source *sources; /* the first is the one that the times are of */
    size_t n_sources;
    struct past_lease *leases; /* the oldest first, as the others */
    size_t n;
    struct past_action *actions;
    size_t n_actions;
    struct past_gap *gaps;
    size_t n_gaps;
    struct sums sums; /* of `figures` lines */
};

/* Its keys, and which of them are members of JSON as they are; an empty one follows. */
extern const struct field past_lease_fields[], past_action_fields[], past_gap_fields[];

/* What is asked for. */
struct past_choice {
    struct optional since; /* what ended then or later */
    struct optional until; /* of this, what was asked for before */
    struct optional uid; /* only this user's */
    struct optional limit; /* the newest so many; 0: all */
    const char *lease; /* only this one; or NULL */
    const char *host; /* only of this one; or NULL */
    const char *this_host; /* its name; or NULL */
    bool failed; /* all but those that ended with exit 0 */
    char *const *names; /* of resources, or patterns; n_names 0: of all */
    size_t n_names;
};

/* Whether it is of a host other than this one, of whose own resources nothing is known here. */
bool past_is_of_another_host(const struct past_choice *choice);

void past_deinit(struct past *past);

answer_taker past_take; /* of a struct past, {0} or .only at first */

/* Takes a line behind the first one at the end of the past; it skips those of unknown kinds. False:
 * malformed, and nothing is added. */
bool past_add(struct past *past, const char *line);
void past_lease_deinit(struct past_lease *lease);

/* Takes over who has answered. */
void past_add_source(struct past *past, const struct past_source *source);
/* Whether who answered is this host (NULL), or that database. */
bool past_has(const struct past *past, const char *database);

/* Whether it tells of all the time that `into`, which has answered for this host, tells of. */
bool past_knows_as_long(const struct past *into, const struct past_source *source);

/* Moves what `from` has into `into`, which has answered for this host, by time. What both have is
 * there once: of this host's leases of that database either what `into` has counted of them goes,
 * or what `from` has, which may know them for a shorter time. `this_host`: its name, or NULL. */
void past_merge(struct past *into, struct past *from, const char *this_host);

/* Leaves out the oldest leases and actions until so many are left of both: then one of its sources
 * has more. After past_merge(): else what is older than a source tells may be there without what it
 * has left out. */
void past_cut(struct past *past, uint64_t limit);
/* When the oldest lease or action was; UINT64_MAX: there is none. */
uint64_t past_begin(const struct past *past);

/* Whether it was not given back with exit 0 by who had it. */
bool past_has_failed(const struct past_lease *lease);
/* When it was asked for, and (of one that was) granted. */
uint64_t past_asked(const struct past_lease *lease);
uint64_t past_granted(const struct past_lease *lease);
