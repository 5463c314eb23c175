#include "web/store_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    SCHEMA_VERSION = 1, /* user_version of the file */
    APPLICATION = 0x62727468, /* application_id: "brth" */
    MIN_PAGES = 64,
    TRIMMED_AT_ONCE = 500,
    TRIMMED_PAGES = 256, /* given back to the disk at once */
    BUSY_MILLISECONDS = 2000,
    MAX_ASIDE = 1000,
};

/* The file is locked for us alone: so it needs no shared memory, which somebody could cut. */
static const char PRAGMAS[] = "PRAGMA locking_mode = EXCLUSIVE;"
                              "PRAGMA auto_vacuum = INCREMENTAL;"
                              "PRAGMA journal_mode = WAL;"
                              "PRAGMA synchronous = NORMAL;"
                              "PRAGMA journal_size_limit = 4194304;"
                              "PRAGMA temp_store = MEMORY;"
                              "PRAGMA trusted_schema = OFF;"
                              "PRAGMA cell_size_check = ON;";

static const char SCHEMA[] =
    "BEGIN;"
    "CREATE TABLE leases (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,"
    "  asked INTEGER NOT NULL, ended INTEGER NOT NULL, json TEXT NOT NULL);"
    "CREATE INDEX leases_by_end ON leases (ended, asked);"
    "CREATE TABLE claims (resource TEXT NOT NULL, ended INTEGER NOT NULL,"
    "  number INTEGER NOT NULL, asked INTEGER NOT NULL,"
    "  PRIMARY KEY (resource, ended, number)) WITHOUT ROWID;"
    "CREATE INDEX claims_by_lease ON claims (number);"
    "CREATE TABLE covered (begins INTEGER PRIMARY KEY, ends INTEGER NOT NULL);"
    "PRAGMA application_id = 1651668072;"
    "PRAGMA user_version = 1;"
    "COMMIT;";
_Static_assert(APPLICATION == 1651668072 && SCHEMA_VERSION == 1, "as in SCHEMA");

static const char *const STATEMENTS[N_STORE_STATEMENTS] = {
    [STORE_BEGIN] = "BEGIN IMMEDIATE",
    [STORE_COMMIT] = "COMMIT",
    [STORE_ADD] = "INSERT OR IGNORE INTO leases (id, json, asked, ended) VALUES (?3, ?4, ?1, ?2)",
    [STORE_ADD_CLAIM] = "INSERT OR IGNORE INTO claims (resource, ended, asked, number)"
                        " VALUES (?4, ?1, ?2, ?3)",
    [STORE_EXTEND] = "UPDATE covered SET ends = max(ends, ?2) WHERE begins ="
                     " (SELECT max(begins) FROM covered) AND ?1 BETWEEN begins AND ends",
    [STORE_COVER] = "INSERT INTO covered (begins, ends) VALUES (?1, ?2)"
                    " ON CONFLICT (begins) DO UPDATE SET ends = max(ends, ?2)",
    [STORE_LAST_COVERED] = "SELECT coalesce(max(ends), 0) FROM covered",
    [STORE_FIND] = "SELECT json FROM leases WHERE ended >= ?1 AND asked < ?2"
                   " ORDER BY ended DESC LIMIT ?3",
    [STORE_FIND_BY_NAME] = "SELECT json FROM leases JOIN (SELECT number AS n, ended AS e"
                           " FROM claims WHERE resource = ?4 AND ended >= ?1 AND asked < ?2"
                           " ORDER BY ended DESC LIMIT ?3) ON number = n ORDER BY e DESC",
    [STORE_GAPS] = "SELECT begins, ends FROM covered WHERE ends >= ?1 AND begins < ?2"
                   " ORDER BY begins",
    [STORE_OLDEST] = "SELECT number FROM leases WHERE ended < ?1 ORDER BY ended LIMIT ?2",
    [STORE_REMOVE_CLAIMS] = "DELETE FROM claims WHERE number = ?1",
    [STORE_REMOVE] = "DELETE FROM leases WHERE number = ?1",
    [STORE_OLDEST_END] = "SELECT coalesce(min(ended), ?1) FROM leases",
    [STORE_REMOVE_COVERED] = "DELETE FROM covered WHERE ends < ?1",
    [STORE_CUT_COVERED] = "UPDATE OR REPLACE covered SET begins = ?1 WHERE begins < ?1",
};

/* ---- what goes wrong ---- */

/* A byte of its head says so, and no right. */
static bool says_read_only(sqlite3 *database)
{
    const char *path = sqlite3_db_filename(database, "main");
    return sqlite3_extended_errcode(database) == SQLITE_READONLY && path && access(path, W_OK) == 0;
}

