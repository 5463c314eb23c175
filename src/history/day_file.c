#include "history/day_file.h"

#include "base/pattern.h"
#include "base/words.h"
#include "journal/checksum.h"
#include "wire/protocol.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    SCHEMA_VERSION = 1, /* user_version of the file */
    APPLICATION = 0x62726468, /* application_id: "brdh" */
};

/* The file is locked for us alone: so it needs no shared memory, which somebody could cut. */
static const char PRAGMAS[] = "PRAGMA locking_mode = EXCLUSIVE;"
                              "PRAGMA journal_mode = WAL;"
                              "PRAGMA synchronous = NORMAL;"
                              "PRAGMA wal_autocheckpoint = 16384;"
                              "PRAGMA journal_size_limit = 4194304;"
                              "PRAGMA temp_store = MEMORY;"
                              "PRAGMA trusted_schema = OFF;"
                              "PRAGMA cell_size_check = ON;";

/* What scans look at comes first in a row. */
static const char SCHEMA[] =
    "BEGIN;"
    "CREATE TABLE ended (number INTEGER PRIMARY KEY, kind INTEGER NOT NULL,"
    "  ended INTEGER NOT NULL, asked INTEGER NOT NULL, uid INTEGER NOT NULL,"
    "  lease INTEGER NOT NULL, hiding INTEGER NOT NULL, claims TEXT NOT NULL,"
    "  granted INTEGER NOT NULL, how TEXT NOT NULL, host TEXT,"
    "  ring INTEGER NOT NULL, serial INTEGER NOT NULL);"
    "CREATE TABLE line (number INTEGER PRIMARY KEY, sum INTEGER NOT NULL, line TEXT NOT NULL);"
    "CREATE TABLE ring (id INTEGER PRIMARY KEY, boot TEXT NOT NULL, serial INTEGER NOT NULL,"
    "  seen INTEGER NOT NULL, ended INTEGER NOT NULL);"
    "PRAGMA application_id = 1651663976;"
    "PRAGMA user_version = 1;"
    "COMMIT;";
_Static_assert(APPLICATION == 1651663976 && SCHEMA_VERSION == 1, "as in SCHEMA");

#define SCAN                                                                                       \
    "SELECT number, kind, ended, asked, uid, lease, hiding, claims FROM ended"                     \
    " WHERE number > ?1 AND number <= ?2 AND ended >= ?3 AND asked < ?4 AND (kind = 2 OR"          \
    " ((?5 < 0 OR uid = ?5) AND (?6 = 0 OR lease = ?6) AND (?7 = 0 OR is_asked(?8, claims))))"      \
    " ORDER BY number"
_Static_assert(ROW_GAP == 2, "as in SCAN");

static const char *const STATEMENTS[N_DAY_STATEMENTS] = {
    [DAY_BEGIN] = "BEGIN IMMEDIATE",
    [DAY_COMMIT] = "COMMIT",
    [DAY_ADD] = "INSERT INTO ended (kind, ended, asked, uid, lease, hiding, granted, ring, serial,"
                " claims, how, host) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)",
    [DAY_ADD_LINE] = "INSERT OR REPLACE INTO line (number, sum, line) VALUES (?1, ?2, ?3)",
    [DAY_SET_RING] = "INSERT OR REPLACE INTO ring (id, serial, seen, ended, boot)"
                     " VALUES (?1, ?2, ?3, ?4, ?5)",
    [DAY_GET_RING] = "SELECT id, serial, seen, ended, boot FROM ring ORDER BY seen DESC LIMIT 1",
    [DAY_TAKE_BACK] = "DELETE FROM ended WHERE number > (SELECT max(number) - 1000 FROM ended)"
                      " AND ring = ?1 AND serial = ?2",
    [DAY_FORWARD] = SCAN,
    [DAY_BACKWARD] = SCAN " DESC",
    [DAY_LINE] = "SELECT sum, line FROM line WHERE number = ?1",
    [DAY_NEWEST] = "SELECT coalesce(max(number), 0) FROM ended",
    [DAY_OLDEST_END] = "SELECT ended FROM ended ORDER BY number LIMIT 1",
};

/* ---- what goes wrong ---- */

