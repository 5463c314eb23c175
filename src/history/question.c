#include "history/question.h"

#include "base/clock.h"
#include "base/memory.h"
#include "base/pattern.h"
#include "history/rows.h"
#include "status/ended_line.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROWS_AT_ONCE = 8192, /* looked at in a piece: a few milliseconds */
    NAMED_ROWS_AT_ONCE = 64, /* where names are compared, which may be many and long */
    MAX_LOST = 1000, /* rows that cannot be read: then the rest of the day is given up */
    MAX_SUMS = 4096, /* resources and users: then instances are counted as their template's */
};

/* ---- what is asked ---- */

static int64_t rows_at_once(const struct question *question)
{
    return question->filter.n_names > 0 ? NAMED_ROWS_AT_ONCE : ROWS_AT_ONCE;
}

/* A missing one stays as it is. */
static bool take_number(const char *text, uint64_t max, uint64_t *numberp)
{
    return !text || number_parse(text, max, numberp);
}

void question_begin(struct question *question, struct days *days)
{
    struct day_row newest;
    struct day *last = days->n > 0 ? days->list[days->n - 1] : NULL;
    struct day_file *file = last ? days_use(days, last) : NULL;
    if (last) { /* also if it cannot be read: that is a gap */
        memcpy(question->end.date, last->date, DATE_SIZE);
    }
    if (file && day_newest(file, &newest) == DAY_DONE) {
        question->end.number = newest.number;
    }
    question->at = question->found = question->end;
}

/* LEASE, or SESSION/LEASE of what a database has. */
static bool take_lease(const char *text, uint64_t *leasep)
{
    const char *slash = text ? strchr(text, '/') : NULL;
    return !text || lease_id_parse(slash ? slash + 1 : text, leasep);
}

struct question *question_new(const struct request *request, bool wants_figures, uint32_t uid,
    int64_t now, const char **wrongp)
{
    const char *const *keys = request->keys;
    const char *user = keys[KEY_INDEX_user], *lease = keys[KEY_INDEX_lease];
    uint64_t since = (uint64_t)now, until = 0, of_user = 0, limit = 0, of_lease = 0, failed = 0;
    *wrongp = !take_number(keys[KEY_INDEX_since], INT64_MAX, &since) ? "since"
        : !take_number(keys[KEY_INDEX_until], INT64_MAX, &until)     ? "until"
        : !take_number(user, UINT32_MAX, &of_user)                   ? "user"
        : !take_number(keys[KEY_INDEX_limit], UINT32_MAX, &limit)    ? "limit"
        : !take_lease(lease, &of_lease)                              ? "lease"
        : !take_number(keys[KEY_INDEX_failed], 1, &failed)           ? "failed"
        : keys[KEY_INDEX_after]                                      ? "after"
        : limit > 0 && wants_figures                                 ? "limit"
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
            .failed = failed,
            .n_names = request->n_arguments},
        .limit = limit,
        .wants_figures = wants_figures,
        .names = memory_resize(NULL, request->n_arguments + 1, sizeof(char *)),
        .uid = uid,
        .key = lease ? memory_string(lease) : NULL,
        .stage = limit > 0 ? QUESTION_BACK : QUESTION_HEAD,
    };
    question->step = rows_at_once(question);
    for (size_t i = 0; i < request->n_arguments; i++) {
        question->names[i] = memory_string(request->arguments[i]);
    }
    question->filter.names = question->names;
    return question;
}

void question_free(struct question *question)
{
    for (size_t i = 0; question && i < question->filter.n_names; i++) {
        free(question->names[i]);
    }
    if (question) {
        free(question->names);
        free(question->key);
        sums_deinit(&question->sums);
    }
    free(question);
}

/* ---- the day at the place ---- */

static void add_gap_of_lost(struct question *question, int64_t until, struct text *out)
{
    if (question->n_lost > 0) {
        int64_t asked = later(begin_of(question->at.date), question->filter.since);
        int64_t from = later(asked, question->last_ended);
        uint64_t n = question->n_lost > MAX_LOST ? 0 : question->n_lost;
        gap_write(out, from, until, "damaged", n);
        text_add(out, "\n");
    }
    question->n_lost = 0;
}

/* NULL: there is none, or it cannot be read further. */
static struct day_file *file_at(struct question *question, struct days *days)
{
    struct day *day = days_from(days, question->at.date);
    if (!day || strcmp(day->date, question->at.date) != 0 || question->n_lost > MAX_LOST) {
        return NULL;
    }
    struct day_file *file = days_use(days, day);
    if (!file) {
        question->n_lost = MAX_LOST + 1;
        question->at.number = 0;
    }
    return file;
}

