/* store_keeper.h - what the store's thread does: it keeps the file going, and what cannot be
 * written yet in memory. Without a thread or a clock of its own.
 *
 * Instants (`now`) are milliseconds since 1970. A lease is kept in memory until it is in the file.
 * When the file cannot be written, it is closed, and opened again STORE_RETRY_MILLISECONDS later;
 * one that is damaged is set aside, and a new one begins. */
#pragma once

#include "base/text.h"
#include "web/store_file.h"
#include "web/store_row.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    STORE_RETRY_MILLISECONDS = 5000,
    STORE_COVER_MILLISECONDS = 60000, /* so often an idle store writes until when it is covered */
    STORE_MAX_ROWS = 20000, /* in memory */
    STORE_MAX_BYTES = 32 << 20, /* of these */
    STORE_MAX_PAGES = 131072, /* of the file: 512 MiB */
};

struct store_span {
    uint64_t from, until;
};

struct store_keeper {
    const char *path; /* the caller's */
    uint64_t retention; /* milliseconds */
    uint64_t max_pages;
    struct store_file file; /* closed while it fails */
    uint64_t retry_at; /* while it is closed */
    uint64_t trim_at, cover_at; /* when next */
    uint64_t written; /* bytes, since the last trim */
    /* Not in the file yet: the oldest row first; and what they cover. */
    struct store_row *rows, **rows_end;
    struct store_span *spans;
    size_t n_rows, row_bytes, n_spans, spans_size;
    uint64_t covered_until;
    uint64_t failures, n_set_aside;
    char why[1024]; /* why the file fails; "": it works */
    struct text notices; /* lines for the log, which the caller takes; each ends with a newline */
};

/* Opens the file with the first step. */
void store_keeper_init(
    struct store_keeper *keeper, const char *path, uint64_t retention, uint64_t max_pages);
/* Writes what it can: the last step. What remains in .rows is lost. */
void store_keeper_finish(struct store_keeper *keeper, uint64_t now);
void store_keeper_deinit(struct store_keeper *keeper);

/* Takes over `row`. False: there is no room for it, and it is freed. */
bool store_keeper_add(struct store_keeper *keeper, struct store_row *row);
void store_keeper_cover(struct store_keeper *keeper, uint64_t from, uint64_t until);

/* Writes what there is, removes what is too old. Returns when it wants to be called again. */
uint64_t store_keeper_step(struct store_keeper *keeper, uint64_t now);

struct store_question {
    uint64_t from, until; /* milliseconds since 1970 */
    const char *resource; /* or NULL */
    uint32_t limit;
};
/* Adds the body of /history.json. */
void store_keeper_find(struct store_keeper *keeper, const struct store_question *question,
    uint64_t now, struct text *json);
/* The file has failed as `result` says, file.why too: it is closed, or set aside. */
void store_keeper_fail(struct store_keeper *keeper, enum store_result result, uint64_t now);