/* A byte of its head says so, and no right. */
static bool says_read_only(sqlite3 *database)
{
    const char *path = sqlite3_db_filename(database, "main");
    return sqlite3_extended_errcode(database) == SQLITE_READONLY && path && access(path, W_OK) == 0;
}

static enum day_result failed(struct day_file *file, const char *doing)
{
    int code = sqlite3_errcode(file->database) & 0xff;
    int number = sqlite3_system_errno(file->database);
    bool is_damaged = code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_MISMATCH ||
        says_read_only(file->database);
    const char *why = code == SQLITE_BUSY ? "another process has it"
        : code == SQLITE_FULL             ? "there is no space left"
                                          : sqlite3_errmsg(file->database);
    snprintf(file->why, sizeof file->why, "%s: %s%s%s", doing, why,
        number && code != SQLITE_FULL ? ": " : "",
        number && code != SQLITE_FULL ? strerror(number) : "");
    return is_damaged ? DAY_IS_DAMAGED : DAY_FAILS;
}

/* ---- statements ---- */

static sqlite3_stmt *bind(
    struct day_file *file, enum day_statement statement, const int64_t numbers[], int n)
{
    sqlite3_stmt *bound = file->statements[statement];
    sqlite3_reset(bound);
    for (int i = 0; i < n; i++) {
        sqlite3_bind_int64(bound, i + 1, numbers[i]);
    }
    return bound;
}

static void bind_text(sqlite3_stmt *statement, int place, const char *text)
{
    sqlite3_bind_text(statement, place, text, -1, SQLITE_STATIC);
}

/* One that changes something. A change that fails takes the others of its transaction with it. */
static enum day_result run(struct day_file *file, sqlite3_stmt *statement)
{
    enum day_result result = DAY_DONE;
    if (sqlite3_step(statement) != SQLITE_DONE) {
        result = failed(file, "cannot write");
        sqlite3_exec(file->database, "ROLLBACK", NULL, NULL, NULL);
    }
    sqlite3_reset(statement);
    return result;
}

/* Asks for a row at most. */
static enum day_result ask(struct day_file *file, sqlite3_stmt *statement, bool *has_rowp)
{
    int code = sqlite3_step(statement);
    *has_rowp = code == SQLITE_ROW;
    return code == SQLITE_ROW || code == SQLITE_DONE ? DAY_DONE : failed(file, "cannot read");
}

static enum day_result ask_number(
    struct day_file *file, enum day_statement statement, int64_t *numberp)
{
    bool has_row;
    sqlite3_stmt *query = bind(file, statement, NULL, 0);
    enum day_result result = ask(file, query, &has_row);
    *numberp = has_row ? sqlite3_column_int64(query, 0) : 0;
    sqlite3_reset(query);
    return result;
}

static enum day_result ask_sql(struct day_file *file, const char *sql, int64_t *numberp)
{
    bool has_row = false;
    sqlite3_stmt *query = NULL;
    enum day_result result = sqlite3_prepare_v2(file->database, sql, -1, &query, NULL)
        ? failed(file, "cannot read")
        : ask(file, query, &has_row);
    *numberp = has_row ? sqlite3_column_int64(query, 0) : 0;
    sqlite3_finalize(query);
    return result;
}

/* ---- open ---- */

static enum day_result execute(struct day_file *file, const char *sql)
{
    return sqlite3_exec(file->database, sql, NULL, NULL, NULL) == SQLITE_OK
        ? DAY_DONE
        : failed(file, "cannot open");
}

/* A file without tables is a new one. */
static enum day_result make_or_check(struct day_file *file)
{
    int64_t version, application, n_tables;
    enum day_result result;
    if ((result = ask_sql(file, "PRAGMA user_version", &version)) ||
        (result = ask_sql(file, "PRAGMA application_id", &application)) ||
        (result = ask_sql(file, "SELECT count(*) FROM sqlite_schema", &n_tables))) {
        return result;
    }
    if (version == 0 && application == 0 && n_tables == 0) {
        return execute(file, SCHEMA);
    }
    if (version != SCHEMA_VERSION || application != APPLICATION) {
        snprintf(file->why, sizeof file->why, "it has a form that this version does not know");
        return DAY_IS_DAMAGED;
    }
    return DAY_DONE;
}

