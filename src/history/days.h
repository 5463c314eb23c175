/* days.h - the directory of what has ended: a file for each day (UTC), by the time of day at the
 * end. They are bounded by `keep` and `size`: whole days go, the oldest first. A damaged one is set
 * aside, and a gap is in its place.
 *
 * Rows are added in transactions. When one fails, all that has not been committed is to be added
 * again: days.committed says from where on. */
#pragma once

#include "base/time.h"
#include "history/day_file.h"

#include <limits.h>

enum { DATE_SIZE = sizeof "2026-01-01", DIRECTORY_SIZE = PATH_MAX - 64 };

struct day {
    char date[DATE_SIZE];
    struct day_file file; /* closed until it is needed */
    bool was_used, was_written; /* since the last days_tend() */
    bool is_unreadable; /* which has been said */
};

/* Up to where rings have been read. */
struct drained {
    uint64_t ring, serial; /* 0: none has been */
    int64_t ended; /* of the last row */
};

struct days {
    char directory[DIRECTORY_SIZE];
    nanoseconds keep;
    uint64_t size; /* bytes */
    struct day **list; /* by their dates; owned */
    size_t n;
    struct drained added, committed;
    bool is_known; /* what they are in the files that were there */
    bool rings_ascend; /* of a database: .ring and .serial are the two parts of an id */
    char open[DATE_SIZE]; /* the day with a transaction; "": there is none */
    bool is_full; /* the day that is being written is larger than `size` */
    char why[PATH_MAX + 512]; /* why it cannot be written; "": it can */
};

/* False (logged): it cannot be used. */
bool days_open(struct days *days, const char *directory, nanoseconds keep, uint64_t size);
void days_close(struct days *days);
/* Up to where rings had been read before the start: what was read last may be in any day, if the
 * clock was set back or an end was heard of late. Before all that writes. False: the newest one
 * with rows cannot be looked at now. */
bool days_find_drained(struct days *days);
/* If some of that ring has been read, but another one has later rows by the clock, goes on there.
 * All has been committed. */
void days_go_on_with(struct days *days, uint64_t ring);
/* Each 30 seconds: what is written survives a power cut, and what is too old goes. */
void days_tend(struct days *days, int64_t now);

/* False: it fails, and all since the last commit is taken back. */
bool days_add(struct days *days, const struct day_row *row);
bool days_commit(struct days *days);

/* The first day from that date on, and the last one before it; NULL: there is none. */
struct day *days_from(const struct days *days, const char *date);
struct day *days_before(const struct days *days, const char *date);
/* Its file, opened; NULL: it cannot be now (logged once). A damaged one is set aside. */
struct day_file *days_use(struct days *days, struct day *day);
/* From when on nothing is missing but what gaps say, in milliseconds since 1970; 0: there is
 * nothing. */
int64_t days_since(struct days *days);

void date_of(int64_t ended, char out[static DATE_SIZE]);
int64_t begin_of(const char *date);
