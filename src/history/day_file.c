#include "history/day_file.h"

#include "base/pattern.h"
#include "base/words.h"
#include "journal/checksum.h"
#include "wire/protocol.h"

#include <stdio.h>
#include <string.h>

enum { SCHEMA_VERSION = 1 }; /* user_version of the file */

/* Before the file is looked at: then its locks need no shared memory, which somebody could cut. */
static const char LOCKING[] = "PRAGMA locking_mode = EXCLUSIVE";
static const char PRAGMAS[] =
    "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
    "PRAGMA wal_autocheckpoint = 16384; PRAGMA journal_size_limit = 4194304;"
    "PRAGMA temp_store = MEMORY; PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;";
/* What scans look at comes first in a row; `how` and `host` are of earlier versions. */
static const char SCHEMA[] =
    "BEGIN;"
    "CREATE TABLE ended (number INTEGER PRIMARY KEY, kind INTEGER NOT NULL,"
    "  ended INTEGER NOT NULL, asked INTEGER NOT NULL, uid INTEGER NOT NULL,"
    "  lease INTEGER NOT NULL, hiding INTEGER NOT NULL, claims TEXT NOT NULL,"
    "  granted INTEGER NOT NULL, database TEXT, how TEXT NOT NULL, host TEXT,"
    "  ring INTEGER NOT NULL, serial INTEGER NOT NULL, failed INTEGER NOT NULL);"
    "CREATE TABLE line (number INTEGER PRIMARY KEY, sum INTEGER NOT NULL, line TEXT NOT NULL);"
    "PRAGMA application_id = 1651663976;" /* "brdh" */
    "PRAGMA user_version = 1;"
    "COMMIT;";
_Static_assert(SCHEMA_VERSION == 1, "as in SCHEMA");

#define SCAN                                                                                       \
    "SELECT number, kind, ended, asked, uid, lease, hiding, claims, granted, database FROM ended"  \
    " WHERE number > ?1 AND number <= ?2 AND ended >= ?3 AND asked < ?4 AND (kind = 2 OR"          \
    " (kind <> 3 AND (?5 < 0 OR uid = ?5) AND (?6 = 0 OR lease = ?6) AND"                          \
    " (?9 = 0 OR failed = 1) AND (?7 = 0 OR is_asked(?8, claims)))) ORDER BY number"
_Static_assert(ROW_GAP == 2 && ROW_SEEN == 3, "as in SCAN");

static const char *const STATEMENTS[N_DAY_STATEMENTS] = {
    [DAY_ADD] = "INSERT INTO ended (kind, ended, asked, uid, lease, hiding, granted, ring, serial,"
                " failed, claims, database, how)"
                " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, '')",
    [DAY_ADD_LINE] = "INSERT OR REPLACE INTO line (number, sum, line) VALUES (?1, ?2, ?3)",
    [DAY_FORWARD] = SCAN,
    [DAY_BACKWARD] = SCAN " DESC",
    [DAY_LINE] = "SELECT sum, line FROM line WHERE number = ?1",
};

/* ---- statements ---- */

static enum day_result failed(struct day_file *file)
{
    int code = sqlite3_errcode(file->database) & 0xff;
    int number = sqlite3_system_errno(file->database);
    snprintf(file->why, sizeof file->why, "%s%s%s",
        code == SQLITE_BUSY       ? "another process has it"
            : code == SQLITE_FULL ? "there is no space left"
                                  : sqlite3_errmsg(file->database),
        number && code != SQLITE_FULL ? ": " : "",
        number && code != SQLITE_FULL ? strerror(number) : "");
    bool is_damaged =
        code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_MISMATCH;
    return is_damaged ? DAY_IS_DAMAGED : DAY_FAILS;
}

static enum day_result execute(struct day_file *file, const char *sql)
{
    int code = sqlite3_exec(file->database, sql, NULL, NULL, NULL);
    return code == SQLITE_OK ? DAY_DONE : failed(file);
}

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

/* One that changes something. */
static enum day_result run(struct day_file *file, sqlite3_stmt *statement)
{
    enum day_result result = sqlite3_step(statement) == SQLITE_DONE ? DAY_DONE : failed(file);
    sqlite3_reset(statement);
    return result;
}

/* The next row of one that asks. */
static enum day_result ask(struct day_file *file, sqlite3_stmt *statement, bool *has_rowp)
{
    int code = sqlite3_step(statement);
    *has_rowp = code == SQLITE_ROW;
    return code == SQLITE_ROW || code == SQLITE_DONE ? DAY_DONE : failed(file);
}

/* The first row's numbers; all 0 if there is none. */
static enum day_result ask_numbers(
    struct day_file *file, const char *sql, int64_t numbers[], int n)
{
    bool has_row = false;
    sqlite3_stmt *query = NULL;
    enum day_result result =
        sqlite3_prepare_v2(file->database, sql, -1, &query, NULL) == SQLITE_OK
        ? ask(file, query, &has_row)
        : failed(file);
    for (int i = 0; i < n; i++) {
        numbers[i] = has_row ? sqlite3_column_int64(query, i) : 0;
    }
    sqlite3_finalize(query);
    return result;
}