static enum day_result prepare(struct day_file *file)
{
    for (int i = 0; i < N_DAY_STATEMENTS; i++) {
        if (sqlite3_prepare_v3(file->database, STATEMENTS[i], -1, SQLITE_PREPARE_PERSISTENT,
                &file->statements[i], NULL)) {
            /* Only if the tables are others: their file claims to be ours. */
            enum day_result result = failed(file, "cannot read");
            return sqlite3_errcode(file->database) == SQLITE_ERROR ? DAY_IS_DAMAGED : result;
        }
    }
    return DAY_DONE;
}

/* is_asked(filter, claims), of SQL: which is faster than to look at each row here. */
static void is_asked(sqlite3_context *context, int n, sqlite3_value **values)
{
    const struct day_filter *filter = n == 2 ? sqlite3_value_pointer(values[0], "filter") : NULL;
    const char *next = filter ? (const char *)sqlite3_value_text(values[1]) : NULL;
    bool found = false;
    while (next && *next && !found) {
        char name[NAME_BYTES + 1] = "";
        size_t length = strcspn(next, " ");
        memcpy(name, next, length < sizeof name ? length : 0);
        found = patterns_match(filter->names, filter->n_names, name);
        next += length;
        next += strcspn(next, ",");
        next += *next == ',';
    }
    sqlite3_result_int(context, found);
}

static enum day_result open_whole(struct day_file *file, const char *path)
{
    enum day_result result;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(path, &file->database, flags, NULL) != SQLITE_OK) {
        return failed(file, "cannot open");
    }
    sqlite3_create_function_v2(file->database, "is_asked", 2, SQLITE_UTF8 | SQLITE_DIRECTONLY,
        NULL, is_asked, NULL, NULL, NULL);
    if ((result = execute(file, PRAGMAS)) || (result = make_or_check(file))) {
        return result;
    }
    return prepare(file);
}

enum day_result day_open(struct day_file *file, const char *path)
{
    *file = (struct day_file){0};
    enum day_result result = open_whole(file, path);
    if (result != DAY_DONE) {
        day_close(file);
    }
    return result;
}

void day_close(struct day_file *file)
{
    for (int i = 0; i < N_DAY_STATEMENTS; i++) {
        sqlite3_finalize(file->statements[i]);
        file->statements[i] = NULL;
    }
    sqlite3_close(file->database);
    file->database = NULL;
}

