/* reasons.h - why a request waits, would wait or is refused, in words. Every explanation that
 * people read comes from here: the answer to `why`, the line of a waiting berth, a refusal. Pure.
 *
 * There are two forms. `lines` has a sentence for each thing, and several holders. `brief` is one
 * line, which names the holder of each resource who has held it for longest. */
#pragma once

#include "base/text.h"
#include "core/core.h"
#include "status/viewer.h"
#include "wire/status_keys.h"

enum {
    MAX_REASONS_HOLDERS = 8, /* named in `lines`, for each resource */
    MAX_REASONS_RESERVED = 8,
    MAX_BRIEF_BYTES = 1000, /* before encoding */
};

struct reasons {
    struct text lines; /* "because SENTENCE\n" each, encoded */
    struct text brief;
    struct text stops; /* the part of .brief that says why nobody is granted anything */
};

void reasons_deinit(struct reasons *reasons);

/* Adds "WORD TEXT\n", the text cut to `max` bytes and encoded. */
void reasons_write(struct text *out, const char *word, char *what, size_t max);

/* Adds a sentence to `lines`. */
void reasons_say(struct reasons *reasons, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Adds a remark to `brief`, behind the resources. */
void reasons_remark(struct reasons *reasons, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same in all three: nothing is granted to anybody. `stop` is its word there. */
void reasons_stop(struct reasons *reasons, const char *stop, const char *sentence);

/* The same if this host's grace is closed. */
void reasons_stop_if_closed(struct reasons *reasons, const struct core *core, nanoseconds now);

/* "job-7, pid 812 on ada (make, uid 1000: nightly)": whose lease it is. */
void party_write(struct text *out, const struct status_lease *lease);

/* "paused by root (ada) on web1: new disks": what precedes the colon depends on what is known. */
void pause_write(struct text *out, const struct status_resource *line);
/* Looks the names up of who has paused and changed it. */
void said_name_users(struct status_resource *line, const struct viewer *viewer);
/* Adds "this host is being drained (4m ago by root (ada): new disks)", as above. `wall`: now, in
 * milliseconds since 1970; 0: it does not say when. */
void drain_write(
    struct text *out, struct shown_decision said, const struct viewer *viewer, uint64_t wall);

enum { WANTS_ALL = 0 }; /* in place of a number of units */

/* One of the resources that a request is for. */
struct reasons_resource {
    const struct status_resource *line;
    struct instant now;
    uint64_t wall; /* now, in milliseconds since 1970 */
    uint64_t wants; /* units; or WANTS_ALL */
    uint64_t position; /* of the request there; 0: not known */
    uint64_t reserved; /* units */
    uint64_t cools_for; /* the next one that cools down; milliseconds, 0: not known */
    uint64_t goes_in; /* until the rate lets it go, or the next unit if others are before it;
                         milliseconds, 0: now */
    uint64_t n_holders;
    const struct status_lease *first; /* the holder for longest, as far as known; or NULL */
};

/* Adds the resource to `brief`. Every resource comes before the first remark. */
void reasons_brief(struct text *brief, const struct reasons_resource *resource);
/* Adds it to all three; its holders and waiters follow. */
void reasons_resource(struct reasons *reasons, const struct reasons_resource *resource);
/* `left`: until max-hold ends the lease; NEVER: nothing does. */
void reasons_holder(struct reasons *reasons, const struct reasons_resource *resource,
    const struct status_lease *holder, uint64_t n_units, nanoseconds left);
/* Those who have not been named. */
void reasons_other_holders(
    struct reasons *reasons, const struct reasons_resource *resource, uint64_t n);
void reasons_reserved(struct reasons *reasons, const struct reasons_resource *resource,
    const char *unit, const char *reason);

/* Who waits ahead. */
struct reasons_ahead {
    uint64_t n; /* all of them */
    uint64_t n_aside; /* passed over at present; those of them that are known */
    const struct status_lease *first; /* of the others; or NULL */
};

void reasons_ahead(struct reasons *reasons, const struct reasons_resource *resource,
    const struct reasons_ahead *ahead);
