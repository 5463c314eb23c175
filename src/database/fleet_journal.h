/* fleet_journal.h - what outlives the daemon about its databases: each one's tenure (until when its
 * leases are good, the incarnation, the highest numbers seen) in the journal, and operators'
 * changes in the state directory. fleet/session.h has the meaning of the lines. */
#pragma once

#include "base/text.h"
#include "core/database.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct effects;
struct server;
struct session;

/* For one database. */
struct fleet_record {
    struct session *session; /* set by fleet_new() */
    uint32_t record; /* of the journal; 0: none yet */
    bool is_unwritten; /* the record is out of date */
};

struct fleet_journal {
    struct server *server;
    struct text line; /* of the journal; kept for its memory */
    struct fleet_record records[MAX_DATABASES]; /* database 1 first */
};

/* Whether a record of the journal is a tenure: "database NAME ...". */
bool fleet_is_tenure(const char *text, size_t length);
/* False: a later version has marked a part of it that must not be ignored. */
bool fleet_tenure_can_be_read(const char *text, size_t length);

/* Gives the session what recovery.c has found. */
void fleet_restore_tenure(struct fleet_journal *fleet_journal, uint32_t record, const char *text,
    size_t length, nanoseconds now, struct effects *effects);
/* Frees the record if its database is not in the file any more. */
void fleet_forget_tenure(
    struct fleet_journal *fleet_journal, uint32_t record, const char *text, size_t length);
/* While the tenure could not be written, no new lease is requested there: a restart would not know
 * how long it is good. */
bool fleet_is_written_down(const struct fleet_journal *fleet_journal, uint8_t database);

/* Before the first session is connected: restores the changes in the state directory. */
void fleet_restore_changes(struct fleet_journal *fleet_journal);
/* Once per turn and database, before anything is sent: writes what has changed. */
void fleet_write_down(struct fleet_journal *fleet_journal, uint8_t database);
