/* question.h - `history` and `stats`, answered piece by piece: rows from the days, oldest first, as
 * the asker may see them; or their figures, which are for everybody. Each piece goes on behind the
 * row that the one before it came to: no statement stays open, and days may come and go. */
#pragma once

#include "history/days.h"
#include "history/sight.h"
#include "view/sums.h"
#include "wire/protocol.h"

enum question_stage { QUESTION_BACK, QUESTION_HEAD, QUESTION_FORTH, QUESTION_FIGURES };

/* A row, or the place where one was. */
struct day_place {
    char date[DATE_SIZE];
    int64_t number;
};

struct question {
    struct day_filter filter;
    uint64_t limit; /* the newest ones; 0: all */
    char **names; /* of the filter; owned */
    bool wants_figures;
    uint32_t uid; /* who asks */
    char *key; /* of .filter.lease, as it was asked for; owned; or NULL */
    const char *database; /* whose the days are; NULL: this host's */
    int64_t cut_at; /* from when on they may lack something; 0: they do not */

    enum question_stage stage;
    struct day_place at; /* all before it (QUESTION_BACK: behind it) has been looked at */
    struct day_place end; /* the newest row when it was asked */
    uint64_t n_found; /* on the way back */
    struct day_place found; /* before the oldest of those that are wanted, and of gaps */
    int64_t step; /* rows that are looked at together: 1 where some cannot be read */
    unsigned n_lost; /* that could not be read, since .last_ended */
    int64_t last_ended;
    struct sums sums; /* with .wants_figures */
    uint64_t cursor; /* in them */
};

/* NULL: a key's value is wrong, *wrongp. `now` in milliseconds since 1970. */
struct question *question_new(const struct request *request, bool wants_figures, uint32_t uid,
    int64_t now, const char **wrongp);
void question_free(struct question *question); /* accepts NULL */
/* Before the first piece: it is of all that is written now. */
void question_begin(struct question *question, struct days *days);
/* Adds lines until `out` has `enough` bytes, or much has been looked at. False: that was all. */
bool question_go_on(struct question *question, struct days *days, const struct sight *sight,
    struct text *out, size_t enough);
