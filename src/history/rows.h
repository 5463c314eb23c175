/* rows.h - the rows of days: what has ended, where something is missing, and where nothing is. */
#pragma once

#include "base/text.h"
#include "history/days.h"

/* Adds the line of a gap. `from` 0: it is not known; `n` 0: nobody knows how much is missing. */
void gap_write(struct text *out, int64_t from, int64_t until, const char *why, uint64_t n);

/* `at`: up to where all is read with that row; without its .ended. */
struct day_row row_at(const struct drained *at, enum row_kind kind, int64_t until);
/* `line` is empty, gets its line, and must outlive it. */
struct day_row gap_row(struct text *line, const struct drained *at, int64_t from,
    int64_t until, const char *why, uint64_t n);

/* As days_add(). That of an `ended` or `did` line is skipped if the line makes no sense. */
bool days_add_line(struct days *days, const char *line, const char *claims, uint16_t hiding,
    const struct drained *at);
bool days_add_gap(struct days *days, int64_t from, int64_t until, const char *why, uint64_t n,
    const struct drained *at);
bool days_add_seen(struct days *days, int64_t until, const struct drained *at);
