/* fleet_journal.h - what outlives the daemon of its databases: each one's tenure (until when its
 * leases are good, the incarnation, the highest numbers seen) in the journal, and operators'
 * changes in the state directory. What the lines say is fleet/session.h's. Restoring: fleet_sessions.h. */
#ifndef BERTH_DAEMON_FLEET_JOURNAL_H
#define BERTH_DAEMON_FLEET_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct server;

/* Of one database. */
struct fleet_record {
    uint32_t record; /* of the journal; 0: none yet */
    bool is_unwritten; /* what is written there is not true any more */
};

/* Whether a record of the journal is one of fleet_restore_tenure(). */
bool fleet_is_tenure(const char *text, size_t length);
/* Of such a record: a later version has not marked anything of it as not to be ignored. */
bool fleet_tenure_can_be_read(const char *text, size_t length);

/* Frees it, if it is of a database that is not in the file any more. */
void fleet_forget_tenure(struct server *server, uint32_t record, const char *text, size_t length);
/* While it could not be, nothing new is asked for there: a restart would not know how long it is
 * good. */
bool fleet_is_written_down(const struct server *server, uint8_t database);

/* Before the first session is connected: the changes that the state directory knows. */
void fleet_restore_changes(struct server *server);
/* Once per turn and database, before anything is sent: what has changed since. */
void fleet_write_down(struct server *server, uint8_t database);

#endif
