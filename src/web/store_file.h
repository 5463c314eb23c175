/* store_file.h - the file of a store: a database of SQLite, whose form is SCHEMA in store_file.c.
 *
 * Every function runs on the store's thread, and may wait for the disk. The file is ours alone
 * while it is open. It is bounded: what ended too long ago goes, and, when it is nearly full, what
 * ended first. Times are milliseconds since 1970. */
#pragma once

#include "base/text.h"
#include "web/store_row.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

enum store_result {
    STORE_DONE,
    STORE_FAILS, /* no room, no rights, the disk: it may be better later */
    STORE_IS_DAMAGED, /* or of a form that this version does not know */
};

enum store_statement {
    STORE_BEGIN,
    STORE_COMMIT,
    STORE_ADD,
    STORE_ADD_CLAIM,
    STORE_EXTEND,
    STORE_COVER,
    STORE_LAST_COVERED,
    STORE_FIND,
    STORE_FIND_BY_NAME,
    STORE_GAPS,
    STORE_OLDEST,
    STORE_REMOVE_CLAIMS,
    STORE_REMOVE,
    STORE_OLDEST_END,
    STORE_REMOVE_COVERED,
    STORE_CUT_COVERED,
    N_STORE_STATEMENTS
};

struct store_file {
    sqlite3 *database; /* NULL: closed */
    sqlite3_stmt *statements[N_STORE_STATEMENTS];
    uint64_t max_pages; /* of 4096 bytes; fewer than 64: as many as 64 */
    uint64_t n_leases;
    char why[512]; /* of the last result that was not STORE_DONE, in words */
};

enum { STORE_PAGE_BYTES = 4096 };

/* Opens it, or makes a new one. Unless it is done, the file is closed. */
enum store_result store_file_open(struct store_file *file, const char *path, uint64_t max_pages);
void store_file_close(struct store_file *file);
/* Renames a closed file, and what SQLite has beside it, to PATH.damaged-N, which goes to `name`.
 * False, with errno: it is still there. */
bool store_file_set_aside(const char *path, struct text *name);

/* All changes are between these two; one that is not done takes back all since the beginning. The
 * first one fails if the path does not lead to the file any more. */
enum store_result store_file_begin(struct store_file *file);
enum store_result store_file_commit(struct store_file *file);
/* A lease that is there already is ignored. */
enum store_result store_file_add(struct store_file *file, const struct store_row *row);
/* All that ended from .. until is in the file. */
enum store_result store_file_cover(struct store_file *file, uint64_t from, uint64_t until);
/* Removes some of the leases that ended before `oldest`; or, if the file is nearly full, some of
 * those that ended first. *morep: call it again. */
enum store_result store_file_trim(struct store_file *file, uint64_t oldest, bool *morep);

/* Until when it is covered; 0: it is not. */
enum store_result store_file_covered_until(struct store_file *file, uint64_t *untilp);
uint64_t store_file_bytes(struct store_file *file);

/* Runs a statement whose values are bound to its next row. *has_rowp: it has one; else it is over,
 * and reset. */
enum store_result store_file_step(
    struct store_file *file, enum store_statement statement, bool *has_rowp);
void store_file_bind(
    struct store_file *file, enum store_statement statement, const int64_t numbers[], int n);