/* The number of its newest row that is asked for; 0: there is none. */
static int64_t newest_at(struct question *question, struct day_file *file)
{
    struct day_row newest;
    if (question->end.number > 0 && strcmp(question->at.date, question->end.date) == 0) {
        return question->end.number;
    }
    if (day_newest(file, &newest) != DAY_DONE) {
        question->n_lost = MAX_LOST + 1;
        return 0;
    }
    return newest.number;
}

/* Goes on to the day before. False: it is not asked for. */
static bool previous_day(struct question *question, struct days *days)
{
    char oldest[DATE_SIZE];
    struct day *before = days_before(days, question->at.date);
    date_of(question->filter.since, oldest);
    question->n_lost = 0;
    if (!before || strcmp(before->date, oldest) < 0) {
        return false;
    }
    memcpy(question->at.date, before->date, DATE_SIZE);
    struct day_file *file = file_at(question, days);
    question->at.number = file ? newest_at(question, file) : 0;
    return true;
}

/* Goes on to the first row of the next day. False: there is none. */
static bool next_day(struct question *question, struct days *days, struct text *out)
{
    char behind[DATE_SIZE + 1];
    memcpy(behind, question->at.date, DATE_SIZE);
    strcat(behind, "~"); /* before all later days */
    struct day *next = days_from(days, behind);
    int64_t end = begin_of(question->at.date) + DAY_MILLISECONDS - 1;
    int64_t now = (int64_t)milliseconds(clock_wall_now());
    add_gap_of_lost(question, earlier(end, now), out);
    if (!next || strcmp(question->at.date, question->end.date) >= 0) {
        return false;
    }
    memcpy(question->at.date, next->date, DATE_SIZE);
    question->at.number = 0;
    return true;
}

/* ---- rows ---- */

/* On the way back: a gap is to be where something cannot be read; but what is behind it must be
 * reached again on the way forth. */
static void note_lost(struct question *question)
{
    bool is_in_reach = question->at.number == 0 || question->n_lost <= MAX_LOST / 2;
    if (question->n_found <= question->limit && is_in_reach) {
        question->found = question->at;
    }
}

/* On the way back: the newest ones are counted. */
static void count_row(struct question *question, const struct day_row *row)
{
    question->n_lost = 0;
    question->n_found += row->kind != ROW_GAP;
    if (question->n_found <= question->limit) {
        memcpy(question->found.date, question->at.date, DATE_SIZE);
        question->found.number = row->number - 1;
    }
}

/* Several hosts may have leases of one number. */
static bool is_its_lease(const struct question *question, const struct day_row *row)
{
    const char *target = row->kind == ROW_ENDED ? NULL : strstr(row->line, " target=");
    const char *key = target ? strchr(target, '=') : row->line + strcspn(row->line, " ");
    size_t n = question->key ? strlen(question->key) : 0;
    return !question->key || row->kind == ROW_GAP ||
        (strcspn(key + 1, " ") == n && strncmp(key + 1, question->key, n) == 0);
}

static void add_line(struct question *question, struct day_file *file, const struct sight *sight,
    struct day_row *row, struct text *out)
{
    if (!day_line(file, row)) {
        question->n_lost++;
        return;
    }
    if (!is_its_lease(question, row)) {
        return;
    }
    add_gap_of_lost(question, row->ended, out);
    bool is_whole = row->kind == ROW_GAP || row->kind == ROW_DID ||
        sight_sees(sight, question->uid, row);
    text_add_bytes(out, row->line, is_whole ? strlen(row->line) : ended_line_plain(row->line));
    text_add(out, "\n");
    question->last_ended = row->ended;
}

/* Users name instances as they like. */
static void name_its_template(char *name)
{
    char *slash = strrchr(name, '/');
    if (slash && slash[1]) {
        strcpy(slash + 1, "*");
    }
}

static void count_figures(
    struct question *question, const struct day_row *row, struct text *out)
{
    int64_t granted = row->granted > 0 ? row->granted : row->ended;
    struct sums_claim claims[MAX_RESOURCES_PER_LEASE];
    size_t n = 0;
    if (row->kind != ROW_ENDED) {
        return;
    }
    if (row->asked > granted || granted > row->ended) {
        question->n_lost++; /* nobody has written that */
        return;
    }
    add_gap_of_lost(question, row->ended, out);
    question->last_ended = row->ended;
    char *copy = memory_string(row->claims), *next = copy;
    for (char *claim; n < MAX_RESOURCES_PER_LEASE && (claim = strsep(&next, ",")) != NULL;) {
        char *name = strsep(&claim, " ");
        struct optional units = {claim, 0};
        units.is_given = claim && number_parse(claim, UINT32_MAX, &units.number);
        bool is_share = units.is_given && units.number == 0;
        if (!is_share && patterns_match(question->names, question->filter.n_names, name)) {
            if (question->sums.rows.n >= MAX_SUMS) {
                name_its_template(name);
            }
            claims[n++] = (struct sums_claim){name, units};
        }
    }
    const struct sums_entry entry = {
        .kind = row->granted > 0 ? SUMS_LEASE : SUMS_REFUSED,
        .uid = row->uid,
        .ended = (uint64_t)row->ended,
        .waited = (uint64_t)(granted - row->asked),
        .held = (uint64_t)(row->ended - granted),
        .database = row->database,
    };
    sums_add(&question->sums, &entry, claims, n);
    free(copy);
}

