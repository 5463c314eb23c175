/* copies.h - what the databases of the fleet remember, copied before they forget it: berthd is
 * asked every few seconds for what has come since. Each database has days of its own, in which
 * `ring` and `serial` are the id that its newest entry has there, MS-N. */
#pragma once

#include "client/connection.h"
#include "history/days.h"

struct copy {
    char *name; /* owned: the database's */
    struct days days;
    nanoseconds tried_at, whole_tried_at; /* when what has been answered, or wholly, was asked */
    int64_t whole_at; /* when all was there, in milliseconds since 1970; 0: not known */
};

struct copies {
    bool is_on;
    struct endpoint endpoint;
    const char *directory;
    nanoseconds keep;
    uint64_t size; /* for each */
    struct copy **list; /* owned, as what it points to */
    size_t n;

    struct connection connection; /* of its own: its answers are long */
    bool is_asking, has_begun, has_failed; /* the latter two: the answer */
    struct copy *asked; /* whose entries come; NULL: names of databases do */
    bool awaits_known; /* the newest entry that is known is to come first, else it has gone */
    nanoseconds asked_at, heard_at;
    size_t next; /* in the list: who is asked in this round */
    nanoseconds act_at, names_at; /* the next round; the next time that names are asked for */
};

/* What was copied before is there at once. Later on, `directory` must still be there. */
void copies_begin(struct copies *copies, const struct endpoint *berthd, const char *directory,
    nanoseconds keep, uint64_t size);
void copies_end(struct copies *copies);
/* Asks, and takes some of what has come. False: nothing is awaited. */
bool copies_look(struct copies *copies, nanoseconds now);
/* Each 30 seconds. */
void copies_tend(struct copies *copies, int64_t now);
/* NULL: that one is not copied. */
struct copy *copies_find(const struct copies *copies, const char *database);
/* Whether the answer to a question since that time is still to come: looks for it, which takes
 * 10 ms at most. */
bool copies_await(struct copies *copies, const struct copy *copy, nanoseconds since);
/* From when on something may be missing, in milliseconds since 1970, if nothing has been copied
 * since that time; else 0. */
int64_t copy_cut(const struct copy *copy, nanoseconds since);
