#include "database/fleet_journal.h"

#include "admission/server.h"
#include "base/words.h"
#include "conn/disk_wait.h"
#include "fleet/session.h"
#include "log/log.h"
#include "record/journal_log.h"

#include <errno.h>
#include <string.h>

/* ---- tenures ----
 *
 *     database NAME LINE          as session_write() made it
 */

static const char word[] = "database ";

enum { WORD_BYTES = sizeof word - 1, LINE_MAX_BYTES = 512 };

bool fleet_is_tenure(const char *text, size_t length)
{
    return length > WORD_BYTES && memcmp(text, word, WORD_BYTES) == 0;
}

bool fleet_tenure_can_be_read(const char *text, size_t length)
{
    for (size_t i = 1; i < length; i++) {
        if (text[i] == '!' && text[i - 1] == ' ') {
            return false;
        }
    }
    return true;
}

static const char *name_of(const struct fleet_journal *fleet_journal, uint8_t database)
{
    return fleet_name_of(&fleet_journal->server->databases, database);
}

/* The database whose name, followed by a blank, `text` begins with; 0 if there is none. */
static uint8_t find_database(
    const struct fleet_journal *fleet_journal, const char *text, size_t length)
{
    for (size_t i = 1; i <= fleet_journal->server->databases.n; i++) {
        const char *name = name_of(fleet_journal, (uint8_t)i);
        size_t n = strlen(name);
        if (length > n && memcmp(text, name, n) == 0 && text[n] == ' ') {
            return (uint8_t)i;
        }
    }
    return 0;
}

static struct fleet_record *record_of(struct fleet_journal *fleet_journal, uint8_t database)
{
    return &fleet_journal->records[database - 1];
}

static struct session *session_of(const struct fleet_journal *fleet_journal, uint8_t database)
{
    return fleet_journal->records[database - 1].session;
}

/* The database that a record is about, and what it says. 0: not one of ours. */
static uint8_t read_tenure(
    const struct fleet_journal *fleet_journal, const char *text, size_t length, const char **linep)
{
    uint8_t database = find_database(fleet_journal, text + WORD_BYTES, length - WORD_BYTES);
    if (database != 0) {
        *linep = text + WORD_BYTES + strlen(name_of(fleet_journal, database)) + 1;
    }
    return database;
}

void fleet_restore_tenure(struct fleet_journal *fleet_journal, uint32_t record, const char *text,
    size_t length, nanoseconds now, struct effects *effects)
{
    const char *line;
    uint8_t database = read_tenure(fleet_journal, text, length, &line);
    if (database == 0) {
        return;
    }
    if (!session_restore_tenure(session_of(fleet_journal, database), line,
            length - (size_t)(line - text), now, effects)) {
        log_error("[redis %s]: its journal record is malformed",
            name_of(fleet_journal, database));
    }
    record_of(fleet_journal, database)->record = record;
}

void fleet_forget_tenure(
    struct fleet_journal *fleet_journal, uint32_t record, const char *text, size_t length)
{
    const char *line;
    if (read_tenure(fleet_journal, text, length, &line) == 0) {
        journal_erase(&fleet_journal->server->ledger.journal, record);
    }
}

bool fleet_is_written_down(const struct fleet_journal *fleet_journal, uint8_t database)
{
    return !fleet_journal->records[database - 1].is_unwritten;
}

/* Repeated in each turn until it succeeds: the record before is older, so a restart would end
 * leases sooner, never later. */
static void write_tenure(struct fleet_journal *fleet_journal, uint8_t database)
{
    struct fleet_record *entry = record_of(fleet_journal, database);
    struct journal *journal = &fleet_journal->server->ledger.journal;
    struct text *line = &fleet_journal->line;
    line->length = 0;
    text_add(line, word);
    text_add(line, name_of(fleet_journal, database));
    text_add(line, " ");
    session_write(session_of(fleet_journal, database), line);
    if (entry->record == 0) {
        entry->record = journal_reserve(journal, WORD_BYTES + NAME_BYTES + 1 + LINE_MAX_BYTES);
    }
    entry->is_unwritten = entry->record == 0 ||
        !journal_write(journal, entry->record, line->bytes, line->length);
    if (entry->is_unwritten) {
        log_ratelimited("the journal cannot be written: %s", strerror(errno));
    }
}

/* ---- operators' changes ----
 *
 *     fleet NAME-OF-DATABASE LINE          each line as session_write_changes() made it
 */

static const char change_word[] = "fleet ";

/* The length of the line there, without its LF; *nextp: the next line. */
static size_t line_length(const char *line, const char **nextp)
{
    const char *end = strchr(line, '\n');
    size_t length = end ? (size_t)(end - line) : strlen(line);
    *nextp = line + length + (end ? 1 : 0);
    return length;
}

/* The lines of one database, as it wrote them. */
static void gather(struct text *out, const struct fleet_journal *fleet_journal, uint8_t database,
    const char *lines)
{
    for (const char *next; *lines; lines = next) {
        size_t length = line_length(lines, &next), skip = strlen(change_word);
        if (length > skip &&
            find_database(fleet_journal, lines + skip, length - skip) == database) {
            skip += strlen(name_of(fleet_journal, database)) + 1;
            text_add_bytes(out, lines + skip, length - skip);
            text_add(out, "\n");
        }
    }
}

void fleet_restore_changes(struct fleet_journal *fleet_journal)
{
    for (size_t i = 1; i <= fleet_journal->server->databases.n; i++) {
        struct text lines = TEXT_INIT;
        gather(&lines, fleet_journal, (uint8_t)i, fleet_journal->server->state.fleet_changes);
        if (lines.length > 0) {
            session_restore_changes(
                session_of(fleet_journal, (uint8_t)i), lines.bytes, lines.length);
        }
        text_deinit(&lines);
    }
}

static void add_changes(
    struct text *out, const struct fleet_journal *fleet_journal, uint8_t database)
{
    struct text lines = TEXT_INIT;
    text_add(&lines, "");
    session_write_changes(session_of(fleet_journal, database), &lines);
    const char *next;
    for (const char *line = lines.bytes; *line; line = next) {
        size_t length = line_length(line, &next);
        text_add_format(
            out, "%s%s %.*s\n", change_word, name_of(fleet_journal, database), (int)length, line);
    }
    text_deinit(&lines);
}

static void note_changes(struct fleet_journal *fleet_journal)
{
    struct text all = TEXT_INIT;
    text_add(&all, "");
    for (size_t i = 1; i <= fleet_journal->server->databases.n; i++) {
        add_changes(&all, fleet_journal, (uint8_t)i);
    }
    if (state_set_fleet_changes(&fleet_journal->server->state, all.bytes, all.length)) {
        disk_wait_note_fleet_changes(fleet_journal->server->disk_wait);
    } else {
        state_log_too_many_changes(&fleet_journal->server->state);
    }
    text_deinit(&all);
}

/* ---- both ---- */

void fleet_write_down(struct fleet_journal *fleet_journal, uint8_t database)
{
    struct session *session = session_of(fleet_journal, database);
    if (fleet_journal->server->turn.stopping) {
        return;
    }
    if (session_is_changed(session) || record_of(fleet_journal, database)->is_unwritten) {
        write_tenure(fleet_journal, database);
    }
    if (session_changes_changed(session)) {
        note_changes(fleet_journal);
    }
}
