#include "history/question.h"

#include "base/clock.h"
#include "base/memory.h"
#include "status/ended_line.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROWS_AT_ONCE = 8192, /* looked at in a piece */
    MAX_LOST = 1000, /* rows that cannot be read: then the rest of the day is given up */
};

/* ---- what is asked ---- */

/* A missing one stays as it is. */
static bool take_number(const char *text, uint64_t max, uint64_t *numberp)
{
    return !text || number_parse(text, max, numberp);
}

static void begin_at_newest(struct question *question, struct days *days)
{
    struct day_row newest;
    int64_t oldest;
    struct day *last = days->n > 0 ? days->list[days->n - 1] : NULL;
    struct day_file *file = last ? days_use(days, last) : NULL;
    if (file && day_bounds(file, &newest, &oldest) == DAY_DONE) {
        memcpy(question->end.date, last->date, DATE_SIZE);
        question->end.number = newest.number;
    }
    question->at = question->found = question->end;
}

struct question *question_new(const struct request *request, uint32_t uid, struct days *days,
    int64_t now, const char **wrongp)
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
            .until = !keys[KEY_INDEX_until]  ? INT64_MAX
                : until < (uint64_t)now ? now - (int64_t)until
                                        : 0,
            .uid = user ? (int64_t)of_user : -1,
            .lease = of_lease,
            .n_names = request->n_arguments},
        .limit = limit,
        .names = memory_resize(NULL, request->n_arguments + 1, sizeof(char *)),
        .uid = uid,
        .stage = limit > 0 ? QUESTION_BACK : QUESTION_HEAD,
        .step = ROWS_AT_ONCE,
    };
    for (size_t i = 0; i < request->n_arguments; i++) {
        question->names[i] = memory_string(request->arguments[i]);
    }
    question->filter.names = question->names;
    begin_at_newest(question, days);
    return question;
}

void question_free(struct question *question)
{
    for (size_t i = 0; question && i < question->filter.n_names; i++) {
        free(question->names[i]);
    }
    if (question) {
        free(question->names);
    }
    free(question);
}

/* ---- rows that cannot be read ---- */

/* Where to go on after a scan up to `far`, which came to `reached`. Where one fails, rows are
 * looked at one by one, until one can be read again: only the damaged ones are left out. */
static int64_t after_scan(
    struct question *question, enum day_result result, int64_t reached, int64_t far)
{
    bool is_lost = result != DAY_DONE && question->step == 1;
    question->n_lost += is_lost;
    question->step = result == DAY_DONE ? ROWS_AT_ONCE : 1;
    return result == DAY_DONE || is_lost ? far : reached;
}

static void add_gap_of_lost(struct question *question, int64_t until, struct text *out)
{
    struct text line = TEXT_INIT;
    if (question->n_lost > 0) {
        until = until > 0 ? until : (int64_t)milliseconds(clock_wall_now());
        int64_t from = question->last_ended > 0 ? question->last_ended : until;
        gap_row(&line, from, until, "damaged", question->n_lost > MAX_LOST ? 0 : question->n_lost);
        text_add(out, line.bytes);
        text_add(out, "\n");
        text_deinit(&line);
    }
    question->n_lost = 0;
}

/* The file of the day at the place; NULL: there is none, or it cannot be read further. */
static struct day_file *file_at(struct question *question, struct days *days)
{
    struct day *day = days_from(days, question->at.date);
    if (!day || strcmp(day->date, question->at.date) != 0 || question->n_lost > MAX_LOST) {
        return NULL;
    }
    struct day_file *file = days_use(days, day);
    question->n_lost = file ? question->n_lost : MAX_LOST + 1;
    return file;
}

/* ---- back, to find the newest ones ---- */

/* Goes on to the last rows of the day before. False: there is none that is asked for. */
static bool previous_day(struct question *question, struct days *days)
{
    char oldest[DATE_SIZE];
    struct day_row newest;
    int64_t ended;
    struct day *before = days_before(days, question->at.date);
    date_of(question->filter.since, oldest);
    question->n_lost = 0;
    if (!before || strcmp(before->date, oldest) < 0) {
        return false;
    }
    struct day_file *file = days_use(days, before);
    bool has_rows = file && day_bounds(file, &newest, &ended) == DAY_DONE;
    memcpy(question->at.date, before->date, DATE_SIZE);
    question->at.number = has_rows ? newest.number : 0;
    return true;
}

/* False: all have been found. */
static bool step_back(struct question *question, struct days *days)
{
    struct day_file *file = question->at.number > 0 ? file_at(question, days) : NULL;
    if (!file) {
        return previous_day(question, days);
    }
    struct day_row row;
    bool has_row;
    enum day_result result;
    int64_t upto = question->at.number, reached = upto;
    int64_t above = upto > question->step ? upto - question->step : 0;
    day_scan(file, &question->filter, above, upto, true);
    while ((result = day_next(file, &row, &has_row)) == DAY_DONE && has_row) {
        reached = row.number - 1;
        question->n_found += row.kind != ROW_GAP;
        if (question->n_found <= question->limit) {
            memcpy(question->found.date, question->at.date, DATE_SIZE);
            question->found.number = reached;
        }
    }
    day_end_scan(file);
    question->at.number = after_scan(question, result, reached, above);
    return question->n_found <= question->limit;
}

/* ---- forth ---- */

static void add_head(struct question *question, struct days *days, struct text *out)
{
    int64_t since = days_since(days);
    text_add(out, "ok");
    text_add_number_key(out, "now", milliseconds(clock_wall_now()));
    if (since > 0) {
        text_add_number_key(out, "since", (uint64_t)since);
    }
    text_add(out, question->n_found > question->limit ? " more=1" : "");
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
    char behind[DATE_SIZE + 1];
    memcpy(behind, question->at.date, DATE_SIZE);
    strcat(behind, "~"); /* before all later days */
    struct day *next = days_from(days, behind);
    add_gap_of_lost(question, question->last_ended, out);
    if (!next || strcmp(question->at.date, question->end.date) >= 0) {
        return false;
    }
    memcpy(question->at.date, next->date, DATE_SIZE);
    question->at.number = 0;
    return true;
}

static bool step_forth(struct question *question, struct days *days, const struct sight *sight,
    struct text *out, size_t enough)
{
    struct day_file *file = file_at(question, days);
    struct day_row row = {.number = question->end.number};
    int64_t oldest;
    bool is_last = strcmp(question->at.date, question->end.date) == 0, has_row = true;
    if (!file || (!is_last && day_bounds(file, &row, &oldest) != DAY_DONE) ||
        question->at.number >= row.number) {
        return next_day(question, days, out);
    }
    int64_t reached = question->at.number, upto = row.number;
    upto = upto - reached > question->step ? reached + question->step : upto;
    enum day_result result = DAY_DONE;
    day_scan(file, &question->filter, reached, upto, false);
    while (out->length < enough &&
        (result = day_next(file, &row, &has_row)) == DAY_DONE && has_row) {
        add_line(question, file, sight, &row, out);
        reached = row.number;
    }
    day_end_scan(file);
    question->at.number = after_scan(question, result, reached, has_row ? reached : upto);
    return true;
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