/* Where a scan fails, rows are looked at one by one, until one can be read again: only the damaged
 * ones are left out. False: that was the end. */
static bool step(struct question *question, struct days *days, const struct sight *sight,
    struct text *out, size_t enough)
{
    bool is_back = question->stage == QUESTION_BACK, has_row = true;
    struct day_file *file = file_at(question, days); /* may change the place */
    int64_t at = question->at.number, newest = file ? newest_at(question, file) : 0;
    int64_t left = is_back ? at : newest - at;
    bool is_over = !file || left <= 0;
    if (is_over && is_back && question->n_lost > 0) {
        note_lost(question);
    }
    if (is_over) {
        return is_back ? previous_day(question, days) : next_day(question, days, out);
    }
    int64_t far = left < question->step ? left : question->step;
    far = is_back ? at - far : at + far;
    struct day_row row;
    enum day_result result = DAY_DONE;
    day_scan(file, &question->filter, is_back ? far : at, is_back ? at : far, is_back);
    while (out->length < enough && (result = day_next(file, &row, &has_row)) == DAY_DONE &&
        has_row) {
        at = is_back ? row.number - 1 : row.number;
        if (is_back) {
            count_row(question, &row);
        } else if (question->wants_figures && row.kind != ROW_GAP) {
            count_figures(question, &row, out);
        } else {
            add_line(question, file, sight, &row, out);
        }
    }
    day_end_scan(file);
    bool is_lost = result != DAY_DONE && question->step == 1;
    question->n_lost += is_lost;
    question->step = result == DAY_DONE ? rows_at_once(question) : 1;
    question->at.number = is_lost || (result == DAY_DONE && !has_row) ? far : at;
    if (is_back && is_lost) {
        note_lost(question);
    }
    return !is_back || question->n_found <= question->limit;
}

/* ---- the answer ---- */

static void add_head(struct question *question, struct days *days, struct text *out)
{
    int64_t since = days_since(days), now = (int64_t)milliseconds(clock_wall_now());
    const struct day_filter *filter = &question->filter;
    question->sums.from = (uint64_t)(since > filter->since ? since : filter->since);
    question->sums.to = (uint64_t)(now < filter->until ? now : filter->until);
    text_add(out, "ok");
    text_add_number_key(out, "now", (uint64_t)now);
    if (since > 0) {
        text_add_number_key(out, "since", (uint64_t)since);
    }
    text_add(out, question->n_found > question->limit ? " more=1" : "");
    text_add_key(out, "whose", question->database ? "database" : "host");
    text_add_key(out, "database", question->database);
    text_add(out, "\n");
    if (question->limit > 0) {
        question->at = question->found;
    } else {
        date_of(question->filter.since, question->at.date);
        question->at.number = 0;
    }
    question->n_lost = 0;
    question->step = rows_at_once(question);
    question->stage = QUESTION_FORTH;
}

static void add_cut(const struct question *question, struct text *out)
{
    gap_write(out, question->cut_at, (int64_t)milliseconds(clock_wall_now()), "down", 0);
    text_add(out, "\n");
}

bool question_go_on(struct question *question, struct days *days, const struct sight *sight,
    struct text *out, size_t enough)
{
    if (question->stage == QUESTION_HEAD) {
        add_head(question, days, out);
        return true;
    }
    if (question->stage != QUESTION_FIGURES && step(question, days, sight, out, enough)) {
        return true;
    }
    if (question->stage == QUESTION_BACK) {
        question->stage = QUESTION_HEAD;
        return true;
    }
    if (question->stage != QUESTION_FIGURES && question->cut_at > 0) {
        add_cut(question, out);
    }
    question->stage = QUESTION_FIGURES;
    do {
        sums_write_some(&question->sums, &question->cursor, out);
    } while (question->cursor != 0 && out->length < enough);
    text_add(out, question->cursor == 0 ? "end\n" : "");
    return question->cursor != 0;
}
