/* listed_news.h - news for followers from what databases have listed: the figures of resources, and
 * the leases of other hosts. News of this host's leases comes from the core, and they count in the
 * figures as the core has them. Pure. */
#ifndef BERTH_STATUS_LISTED_NEWS_H
#define BERTH_STATUS_LISTED_NEWS_H

#include "base/words.h"
#include "core/core.h"
#include "status/long_answer.h"

struct follow_source;

/* Adds the line of that resource; false if no database has listed it, or the file of this host
 * does not have it. */
bool listed_tell_resource(const struct follow_source *source, struct text *out, const char *name);
/* Adds the line of a template in fleet scope; false if its database has listed nothing yet. */
bool listed_tell_template(
    const struct follow_source *source, struct text *out, const struct template *template);
/* Adds what has become of SESSION/LEASE on that resource: its line, or "gone". */
void listed_tell_lease(const struct follow_source *source, const struct answer_moment *moment,
    struct text *out, const char *name, const char *key);

/* ---- piece by piece, for a snapshot; a newer listing may come between two pieces ---- */

/* The leases of other hosts on one resource. All zero: there are none. */
struct listed_walk {
    char name[NAME_BYTES + 1]; /* empty: that was all */
    uint64_t listing; /* its number; another one begins again: a line more does no harm */
    size_t next; /* row */
};

void listed_walk_begin(struct listed_walk *walk, const char *name);
void listed_walk_continue(struct listed_walk *walk, const struct follow_source *source,
    const struct answer_moment *moment, struct text *out, size_t enough);

/* The next resource behind `after` that the database has listed, that the file of this host allows
 * and that the core does not have: an instance that only other hosts use. Looks at no more than
 * *n_leftp; NULL: it is zero, and `after` is how far it has got, or there is none. */
const char *listed_next_foreign(const struct follow_source *source, uint8_t database,
    char after[static NAME_BYTES + 1], unsigned *n_leftp);

#endif
