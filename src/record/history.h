/* history.h - what is kept of leases and waits that are over, and of what operators did, for
 * `history`: `<socket>.history` in the runtime directory. */
#pragma once

#include "base/sorted_set.h"
#include "base/text.h"
#include "core/core.h"
#include "journal/history_entry.h"
#include "journal/history_ring.h"
#include "log/log.h"

struct history {
    struct history_ring ring;
    uint64_t n_ended; /* leases that were over in this run, kept or not */
    bool has_said_cut; /* in the log, that the file was cut */
    struct sorted_set over; /* leases by id, for history_has_end(); filled by it */
    uint64_t looked_at; /* up to there, history_ring_next() */
};

/* Of a daemon that listens there. `size`: of the ring, in bytes; 0: no history. */
void history_begin(
    struct history *history, const char *socket_path, const char *boot_id, size_t size);
void history_end(struct history *history);

/* ---- at the start ---- */

/* How a lease of an earlier run ended. */
struct earlier_end {
    enum outcome why; /* OUTCOME_RELEASED: its job was gone */
    nanoseconds at;
    bool was_unseen; /* at some time before .at, while there was no berthd */
};

/* `record` is the lease's record, of `length` bytes. */
void history_add_earlier(struct history *history, struct core *core,
    const struct saved_lease *saved, const struct earlier_end *end, const char *record,
    size_t length);

/* ---- afterwards ---- */

/* Whether an entry says that the lease is over. The first call reads all entries, later ones what
 * has been added since. */
bool history_has_end(struct history *history, uint64_t lease);

/* Appends, for the log, how the lease has ended: "exit 3", "SIGTERM", "released", "gone",
 * "max-hold, SIGTERM". Nothing if its end is not counted. */
void history_say_end(const struct lease *lease, struct text *out);
/* The lease has ended; `record` is its last record, which will be erased after that. NULL: it has
 * none, and is not kept. */
void history_ended(
    struct history *history, const struct lease *lease, const char *record, size_t length);
/* An operator's request has succeeded. */
void history_add_did(struct history *history, const struct did *did, nanoseconds at);

/* How a lease of fleet scope has ended, as its database keeps it (doc/redis.md). NULL: that is not
 * kept. The caller frees it. */
char *history_ending(const struct lease *lease);

/* The next lease that is over, or what an operator did (did_read()), from *positionp on
 * (history_ring_next()). False: that is the end. */
bool history_next(
    const struct history *history, uint64_t *positionp, struct history_entry *entry);