enum day_result day_checkpoint(struct day_file *file)
{
    int code =
        sqlite3_wal_checkpoint_v2(file->database, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    return code == SQLITE_OK ? DAY_DONE : failed(file, "cannot write");
}

/* ---- changes ---- */

/* Of all on which it depends who may see what. */
static int64_t sum_of(const struct day_row *row)
{
    const uint64_t parts[] = {(uint64_t)row->kind, row->uid, row->hiding,
        checksum(row->claims, strlen(row->claims)), checksum(row->line, strlen(row->line))};
    return (int64_t)checksum(parts, sizeof parts);
}

/* Else what is written would go with the process. */
enum day_result day_begin(struct day_file *file)
{
    int has_moved = 0;
    sqlite3_file_control(file->database, NULL, SQLITE_FCNTL_HAS_MOVED, &has_moved);
    if (has_moved) {
        snprintf(file->why, sizeof file->why, "somebody has moved or removed it");
        return DAY_FAILS;
    }
    return run(file, bind(file, DAY_BEGIN, NULL, 0));
}

enum day_result day_commit(struct day_file *file)
{
    return run(file, bind(file, DAY_COMMIT, NULL, 0));
}

enum day_result day_add(struct day_file *file, const struct day_row *row)
{
    const int64_t numbers[] = {row->kind, row->ended, row->asked, row->uid, (int64_t)row->lease,
        row->hiding, row->granted, (int64_t)row->ring, (int64_t)row->serial};
    enum { N_NUMBERS = sizeof numbers / sizeof numbers[0] };
    sqlite3_stmt *add = bind(file, DAY_ADD, numbers, N_NUMBERS);
    bind_text(add, N_NUMBERS + 1, row->claims);
    bind_text(add, N_NUMBERS + 2, row->how);
    bind_text(add, N_NUMBERS + 3, row->host);
    enum day_result result = run(file, add);
    if (result != DAY_DONE) {
        return result;
    }
    const int64_t of_line[] = {sqlite3_last_insert_rowid(file->database), sum_of(row)};
    add = bind(file, DAY_ADD_LINE, of_line, 2);
    bind_text(add, 3, row->line);
    return run(file, add);
}

enum day_result day_set_ring(struct day_file *file, const struct ring_state *ring)
{
    const int64_t numbers[] = {
        (int64_t)ring->id, (int64_t)ring->serial, ring->seen, ring->ended};
    sqlite3_stmt *set = bind(file, DAY_SET_RING, numbers, 4);
    bind_text(set, 5, ring->boot);
    return run(file, set);
}

enum day_result day_take_back(struct day_file *file, uint64_t ring, uint64_t serial)
{
    const int64_t numbers[] = {(int64_t)ring, (int64_t)serial};
    return run(file, bind(file, DAY_TAKE_BACK, numbers, 2));
}

/* ---- what is there ---- */

enum day_result day_get_ring(struct day_file *file, struct ring_state *ring)
{
    bool has_row;
    sqlite3_stmt *query = bind(file, DAY_GET_RING, NULL, 0);
    enum day_result result = ask(file, query, &has_row);
    *ring = (struct ring_state){0};
    if (has_row) {
        const char *boot = (const char *)sqlite3_column_text(query, 4);
        ring->id = (uint64_t)sqlite3_column_int64(query, 0);
        ring->serial = (uint64_t)sqlite3_column_int64(query, 1);
        ring->seen = sqlite3_column_int64(query, 2);
        ring->ended = sqlite3_column_int64(query, 3);
        snprintf(ring->boot, sizeof ring->boot, "%s", boot ? boot : "");
    }
    sqlite3_reset(query);
    return result;
}

enum day_result day_newest(struct day_file *file, int64_t *numberp)
{
    return ask_number(file, DAY_NEWEST, numberp);
}

enum day_result day_oldest_end(struct day_file *file, int64_t *endedp)
{
    return ask_number(file, DAY_OLDEST_END, endedp);
}

void day_scan(struct day_file *file, const struct day_filter *filter, int64_t above, int64_t upto,
    bool backward)
{
    const int64_t numbers[] = {above, upto, filter->since, filter->until, filter->uid,
        (int64_t)filter->lease, filter->n_names > 0};
    file->scanned = bind(file, backward ? DAY_BACKWARD : DAY_FORWARD, numbers, 7);
    sqlite3_bind_pointer(file->scanned, 8, (void *)(uintptr_t)filter, "filter", NULL);
}

enum day_result day_next(struct day_file *file, struct day_row *row, bool *has_rowp)
{
    enum day_result result = ask(file, file->scanned, has_rowp);
    if (*has_rowp) {
        const char *claims = (const char *)sqlite3_column_text(file->scanned, 7);
        *row = (struct day_row){
            .number = sqlite3_column_int64(file->scanned, 0),
            .kind = (enum row_kind)sqlite3_column_int(file->scanned, 1),
            .ended = sqlite3_column_int64(file->scanned, 2),
            .asked = sqlite3_column_int64(file->scanned, 3),
            .uid = (uint32_t)sqlite3_column_int64(file->scanned, 4),
            .lease = (uint64_t)sqlite3_column_int64(file->scanned, 5),
            .hiding = (uint16_t)sqlite3_column_int(file->scanned, 6),
            .claims = claims ? claims : "",
        };
    }
    return result;
}

void day_end_scan(struct day_file *file)
{
    sqlite3_reset(file->scanned);
    sqlite3_reset(file->statements[DAY_LINE]);
}

bool day_line(struct day_file *file, struct day_row *row)
{
    bool has_row;
    sqlite3_stmt *query = bind(file, DAY_LINE, &row->number, 1);
    if (ask(file, query, &has_row) != DAY_DONE || !has_row) {
        return false;
    }
    int64_t sum = sqlite3_column_int64(query, 0);
    row->line = (const char *)sqlite3_column_text(query, 1);
    return row->line && strlen(row->line) < LINE_BYTES && sum == sum_of(row);
}
