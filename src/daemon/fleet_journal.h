/* fleet_journal.h - what outlives the daemon of its databases: each one's tenure (until when its
 * leases are good, the incarnation, the highest numbers seen) in the journal, and operators'
 * changes in the state directory. What the lines say is fleet/session.h's. */
#ifndef BERTH_DAEMON_FLEET_JOURNAL_H
#define BERTH_DAEMON_FLEET_JOURNAL_H

#include "base/text.h"
#include "core/database.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct effects;
struct fleet_names;
struct journal;
struct session;
struct state;
struct storing;
struct turn;

/* Of one database. */
struct fleet_record {
    struct session *session;
    uint32_t record; /* of the journal; 0: none yet */
    bool is_unwritten; /* what is written there is not true any more */
};

struct fleet_journal {
    struct journal *journal;
    struct state *state;
    struct storing *storing; /* writes that */
    const struct turn *turn;
    const struct fleet_names *databases;
    struct text line; /* of the journal; kept for its memory */
    struct fleet_record records[MAX_DATABASES]; /* database 1 first */
};

/* A database has that session, which must outlive all but fleet_journal_deinit(). */
void fleet_journal_begin(
    struct fleet_journal *fleet_journal, uint8_t database, struct session *session);
void fleet_journal_deinit(struct fleet_journal *fleet_journal);

/* Whether a record of the journal is a tenure: "database NAME ...". */
bool fleet_is_tenure(const char *text, size_t length);
/* Of such a record: a later version has not marked anything of it as not to be ignored. */
bool fleet_tenure_can_be_read(const char *text, size_t length);

/* What recovery.c has found there comes back into the session. */
void fleet_restore_tenure(struct fleet_journal *fleet_journal, uint32_t record, const char *text,
    size_t length, nanoseconds now, struct effects *effects);
/* Frees it, if it is of a database that is not in the file any more. */
void fleet_forget_tenure(
    struct fleet_journal *fleet_journal, uint32_t record, const char *text, size_t length);
/* While it could not be, nothing new is asked for there: a restart would not know how long it is
 * good. */
bool fleet_is_written_down(const struct fleet_journal *fleet_journal, uint8_t database);

/* Before the first session is connected: the changes that the state directory knows. */
void fleet_restore_changes(struct fleet_journal *fleet_journal);
/* Once per turn and database, before anything is sent: what has changed since. */
void fleet_write_down(struct fleet_journal *fleet_journal, uint8_t database);

#endif