/* ---- open ---- */

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
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    int64_t version;
    if (sqlite3_open_v2(path, &file->database, flags, NULL) != SQLITE_OK) {
        return failed(file);
    }
    sqlite3_create_function_v2(file->database, "is_asked", 2, SQLITE_UTF8 | SQLITE_DIRECTONLY,
        NULL, is_asked, NULL, NULL, NULL);
    enum day_result result = execute(file, LOCKING);
    result = result == DAY_DONE ? ask_numbers(file, "PRAGMA user_version", &version, 1) : result;
    if (result == DAY_DONE && version > SCHEMA_VERSION) {
        snprintf(file->why, sizeof file->why, "it has a form that this version does not know");
        return DAY_IS_DAMAGED;
    }
    result = result == DAY_DONE ? execute(file, PRAGMAS) : result;
    result = result == DAY_DONE && version == 0 ? execute(file, SCHEMA) : result;
    for (int i = 0; result == DAY_DONE && i < N_DAY_STATEMENTS; i++) {
        int code = sqlite3_prepare_v3(file->database, STATEMENTS[i], -1, SQLITE_PREPARE_PERSISTENT,
            &file->statements[i], NULL);
        result = code == SQLITE_OK ? DAY_DONE : failed(file);
        result = code == SQLITE_ERROR ? DAY_IS_DAMAGED : result; /* its tables are others */
    }
    return result;
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
    return execute(file, "PRAGMA wal_checkpoint(TRUNCATE)");
}

/* ---- changes ---- */

/* Of all on which it depends who may see what. */
static int64_t sum_of(const struct day_row *row)
{
    const uint64_t parts[] = {(uint64_t)row->kind, row->uid, row->hiding,
        checksum(row->claims, strlen(row->claims)), checksum(row->line, strlen(row->line))};
    return (int64_t)checksum(parts, sizeof parts);
}

enum day_result day_begin(struct day_file *file)
{
    int has_moved = 0;
    sqlite3_file_control(file->database, NULL, SQLITE_FCNTL_HAS_MOVED, &has_moved);
    if (has_moved) { /* else what is written would go with the process */
        snprintf(file->why, sizeof file->why, "somebody has moved or removed it");
        return DAY_FAILS;
    }
    return execute(file, "BEGIN IMMEDIATE");
}

enum day_result day_commit(struct day_file *file)
{
    return execute(file, "COMMIT");
}

void day_roll_back(struct day_file *file)
{
    sqlite3_exec(file->database, "ROLLBACK", NULL, NULL, NULL);
}

enum day_result day_add(struct day_file *file, const struct day_row *row)
{
    const int64_t numbers[] = {row->kind, row->ended, row->asked, row->uid, (int64_t)row->lease,
        row->hiding, row->granted, (int64_t)row->ring, (int64_t)row->serial, row->has_failed};
    enum { N_NUMBERS = sizeof numbers / sizeof numbers[0] };
    sqlite3_stmt *add = bind(file, DAY_ADD, numbers, N_NUMBERS);
    bind_text(add, N_NUMBERS + 1, row->claims);
    bind_text(add, N_NUMBERS + 2, row->database);
    enum day_result result = run(file, add);
    if (result == DAY_DONE) {
        const int64_t of_line[] = {sqlite3_last_insert_rowid(file->database), sum_of(row)};
        add = bind(file, DAY_ADD_LINE, of_line, 2);
        bind_text(add, 3, row->line);
        result = run(file, add);
    }
    return result;
}

/* ---- what is there ---- */

enum day_result day_newest(struct day_file *file, struct day_row *newest)
{
    enum { N_NUMBERS = 4 };
    int64_t numbers[N_NUMBERS];
    enum day_result result = ask_numbers(file,
        "SELECT number, ended, ring, serial FROM ended ORDER BY number DESC LIMIT 1", numbers,
        N_NUMBERS);
    *newest = (struct day_row){.number = numbers[0],
        .ended = numbers[1],
        .ring = (uint64_t)numbers[2],
        .serial = (uint64_t)numbers[3]};
    return result;
}

enum day_result day_oldest(struct day_file *file, int64_t *endedp)
{
    return ask_numbers(file, "SELECT ended FROM ended ORDER BY number LIMIT 1", endedp, 1);
}

void day_scan(struct day_file *file, const struct day_filter *filter, int64_t above, int64_t upto,
    bool backward)
{
    const int64_t numbers[] = {above, upto, filter->since, filter->until, filter->uid,
        (int64_t)filter->lease, filter->n_names > 0};
    file->scanned = bind(file, backward ? DAY_BACKWARD : DAY_FORWARD, numbers, 7);
    sqlite3_bind_int(file->scanned, 9, filter->failed);
    sqlite3_bind_pointer(file->scanned, 8, (void *)(uintptr_t)filter, "filter", NULL);
}

enum day_result day_next(struct day_file *file, struct day_row *row, bool *has_rowp)
{
    sqlite3_stmt *scanned = file->scanned;
    enum day_result result = ask(file, scanned, has_rowp);
    if (*has_rowp) {
        const char *claims = (const char *)sqlite3_column_text(scanned, 7);
        *row = (struct day_row){
            .number = sqlite3_column_int64(scanned, 0),
            .kind = (enum row_kind)sqlite3_column_int(scanned, 1),
            .ended = sqlite3_column_int64(scanned, 2),
            .asked = sqlite3_column_int64(scanned, 3),
            .uid = (uint32_t)sqlite3_column_int64(scanned, 4),
            .lease = (uint64_t)sqlite3_column_int64(scanned, 5),
            .hiding = (uint16_t)sqlite3_column_int(scanned, 6),
            .claims = claims ? claims : "",
            .granted = sqlite3_column_int64(scanned, 8),
            .database = (const char *)sqlite3_column_text(scanned, 9),
        };
    }
    return result;
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

void day_end_scan(struct day_file *file)
{
    sqlite3_reset(file->scanned);
    sqlite3_reset(file->statements[DAY_LINE]);
}