static enum store_result failed(struct store_file *file, const char *doing)
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
    return is_damaged ? STORE_IS_DAMAGED : STORE_FAILS;
}

/* A change that fails takes the others of its transaction with it. */
static enum store_result change_failed(struct store_file *file)
{
    enum store_result result = failed(file, "cannot write");
    sqlite3_exec(file->database, "ROLLBACK", NULL, NULL, NULL);
    return result;
}

/* ---- statements ---- */

void store_file_bind(
    struct store_file *file, enum store_statement statement, const int64_t numbers[], int n)
{
    sqlite3_stmt *bound = file->statements[statement];
    sqlite3_reset(bound);
    for (int i = 0; i < n; i++) {
        sqlite3_bind_int64(bound, i + 1, numbers[i]);
    }
}

static void bind_text(
    struct store_file *file, enum store_statement statement, int place, const char *text)
{
    sqlite3_bind_text(file->statements[statement], place, text, -1, SQLITE_STATIC);
}

enum store_result store_file_step(
    struct store_file *file, enum store_statement statement, bool *has_rowp)
{
    int code = sqlite3_step(file->statements[statement]);
    *has_rowp = code == SQLITE_ROW;
    if (code == SQLITE_ROW) {
        return STORE_DONE;
    }
    enum store_result result = code == SQLITE_DONE ? STORE_DONE : failed(file, "cannot read");
    sqlite3_reset(file->statements[statement]);
    return result;
}

/* One that changes something. */
static enum store_result store_file_run(struct store_file *file, enum store_statement statement)
{
    int code = sqlite3_step(file->statements[statement]);
    enum store_result result = code == SQLITE_DONE ? STORE_DONE : change_failed(file);
    sqlite3_reset(file->statements[statement]);
    return result;
}

static enum store_result run_with(
    struct store_file *file, enum store_statement statement, const int64_t numbers[], int n)
{
    store_file_bind(file, statement, numbers, n);
    return store_file_run(file, statement);
}

/* The first number of a query's first row. */
static enum store_result store_file_ask(struct store_file *file, const char *sql, int64_t *numberp)
{
    sqlite3_stmt *query = NULL;
    *numberp = 0;
    int code = sqlite3_prepare_v2(file->database, sql, -1, &query, NULL);
    if (code == SQLITE_OK) {
        code = sqlite3_step(query);
        *numberp = code == SQLITE_ROW ? sqlite3_column_int64(query, 0) : 0;
    }
    enum store_result result =
        code == SQLITE_ROW || code == SQLITE_DONE ? STORE_DONE : failed(file, "cannot read");
    sqlite3_finalize(query);
    return result;
}

/* ---- open ---- */

static enum store_result execute(struct store_file *file, const char *sql)
{
    return sqlite3_exec(file->database, sql, NULL, NULL, NULL) == SQLITE_OK
        ? STORE_DONE
        : failed(file, "cannot open");
}

/* Looks at every page: what is damaged is better found now than when it is needed. */
static enum store_result check(struct store_file *file)
{
    sqlite3_stmt *query = NULL;
    enum store_result result = STORE_DONE;
    const char *found = NULL;
    if (sqlite3_prepare_v2(file->database, "PRAGMA quick_check(1)", -1, &query, NULL) ||
        sqlite3_step(query) != SQLITE_ROW) {
        result = failed(file, "cannot read");
    } else if ((found = (const char *)sqlite3_column_text(query, 0)) == NULL ||
        strcmp(found, "ok") != 0) {
        snprintf(file->why, sizeof file->why, "it is damaged: %s", found ? found : "?");
        file->why[strcspn(file->why, "\n")] = '\0';
        result = STORE_IS_DAMAGED;
    }
    sqlite3_finalize(query);
    return result;
}

/* A file without tables is a new one. */
static enum store_result make_or_check(struct store_file *file)
{
    int64_t version, application, n_tables;
    enum store_result result;
    if ((result = store_file_ask(file, "PRAGMA user_version", &version)) ||
        (result = store_file_ask(file, "PRAGMA application_id", &application)) ||
        (result = store_file_ask(file, "SELECT count(*) FROM sqlite_schema", &n_tables))) {
        return result;
    }
    if (version == 0 && application == 0 && n_tables == 0) {
        return execute(file, SCHEMA);
    }
    if (version != SCHEMA_VERSION || application != APPLICATION) {
        snprintf(file->why, sizeof file->why, "it has a form that this version does not know");
        return STORE_IS_DAMAGED;
    }
    return check(file);
}

