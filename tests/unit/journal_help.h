/* journal_help.h - one journal in its own directory, with records that can be told apart. */
#pragma once

#include "journal/journal.h"
#include "scratch.h"

enum { MAX_RECORDS = 2000, N_FILLED = 10 };

extern const char journal_path[]; /* relative to the directory */
extern const char journal_boot[];
extern struct journal journal;

/* What was visited since reopen(). */
extern struct seen {
    size_t n; /* visits */
    size_t lengths[MAX_RECORDS]; /* 0: not seen */
    uint32_t slots[MAX_RECORDS];
} seen;

/* What was reported in this test. */
enum { N_TROUBLES = TROUBLE_NOT_COMPLETE + 1 };
extern unsigned heard[N_TROUBLES];
extern struct journal_report last_heard;
/* The last report was this one, without its path, and the `n`th of its kind; an `error` of 0 says
 * nothing. */
void expect_heard(struct journal_report report, unsigned n);

/* A suite's .init and .fini. */
void journal_begin(void);
void journal_end(void);

/* A record's bytes; good until the next call. */
char *record_text(size_t number, size_t length);
/* A journal_visit, with &seen: requires a whole record of ours, once. */
void see(void *context, uint32_t slot, const char *bytes, size_t length);

/* A journal_reporter. */
void hear(const struct journal_report *report);

enum journal_found reopen(void);
/* It is opened again, and so many records are seen. */
void expect_found(enum journal_found found, size_t n);
/* A complete one where there was none. */
void open_new(void);
/* Reserves and writes. */
uint32_t put(size_t number, size_t length, size_t max);
/* A new one with one record of each size and three of the smallest, with free places between: in
 * these slots. */
void fill(void);
extern uint32_t slots[N_FILLED];
size_t filled_length(size_t number);
