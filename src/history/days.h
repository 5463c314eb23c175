/* days.h - the directory of what has ended: a file for each day (UTC), by the time of day at the
 * end. They are bounded by `keep` and `size`: whole days go, the oldest first. A damaged one is set
 * aside, and a gap is in its place.
 *
 * A file that cannot be written is closed, and may be tried again: what was to be written stays in
 * the batch. */
#pragma once

#include "base/text.h"
#include "base/time.h"
#include "history/day_file.h"

#include <limits.h>

enum { DATE_SIZE = sizeof "2026-01-01", DIRECTORY_SIZE = PATH_MAX - 64 };

struct day {
    char date[DATE_SIZE];
    struct day_file file; /* closed until it is needed */
    bool was_used, was_written; /* since the last days_tend() */
};

struct days {
    char directory[DIRECTORY_SIZE];
    int lock_fd;
    nanoseconds keep;
    uint64_t size; /* bytes */
    struct day *list; /* by their dates; owned */
    size_t n;
    struct ring_state ring; /* the one that was read last, as far as it is written */
    uint64_t unweighed; /* bytes written since the last look at the size */
    bool is_full; /* the day that is being written is larger than `size` */
    char why[PATH_MAX + 512]; /* why it cannot be written; "": it can */
};

/* Rows that are to be written, and how far the ring is read with each. */
struct batch {
    struct day_row *rows; /* owned, with .owned of each */
    size_t n, n_written, bytes;
    struct ring_state ring; /* behind them */
};

/* False (logged): it cannot be used. */
bool days_open(struct days *days, const char *directory, nanoseconds keep, uint64_t size);
void days_close(struct days *days);
/* Each 30 seconds: what is written survives a power cut, and what is too old goes. */
void days_tend(struct days *days, int64_t now);

/* Writes what has not been written; false: not all of it, and it is to be tried again. */
bool days_write(struct days *days, struct batch *batch);
/* Writes until when the ring has been seen, although nothing came. */
void days_note_seen(struct days *days, int64_t now);
void days_take_back(struct days *days, uint64_t ring, uint64_t serial);

/* The first day from that date on, and the last one before it; NULL: there is none. */
struct day *days_from(struct days *days, const char *date);
struct day *days_before(struct days *days, const char *date);
/* Its file, opened; NULL: it cannot be now. A damaged one is set aside. */
struct day_file *days_use(struct days *days, struct day *day);
/* Since when there are rows, in milliseconds since 1970; 0: there are none. */
int64_t days_since(struct days *days);

void date_of(int64_t ended, char out[static DATE_SIZE]);

void batch_add(struct batch *batch, const struct day_row *row); /* takes over row->owned */
/* Something may be missing between two times; `n` 0: nobody knows how much. */
void batch_add_gap(struct batch *batch, int64_t from, int64_t until, const char *why, uint64_t n);
void batch_empty(struct batch *batch);
/* Adds a gap's line, without LF. */
void gap_write(struct text *out, int64_t from, int64_t until, const char *why, uint64_t n);