static enum store_result prepare(struct store_file *file)
{
    for (int i = 0; i < N_STORE_STATEMENTS; i++) {
        if (sqlite3_prepare_v3(file->database, STATEMENTS[i], -1, SQLITE_PREPARE_PERSISTENT,
                &file->statements[i], NULL)) {
            /* Only if the tables are others: their file claims to be ours. */
            enum store_result result = failed(file, "cannot read");
            return sqlite3_errcode(file->database) == SQLITE_ERROR ? STORE_IS_DAMAGED : result;
        }
    }
    return STORE_DONE;
}

static enum store_result open_whole(struct store_file *file, const char *path)
{
    char limit[64];
    int64_t n_leases = 0;
    enum store_result result;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(path, &file->database, flags, NULL) != SQLITE_OK) {
        return failed(file, "cannot open");
    }
    sqlite3_busy_timeout(file->database, BUSY_MILLISECONDS);
    snprintf(
        limit, sizeof limit, "PRAGMA max_page_count = %llu", (unsigned long long)file->max_pages);
    if ((result = execute(file, PRAGMAS)) || (result = make_or_check(file)) ||
        (result = execute(file, limit)) || (result = prepare(file)) ||
        (result = store_file_ask(file, "SELECT count(*) FROM leases", &n_leases))) {
        return result;
    }
    file->n_leases = (uint64_t)n_leases;
    return STORE_DONE;
}

enum store_result store_file_open(struct store_file *file, const char *path, uint64_t max_pages)
{
    *file = (struct store_file){.max_pages = max_pages < MIN_PAGES ? MIN_PAGES : max_pages};
    enum store_result result = open_whole(file, path);
    if (result != STORE_DONE) {
        store_file_close(file);
    }
    return result;
}

void store_file_close(struct store_file *file)
{
    for (int i = 0; i < N_STORE_STATEMENTS; i++) {
        sqlite3_finalize(file->statements[i]);
        file->statements[i] = NULL;
    }
    sqlite3_close(file->database);
    file->database = NULL;
}

bool store_file_set_aside(const char *path, struct text *name)
{
    static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
    for (int number = 1; number < MAX_ASIDE; number++) {
        name->length = 0;
        text_add_format(name, "%s.damaged-%d", path, number);
        if (access(name->bytes, F_OK) == 0) {
            continue;
        }
        size_t length = name->length;
        for (size_t i = sizeof suffixes / sizeof suffixes[0]; i-- > 0;) {
            char from[4096];
            snprintf(from, sizeof from, "%s%s", path, suffixes[i]);
            text_add(name, suffixes[i]);
            if (rename(from, name->bytes) && errno != ENOENT) {
                return false;
            }
            name->bytes[name->length = length] = '\0';
        }
        return true;
    }
    errno = EEXIST;
    return false;
}

/* ---- changes ---- */

/* Else what is written would go with the process. */
enum store_result store_file_begin(struct store_file *file)
{
    int has_moved = 0;
    sqlite3_file_control(file->database, NULL, SQLITE_FCNTL_HAS_MOVED, &has_moved);
    if (has_moved) {
        snprintf(file->why, sizeof file->why, "it has been removed, or another file has its name");
        return STORE_FAILS;
    }
    return store_file_run(file, STORE_BEGIN);
}

enum store_result store_file_commit(struct store_file *file)
{
    return store_file_run(file, STORE_COMMIT);
}

enum store_result store_file_add(struct store_file *file, const struct store_row *row)
{
    const int64_t times[] = {(int64_t)row->asked, (int64_t)row->ended};
    store_file_bind(file, STORE_ADD, times, 2);
    bind_text(file, STORE_ADD, 3, row->id);
    bind_text(file, STORE_ADD, 4, row->json);
    enum store_result result = store_file_run(file, STORE_ADD);
    if (result != STORE_DONE || sqlite3_changes(file->database) == 0) {
        return result;
    }
    file->n_leases++;
    const int64_t claim[] = {
        (int64_t)row->ended, (int64_t)row->asked, sqlite3_last_insert_rowid(file->database)};
    for (size_t i = 0; i < row->n_names && result == STORE_DONE; i++) {
        store_file_bind(file, STORE_ADD_CLAIM, claim, 3);
        bind_text(file, STORE_ADD_CLAIM, 4, row->names[i]);
        result = store_file_run(file, STORE_ADD_CLAIM);
    }
    return result;
}

