#include "history/question.h"

#include "base/clock.h"
#include "base/memory.h"
#include "status/ended_line.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROWS_AT_ONCE = 8192, /* looked at in a piece */
    MAX_LOST = 1000, /* rows of one day that cannot be read: then the rest of it is given up */
};

/* ---- what is asked ---- */

static bool take_number(const char *text, uint64_t max, uint64_t *numberp)
{
    return !text || number_parse(text, max, numberp);
}

struct question *question_new(
    const struct request *request, uint32_t uid, int64_t now, const char **wrongp)
{
    const char *const *keys = request->keys;
    const char *user = keys[KEY_INDEX_user], *lease = keys[KEY_INDEX_lease];
    uint64_t since = (uint64_t)now, until = 0, of_user = 0, limit = 0, of_lease = 0;
    *wrongp = !take_number(keys[KEY_INDEX_since], INT64_MAX, &since) ? "since"
        : !take_number(keys[KEY_INDEX_until], INT64_MAX, &until)     ? "until"
        : !take_number(user, UINT32_MAX, &of_user)                   ? "user"
        : !take_number(keys[KEY_INDEX_limit], UINT32_MAX, &limit)    ? "limit"
        : lease && !lease_id_parse(lease, &of_lease)                 ? "lease"
                                                                     : NULL;
    if (*wrongp) {
        return NULL;
    }
    struct question *question = memory_new(sizeof *question);
    *question = (struct question){
        .filter = {.since = since < (uint64_t)now ? now - (int64_t)since : 0,
            .until = until < (uint64_t)now ? now - (int64_t)until : 0,
            .uid = user ? (int64_t)of_user : -1,
            .lease = of_lease},
        .limit = limit,
        .uid = uid,
        .step = ROWS_AT_ONCE,
    };
    if (!keys[KEY_INDEX_until]) {
        question->filter.until = INT64_MAX;
    }
    question->names = memory_resize(NULL, request->n_arguments + 1, sizeof *question->names);
    for (size_t i = 0; i < request->n_arguments; i++) {
        question->names[i] = memory_string(request->arguments[i]);
    }
    question->filter.names = question->names;
    question->filter.n_names = request->n_arguments;
    return question;
}

void question_free(struct question *question)
{
    if (question) {
        for (size_t i = 0; i < question->filter.n_names; i++) {
            free(question->names[i]);
        }
        free(question->names);
        free(question);
    }
}

/* ---- rows that cannot be read ---- */

/* So many rows together could not be read. *skipp: this one alone is to be left out. */
static void narrow(struct question *question, bool *skipp)
{
    *skipp = question->step == 1;
    question->n_lost += *skipp;
    question->step = question->step > 1 ? question->step / 2 : 1;
}

static void widen(struct question *question)
{
    question->step = question->step < ROWS_AT_ONCE ? question->step * 2 : ROWS_AT_ONCE;
}

static void add_gap_of_lost(struct question *question, int64_t until, struct text *out)
{
    if (question->n_lost > 0) {
        int64_t from = question->last_ended < until ? question->last_ended : until;
        gap_write(out, from, until, "damaged", question->n_lost);
        text_add(out, "\n");
        question->n_lost = 0;
    }
}

/* ---- back, to find the newest ones ---- */

/* Those of a scan. */
static enum day_result count_back(
    struct question *question, struct day_file *file, struct day_place *found)
{
    struct day_row row;
    bool has_row;
    enum day_result result;
    while ((result = day_next(file, &row, &has_row)) == DAY_DONE && has_row) {
        question->n_found += row.kind != ROW_GAP;
        if (question->n_found <= question->limit) {
            memcpy(found->date, question->at.date, DATE_SIZE);
            found->number = row.number - 1;
        }
    }
    return result;
}

/* False: all have been found. */
static bool step_back(struct question *question, struct days *days)
{
    struct day *day = days_from(days, question->at.date);
    bool is_there = day && strcmp(day->date, question->at.date) == 0 && question->at.number > 0;
    struct day_file *file = is_there ? days_use(days, day) : NULL;
    if (!file) {
        struct day *before = days_before(days, question->at.date);
        char oldest[DATE_SIZE];
        date_of(question->filter.since, oldest);
        question->n_lost = 0;
        if (!before || strcmp(before->date, oldest) < 0) {
            return false;
        }
        memcpy(question->at.date, before->date, DATE_SIZE);
        file = days_use(days, before);
        bool has_rows = file && day_newest(file, &question->at.number) == DAY_DONE;
        question->at.number = has_rows ? question->at.number : 0;
        return true;
    }
    int64_t upto = question->at.number;
    int64_t above = upto > question->step ? upto - question->step : 0;
    uint64_t n_before = question->n_found;
    bool skips = false;
    day_scan(file, &question->filter, above, upto, true);
    enum day_result result = count_back(question, file, &question->found);
    day_end_scan(file);
    if (result == DAY_DONE) {
        widen(question);
    } else {
        narrow(question, &skips);
        question->n_found = skips ? question->n_found : n_before;
    }
    question->at.number = result == DAY_DONE || skips ? above : upto;
    question->at.number = question->n_lost > MAX_LOST ? 0 : question->at.number;
    return question->n_found <= question->limit;
}

