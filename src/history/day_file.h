/* day_file.h - what ended on one day (UTC): a file of SQLite, whose form is SCHEMA in day_file.c.
 *
 * One table for scans, and one with the lines to show. The file is ours alone while it is open. It
 * survives a SIGKILL; a power cut takes what came after the last checkpoint. */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DAY_MILLISECONDS INT64_C(86400000)

enum day_result {
    DAY_DONE,
    DAY_FAILS, /* no room, no rights, the disk: it may be better later */
    DAY_IS_DAMAGED, /* or of a form that this version does not know */
};

enum row_kind {
    ROW_ENDED = 1,
    ROW_GAP,
    ROW_SEEN, /* nothing was shown: up to then nothing is missing */
    ROW_DID, /* what an operator did: it shows to everybody */
    ROW_DID_TO_LEASE, /* its reason shows as that of a lease */
};

/* Times are milliseconds since 1970. Who reads rows borrows the strings until the next one. */
struct day_row {
    int64_t number; /* in the file, from 1 on */
    enum row_kind kind;
    int64_t ended, asked; /* of a gap: until and from */
    int64_t granted; /* 0: nothing was */
    uint32_t uid;
    uint16_t hiding; /* struct history_entry */
    uint64_t lease;
    bool has_failed; /* ROW_ENDED: it was not given back with exit 0 by who had it */
    const char *claims; /* "NAME COUNT,NAME COUNT" */
    const char *database; /* of fleet scope: its name; else NULL */
    const char *line; /* without LF */
    uint64_t ring, serial; /* up to there the ring has been read */
};

/* Gaps are there whoever or whatever is asked for. */
struct day_filter {
    int64_t since, until; /* ended at `since` or later, was asked for before `until` */
    int64_t uid; /* -1: any */
    uint64_t lease; /* 0: any */
    bool failed; /* no others, and nothing that operators did */
    char *const *names; /* of resources, or patterns */
    size_t n_names; /* 0: any */
};

enum day_statement {
    DAY_ADD,
    DAY_ADD_LINE,
    DAY_FORWARD,
    DAY_BACKWARD,
    DAY_LINE,
    N_DAY_STATEMENTS
};

struct day_file {
    sqlite3 *database; /* NULL: closed */
    sqlite3_stmt *statements[N_DAY_STATEMENTS];
    sqlite3_stmt *scanned; /* the one that day_next() reads */
    char why[256]; /* of the last result that was not DAY_DONE, in words */
};

/* Opens it, or makes a new one. Unless it is done, the file is closed. */
enum day_result day_open(struct day_file *file, const char *path);
void day_close(struct day_file *file);
enum day_result day_checkpoint(struct day_file *file);

/* All changes are between these two. The first one fails if the path does not lead to the file any
 * more. */
enum day_result day_begin(struct day_file *file);
enum day_result day_commit(struct day_file *file);
void day_roll_back(struct day_file *file);
enum day_result day_add(struct day_file *file, const struct day_row *row);

/* .ring, .serial, .number and .ended of the newest row; and when the oldest one ended; 0: there is
 * none. */
enum day_result day_newest(struct day_file *file, struct day_row *newest);
enum day_result day_oldest(struct day_file *file, int64_t *endedp);

/* Walks the rows above `above`, up to `upto`. day_next(): *has_rowp false: that was all. Its rows
 * have no .line: day_line() fetches it. False: it, or the row, is damaged. */
void day_scan(struct day_file *file, const struct day_filter *filter, int64_t above, int64_t upto,
    bool backward);
enum day_result day_next(struct day_file *file, struct day_row *row, bool *has_rowp);
bool day_line(struct day_file *file, struct day_row *row);
void day_end_scan(struct day_file *file);