enum store_result store_file_cover(struct store_file *file, uint64_t from, uint64_t until)
{
    const int64_t span[] = {(int64_t)from, (int64_t)until};
    enum store_result result = run_with(file, STORE_EXTEND, span, 2);
    if (result != STORE_DONE || sqlite3_changes(file->database) > 0) {
        return result;
    }
    return run_with(file, STORE_COVER, span, 2);
}

static enum store_result remove_oldest(struct store_file *file, int64_t before, bool *morep)
{
    const int64_t values[] = {before, TRIMMED_AT_ONCE};
    int64_t numbers[TRIMMED_AT_ONCE];
    int n = 0;
    enum store_result result;
    store_file_bind(file, STORE_OLDEST, values, 2);
    for (bool has_row; (result = store_file_step(file, STORE_OLDEST, &has_row)) == STORE_DONE &&
         has_row && n < TRIMMED_AT_ONCE;) {
        numbers[n++] = sqlite3_column_int64(file->statements[STORE_OLDEST], 0);
    }
    sqlite3_reset(file->statements[STORE_OLDEST]);
    *morep = n == TRIMMED_AT_ONCE;
    for (int i = 0; i < n && result == STORE_DONE; i++) {
        (void)((result = run_with(file, STORE_REMOVE_CLAIMS, &numbers[i], 1)) ||
            (result = run_with(file, STORE_REMOVE, &numbers[i], 1)));
        file->n_leases -= result == STORE_DONE;
    }
    return result;
}

/* *is_fullp: room is left for a transaction of the store, and for little more. */
static enum store_result look_at_room(struct store_file *file, bool *is_fullp, bool *has_freep)
{
    int64_t pages, n_free;
    enum store_result result;
    if ((result = store_file_ask(file, "PRAGMA page_count", &pages)) ||
        (result = store_file_ask(file, "PRAGMA freelist_count", &n_free))) {
        return result;
    }
    *is_fullp = (uint64_t)(pages - n_free) > file->max_pages / 4 * 3;
    *has_freep = n_free > TRIMMED_PAGES;
    return STORE_DONE;
}

/* What has been removed is covered no more. */
static enum store_result uncover(struct store_file *file, int64_t before, bool is_full)
{
    bool has_row;
    enum store_result result;
    if (is_full) {
        store_file_bind(file, STORE_OLDEST_END, &before, 1);
        if ((result = store_file_step(file, STORE_OLDEST_END, &has_row)) != STORE_DONE) {
            return result;
        }
        before = sqlite3_column_int64(file->statements[STORE_OLDEST_END], 0);
        sqlite3_reset(file->statements[STORE_OLDEST_END]);
    }
    result = run_with(file, STORE_REMOVE_COVERED, &before, 1);
    return result == STORE_DONE ? run_with(file, STORE_CUT_COVERED, &before, 1) : result;
}

static enum store_result remove_some(
    struct store_file *file, int64_t before, bool is_full, bool *morep)
{
    enum store_result result;
    if ((result = store_file_begin(file)) ||
        (result = remove_oldest(file, is_full ? INT64_MAX : before, morep)) ||
        (result = uncover(file, before, is_full))) {
        return result;
    }
    return store_file_commit(file);
}

enum store_result store_file_trim(struct store_file *file, uint64_t oldest, bool *morep)
{
    bool is_full, has_free;
    enum store_result result = look_at_room(file, &is_full, &has_free);
    if (result != STORE_DONE ||
        (result = remove_some(file, (int64_t)oldest, is_full, morep)) != STORE_DONE) {
        return result;
    }
    if (has_free && !is_full &&
        sqlite3_exec(file->database, "PRAGMA incremental_vacuum(256)", NULL, NULL, NULL)) {
        return failed(file, "cannot write");
    }
    bool was_full = is_full;
    result = was_full ? look_at_room(file, &is_full, &has_free) : result;
    *morep = was_full ? is_full && *morep : *morep;
    return result;
}

/* ---- what is there ---- */

enum store_result store_file_covered_until(struct store_file *file, uint64_t *untilp)
{
    bool has_row;
    store_file_bind(file, STORE_LAST_COVERED, NULL, 0);
    enum store_result result = store_file_step(file, STORE_LAST_COVERED, &has_row);
    if (result == STORE_DONE) {
        *untilp = (uint64_t)sqlite3_column_int64(file->statements[STORE_LAST_COVERED], 0);
    }
    sqlite3_reset(file->statements[STORE_LAST_COVERED]);
    return result;
}

uint64_t store_file_bytes(struct store_file *file)
{
    int64_t pages = 0;
    return store_file_ask(file, "PRAGMA page_count", &pages) == STORE_DONE
        ? (uint64_t)pages * STORE_PAGE_BYTES
        : 0;
}