/* ---- forth ---- */

static void add_head(struct question *question, struct days *days, struct text *out)
{
    int64_t since = days_since(days);
    bool has_more = question->limit > 0 && question->n_found > question->limit;
    text_add(out, "ok");
    text_add_number_key(out, "now", milliseconds(clock_wall_now()));
    if (since > 0) {
        text_add_number_key(out, "since", (uint64_t)since);
    }
    text_add(out, has_more ? " more=1" : "");
    text_add(out, " whose=host\n");
    if (question->limit > 0) {
        question->at = question->found;
    } else {
        date_of(question->filter.since, question->at.date);
        question->at.number = 0;
    }
    question->n_lost = 0;
    question->step = ROWS_AT_ONCE;
}

static void add_line(struct question *question, struct day_file *file, const struct sight *sight,
    struct day_row *row, struct text *out)
{
    if (!day_line(file, row)) {
        question->n_lost++;
        return;
    }
    add_gap_of_lost(question, row->ended, out);
    bool is_whole = row->kind == ROW_GAP || sight_sees(sight, question->uid, row);
    text_add_bytes(out, row->line, is_whole ? strlen(row->line) : ended_line_plain(row->line));
    text_add(out, "\n");
    question->last_ended = row->ended;
}

/* Goes on to the first rows of the next day. False: there is none. */
static bool next_day(struct question *question, struct days *days, struct text *out)
{
    char date[DATE_SIZE + 1];
    memcpy(date, question->at.date, DATE_SIZE);
    strcat(date, "~"); /* behind that day, before all others */
    struct day *next = days_from(days, date);
    add_gap_of_lost(question, question->last_ended, out);
    if (!next || strcmp(question->at.date, question->end.date) >= 0) {
        return false;
    }
    memcpy(question->at.date, next->date, DATE_SIZE);
    question->at.number = 0;
    question->step = ROWS_AT_ONCE;
    return true;
}

/* Writes the rows of a scan; *numberp: the last one that is written. */
static enum day_result write_rows(struct question *question, struct day_file *file,
    const struct sight *sight, struct text *out, size_t enough, int64_t *numberp)
{
    struct day_row row;
    bool has_row = true;
    enum day_result result = DAY_DONE;
    while (out->length < enough && (result = day_next(file, &row, &has_row)) == DAY_DONE &&
        has_row) {
        add_line(question, file, sight, &row, out);
        *numberp = row.number;
    }
    return result;
}

static bool step_forth(struct question *question, struct days *days, const struct sight *sight,
    struct text *out, size_t enough)
{
    struct day *day = days_from(days, question->at.date);
    bool is_there = day && strcmp(day->date, question->at.date) == 0;
    struct day_file *file = is_there ? days_use(days, day) : NULL;
    bool is_last = strcmp(question->at.date, question->end.date) == 0;
    int64_t newest = question->end.number;
    if (!file || (!is_last && day_newest(file, &newest) != DAY_DONE) ||
        question->at.number >= newest || question->n_lost > MAX_LOST) {
        return next_day(question, days, out);
    }
    int64_t above = question->at.number, reached = above;
    int64_t upto = newest - above > question->step ? above + question->step : newest;
    bool skips = false;
    day_scan(file, &question->filter, above, upto, false);
    enum day_result result = write_rows(question, file, sight, out, enough, &reached);
    day_end_scan(file);
    if (result == DAY_DONE) {
        question->at.number = out->length < enough ? upto : reached;
        widen(question);
    } else {
        narrow(question, &skips);
        question->at.number = skips ? upto : reached;
    }
    return true;
}

void question_begin(struct question *question, struct days *days)
{
    struct day *last = days->n > 0 ? &days->list[days->n - 1] : NULL;
    struct day_file *file = last ? days_use(days, last) : NULL;
    if (file && day_newest(file, &question->end.number) == DAY_DONE) {
        memcpy(question->end.date, last->date, DATE_SIZE);
    }
    question->at = question->found = question->end;
    question->stage = question->limit > 0 ? QUESTION_BACK : QUESTION_HEAD;
}

bool question_go_on(struct question *question, struct days *days, const struct sight *sight,
    struct text *out, size_t enough)
{
    switch (question->stage) {
    case QUESTION_BACK:
        question->stage = step_back(question, days) ? QUESTION_BACK : QUESTION_HEAD;
        return true;
    case QUESTION_HEAD:
        add_head(question, days, out);
        question->stage = QUESTION_FORTH;
        return true;
    case QUESTION_FORTH:
        break;
    }
    if (step_forth(question, days, sight, out, enough)) {
        return true;
    }
    text_add(out, "end\n");
    return false;
}
