/* fleet_ended.h - parses a page of a database's history, as the script `snapshot` answers it
 * (doc/redis.md). Pure. Other hosts have written it: what makes no sense is skipped. */
#pragma once

#include "core/ended.h"
#include "core/saved_lease.h"
#include "status/ended_line.h"
#include "status/fleet_rows.h"

enum { STREAM_ID_SIZE = 42 }; /* MS-N, and a NUL */

/* Times in milliseconds since 1970, by Redis' clock. */
struct fleet_page {
    nanoseconds read_at;
    uint64_t now;
    uint64_t since; /* of the first entry that there is; 0: there is none */
    char next[STREAM_ID_SIZE]; /* the next page begins behind it; "": this is the last one */
    uint64_t n_missed, missed_since; /* of late, and left out so far; 0: none */
};

/* False: the server has not said it. */
bool fleet_page_read(
    struct fleet_page *page, const struct fleet_rows *rows, nanoseconds read_at);
/* Takes MS-N apart. False: it is no id of an entry; or NULL. */
bool stream_id_parse(const char *id, uint64_t *msp, uint64_t *numberp);
/* When an entry with that id came; 0: it is none. */
uint64_t fleet_id_time(const char *id);
/* By this host's clock that never steps. */
nanoseconds fleet_page_instant(const struct fleet_page *page, uint64_t ms);

/* Ends that were left out, in a row of its own. */
struct fleet_missed {
    uint64_t n, from, until;
};

bool fleet_missed_read(struct fleet_missed *missed, const struct fleet_row *row);
const char *fleet_missed_id(const struct fleet_row *row); /* in the stream */

/* A lease or wait that is over: what its line needs. Or what an operator did: to the lease that
 * .key names, or else to .lease.claims, if there are any; .lease.uid is who did it. */
struct fleet_ended {
    struct history_entry entry;
    struct saved_lease lease;
    struct did did; /* .verb NULL: nobody did anything; .target: the request's second argument */
    const char *stream_id;
    const char *key; /* SESSION/LEASE; "": none */
    const char *from; /* what an operator did: it begins with the session where; else "" */
    char host[REASON_BYTES + 1], word[REASON_BYTES + 1], was[REASON_BYTES + 1];
    char how[32], why[REASON_BYTES + 1], texts[N_ATTRIBUTES][REASON_BYTES + 1];
    char *claims; /* owned, as the units of the lease's claims */
};

/* False: the row is none, or makes no sense; there is nothing to deinit. */
bool fleet_ended_read(struct fleet_ended *ended, const struct fleet_row *row,
    const struct fleet_page *page);
void fleet_ended_deinit(struct fleet_ended *ended);
