#include "daemon/fleet_journal.h"

#include "base/words.h"
#include "daemon/fleet_sessions.h"
#include "daemon/server.h"
#include "daemon/storing.h"
#include "log/log.h"

#include <errno.h>
#include <string.h>

/* ---- tenures ----
 *
 *     database NAME LINE          as session_write() made it
 */

static const char word[] = "database ";

enum { WORD_BYTES = sizeof word - 1, LINE_MOST_BYTES = 512 };

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

/* The database whose name `text` begins with, a blank behind it; 0 if there is none. */
static uint8_t find_database(const struct server *server, const char *text, size_t length)
{
    for (size_t i = 1; i <= server->databases.n; i++) {
        const char *name = fleet_database(&server->databases, (uint8_t)i)->name;
        size_t n = strlen(name);
        if (length > n && memcmp(text, name, n) == 0 && text[n] == ' ') {
            return (uint8_t)i;
        }
    }
    return 0;
}

static struct fleet_record *record_of(struct server *server, uint8_t database)
{
    return &server->fleet_records[database - 1];
}

/* Of a record: the database that it is about, and what it says of that. 0: not one of ours. */
static uint8_t read_tenure(
    const struct server *server, const char *text, size_t length, const char **linep)
{
    uint8_t database = find_database(server, text + WORD_BYTES, length - WORD_BYTES);
    if (database != 0) {
        *linep = text + WORD_BYTES + strlen(fleet_database(&server->databases, database)->name) + 1;
    }
    return database;
}

void fleet_restore_tenure(
    struct server *server, uint32_t record, const char *text, size_t length, nanoseconds now)
{
    const char *line;
    uint8_t database = read_tenure(server, text, length, &line);
    if (database == 0) {
        return;
    }
    if (!session_restore_tenure(fleet_session(server, database), line,
            length - (size_t)(line - text), now, &server->effects)) {
        log_error("[redis %s]: its record in the journal makes no sense",
            fleet_database(&server->databases, database)->name);
    }
    record_of(server, database)->record = record;
}

void fleet_forget_tenure(struct server *server, uint32_t record, const char *text, size_t length)
{
    const char *line;
    if (read_tenure(server, text, length, &line) == 0) {
        journal_erase(&server->ledger.journal, record);
    }
}

bool fleet_is_written_down(const struct server *server, uint8_t database)
{
    return !server->fleet_records[database - 1].is_unwritten;
}

/* Anew in each turn until it is there: what the last one said is older, so a restart would end
 * leases sooner, never later. */
static void write_tenure(struct server *server, uint8_t database)
{
    struct fleet_record *its = record_of(server, database);
    struct text *line = &server->ledger.line;
    line->length = 0;
    text_add(line, word);
    text_add(line, fleet_database(&server->databases, database)->name);
    text_add(line, " ");
    session_write(fleet_session(server, database), line);
    if (its->record == 0) {
        its->record =
            journal_reserve(&server->ledger.journal, WORD_BYTES + NAME_BYTES + 1 + LINE_MOST_BYTES);
    }
    its->is_unwritten = its->record == 0 ||
        !journal_write(&server->ledger.journal, its->record, line->bytes, line->length);
    if (its->is_unwritten) {
        log_provoked("the journal cannot be written: %s", strerror(errno));
    }
}

/* ---- operators' changes ----
 *
 *     fleet NAME-OF-DATABASE LINE          each line as session_write_changes() made it
 */

static const char change_word[] = "fleet ";

/* The line that begins there, without its LF; *nextp: the one behind it. */
static size_t line_length(const char *line, const char **nextp)
{
    const char *end = strchr(line, '\n');
    size_t length = end ? (size_t)(end - line) : strlen(line);
    *nextp = line + length + (end ? 1 : 0);
    return length;
}

/* The lines of one database, as it wrote them. */
static void gather(
    struct text *out, const struct server *server, uint8_t database, const char *lines)
{
    for (const char *next; *lines; lines = next) {
        size_t length = line_length(lines, &next), skip = strlen(change_word);
        if (length > skip && find_database(server, lines + skip, length - skip) == database) {
            skip += strlen(fleet_database(&server->databases, database)->name) + 1;
            text_add_bytes(out, lines + skip, length - skip);
            text_add(out, "\n");
        }
    }
}

void fleet_restore_changes(struct server *server)
{
    for (size_t i = 1; i <= server->databases.n; i++) {
        struct text lines = TEXT_INIT;
        gather(&lines, server, (uint8_t)i, server->state.fleet_changes);
        if (lines.length > 0) {
            session_restore_changes(fleet_session(server, (uint8_t)i), lines.bytes, lines.length);
        }
        text_deinit(&lines);
    }
}

static void add_changes(struct text *out, const struct server *server, uint8_t database)
{
    struct text lines = TEXT_INIT;
    text_add(&lines, "");
    session_write_changes(fleet_session(server, database), &lines);
    const char *next;
    for (const char *line = lines.bytes; *line; line = next) {
        size_t length = line_length(line, &next);
        text_add(out, change_word);
        text_add(out, fleet_database(&server->databases, database)->name);
        text_add(out, " ");
        text_add_bytes(out, line, length);
        text_add(out, "\n");
    }
    text_deinit(&lines);
}

static void note_changes(struct server *server)
{
    struct text all = TEXT_INIT;
    text_add(&all, "");
    for (size_t i = 1; i <= server->databases.n; i++) {
        add_changes(&all, server, (uint8_t)i);
    }
    if (state_set_fleet_changes(&server->state, all.bytes, all.length)) {
        storing_note_fleet_changes(server);
    }
    text_deinit(&all);
}

/* ---- both ---- */

void fleet_write_down(struct server *server, uint8_t database)
{
    struct session *session = fleet_session(server, database);
    if (server->turn.stopping) {
        return;
    }
    if (session_is_changed(session) || record_of(server, database)->is_unwritten) {
        write_tenure(server, database);
    }
    if (session_changes_changed(session)) {
        note_changes(server);
    }
}
