/* record.h - one lease as a line of text, for the journal (doc/journal.md): words of key=value,
 * percent-encoded, without LF. Whatever is read may be damaged in spite of its checksum: it is all checked. Pure.
 *
 * Databases are numbered anew at each start: a lease of fleet scope is written with the name of its
 * database. */
#ifndef BERTH_JOURNAL_RECORD_H
#define BERTH_JOURNAL_RECORD_H

#include "base/text.h"
#include "core/core.h"

/* Adds all of a waiting or held lease that must outlive berthd. `database` is the name of its
 * database; NULL in host scope. */
void record_write(struct text *out, const struct lease *lease, const char *database);
/* To the record of a held lease: it has ended, and its units rest from then on. */
void record_add_rest(struct text *record, nanoseconds ended_at);
/* How long the record of a lease with such texts can get, whatever becomes of it. `units` as
 * units_most_bytes() gives it. */
size_t record_most_bytes(const struct terms *terms, const char *database, size_t units);

enum record_kind {
    RECORD_LEASE,
    RECORD_UNKNOWN, /* another version's; can be left alone */
    RECORD_MUST_UNDERSTAND, /* another version's; cannot */
    RECORD_NONSENSE,
};

/* What its first word says. */
enum record_kind record_kind(const char *text, size_t length);
/* NULL if it is not a lease's record. Keeps nothing of `text`; record_free() frees it. remembered.database
 * is 0: the caller knows its number. */
struct remembered *record_read(const char *text, size_t length);
/* NULL: host scope. Good as long as what was read. */
const char *record_database(const struct remembered *remembered);
/* Returns NULL, accepts it. */
struct remembered *record_free(struct remembered *remembered);

#endif
