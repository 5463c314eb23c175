/* record.h - one lease as a line of text, for the journal (doc/journal.md): words of key=value,
 * percent-encoded, without LF. The reader checks everything: a record may be damaged in spite of
 * its checksum. Pure.
 *
 * Databases get new numbers at each start, so a record of fleet scope has its database's name. */
#pragma once

#include "base/text.h"
#include "core/core.h"

/* Appends everything about a waiting or held lease that must outlive berthd. `database` is the name
 * of its database; NULL in host scope. Without the reason of a stop it is never longer than
 * record_max_bytes(). */
void record_write(
    struct text *out, const struct lease *lease, const char *database, bool with_reason);
/* Appends to the record of a held lease when it has ended, and how long its units rest. */
void record_add_rest(struct text *record, const struct saved_lease *ended);
size_t record_rest_bytes(size_t n_claims); /* the most that this appends */
/* How long the record of a lease with such texts can get, whatever becomes of it, without the
 * reason of a stop. `units` as units_max_bytes() gives it. */
size_t record_max_bytes(const struct lease_attributes *attributes, const char *database,
    size_t n_claims, size_t units);

enum record_kind {
    RECORD_LEASE,
    RECORD_UNKNOWN, /* another version's; may be left alone */
    RECORD_MUST_UNDERSTAND, /* another version's; may not */
    RECORD_NONSENSE,
};

/* Depends on the first word alone. */
enum record_kind record_kind(const char *text, size_t length);
/* NULL if this is no lease's record. Keeps no pointer to `text`; record_free() frees it.
 * remembered.database is 0: the caller finds the number. */
struct saved_lease *record_read(const char *text, size_t length);
/* NULL: host scope. Good as long as `remembered`. */
const char *record_database(const struct saved_lease *saved);
/* Accepts NULL; returns NULL. */
struct saved_lease *record_free(struct saved_lease *saved);

enum { RECORD_NUMBERS_BYTES = 96 }; /* more than it has */
/* The record of the ids and tokens given out: all are smaller than the mark. They follow those of
 * the state file with that fingerprint. */
struct record_numbers {
    uint64_t mark, of;
    uint64_t rates_begun; /* core_rates_begun() */
};
void record_write_numbers(struct text *out, const struct record_numbers *numbers);
/* False: it is another record. */
bool record_read_numbers(const char *text, size_t length, struct record_numbers *numbers);
