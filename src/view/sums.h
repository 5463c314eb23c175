/* sums.h - what is counted of leases and waits, for each resource and user, and the `figures`
 * lines of the answer to `stats`. Pure.
 *
 * Doc: doc/protocol.md, stats. Berth-history feeds a sums with its rows, and berthctl with an
 * answer to `history`, or with these lines. Instants and spans are milliseconds. */
#pragma once

#include "base/table.h"
#include "view/spread.h"
#include "wire/fields.h"

/* Of leases and waits that are over, and of the waits that go on. */
struct figures {
    uint64_t n_leases; /* that were granted */
    uint64_t n_refused; /* waits that ended without a grant */
    uint64_t n_waiting; /* now */
    struct spread waits; /* of all three; those that go on: so far */
    struct spread holds; /* of the leases */
    /* Times a unit was held in the span, also by leases that are still held. */
    struct optional unit_time; /* not given: of some it is not known how many units they had */
};

/* The figures of one resource and user; or of all resources of one user, where a lease on several
 * counts once: then the name is SUMS_ALL. */
struct sums_row {
    struct table_node node;
    struct figures figures;
    char *name; /* owned, like the next */
    char *database; /* of fleet scope: its name; else "" */
    uint64_t uid;
};

#define SUMS_ALL "*"

/* {0} is an empty one. */
struct sums {
    struct table rows;
    uint64_t from, to; /* the span, of which .unit_time is; set them first */
};

void sums_deinit(struct sums *sums);

/* ---- counting ---- */

enum sums_kind { SUMS_LEASE, SUMS_REFUSED, SUMS_HELD, SUMS_WAITING };

/* A lease or wait that is over, or (the latter kinds) goes on. */
struct sums_entry {
    enum sums_kind kind;
    uint64_t uid;
    uint64_t ended; /* or now */
    uint64_t waited; /* until the grant, or in vain until then */
    uint64_t held; /* until then; 0 of a wait */
    const char *database; /* of fleet scope: its name; else NULL */
};

/* What it had of one resource. */
struct sums_claim {
    const char *name;
    struct optional units; /* how many; not given: that is not known; 0 of a wait */
};

/* Counts it for each of these resources, and once for its user. */
void sums_add(struct sums *sums, const struct sums_entry *entry,
    const struct sums_claim claims[], size_t n);

/* Adds up. */
void figures_merge(struct figures *into, const struct figures *from);
void figures_deinit(struct figures *figures);

/* Drops what has been counted of that database; NULL: all. */
void sums_forget(struct sums *sums, const char *database);
/* Adds what another has counted. */
void sums_merge(struct sums *into, const struct sums *from);

/* Lists the rows, by name, then by uid; the caller frees the list. Returns how many. */
size_t sums_list(const struct sums *sums, const struct sums_row ***listp);

/* ---- as lines ---- */

/* Adds the lines of some rows: *cursorp begins at 0, and is 0 after the last. */
void sums_write_some(const struct sums *sums, uint64_t *cursorp, struct text *out);
/* Adds what the line `figures NAME KEY=VALUE...` says. Modifies it. False: malformed. */
bool sums_take(struct sums *sums, char *line);
