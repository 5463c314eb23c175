/* store_find.c - the body of /history.json, from the file and from what is not in it yet. */
#include "web/store_keeper.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_ANSWER_BYTES = 16 << 20, /* of leases in one answer */
    /* What is covered up to now is told every few seconds: so much at the end is no gap. */
    UNTOLD_MILLISECONDS = 15000,
};

struct answer {
    const struct store_question *question;
    struct text *json;
    uint32_t n;
    bool is_truncated;
};

static void add_lease(struct answer *answer, const char *json)
{
    if (answer->n == answer->question->limit || answer->json->length > MAX_ANSWER_BYTES) {
        answer->is_truncated = true;
        return;
    }
    text_add(answer->json, answer->n++ > 0 ? "," : "");
    text_add(answer->json, json);
}

/* ---- leases ---- */

static bool is_asked_for(const struct store_row *row, const struct store_question *question)
{
    if (row->ended < question->from || row->asked >= question->until) {
        return false;
    }
    for (size_t i = 0; question->resource && i < row->n_names; i++) {
        if (strcmp(row->names[i], question->resource) == 0) {
            return true;
        }
    }
    return !question->resource;
}

/* Those in memory, the newest first. They are few unless the file fails. */
static void find_in_memory(const struct store_keeper *keeper, struct answer *answer)
{
    if (!keeper->rows) {
        return;
    }
    const struct store_row **rows = memory_resize(NULL, keeper->n_rows, sizeof *rows);
    size_t n = 0;
    for (const struct store_row *row = keeper->rows; row; row = row->next) {
        rows[n++] = row;
    }
    while (n-- > 0) {
        if (is_asked_for(rows[n], answer->question)) {
            add_lease(answer, rows[n]->json);
        }
    }
    free(rows);
}

static enum store_result find_in_file(struct store_keeper *keeper, struct answer *answer)
{
    const struct store_question *question = answer->question;
    const int64_t values[] = {
        (int64_t)question->from, (int64_t)question->until, (int64_t)question->limit + 1};
    enum store_statement find = question->resource ? STORE_FIND_BY_NAME : STORE_FIND;
    sqlite3_stmt *statement = keeper->file.statements[find];
    enum store_result result;
    store_file_bind(&keeper->file, find, values, 3);
    if (question->resource) {
        sqlite3_bind_text(statement, 4, question->resource, -1, SQLITE_STATIC);
    }
    for (bool has_row; (result = store_file_step(&keeper->file, find, &has_row)) == STORE_DONE &&
         has_row && !answer->is_truncated;) {
        const char *json = (const char *)sqlite3_column_text(statement, 0);
        add_lease(answer, json ? json : "null");
    }
    sqlite3_reset(statement);
    return result;
}

/* ---- gaps ---- */

struct gaps {
    struct text *json;
    uint64_t from, until; /* what is asked for */
    uint64_t covered; /* up to here */
    bool has_any;
};

static void add_gap(struct gaps *gaps, uint64_t from, uint64_t until)
{
    if (from < until) {
        text_add_format(gaps->json, "%s{\"from_ms\":%llu,\"until_ms\":%llu}",
            gaps->has_any ? "," : "", (unsigned long long)from, (unsigned long long)until);
        gaps->has_any = true;
    }
}

static void add_span(struct gaps *gaps, uint64_t begins, uint64_t ends)
{
    if (ends < gaps->from || begins >= gaps->until) {
        return;
    }
    add_gap(gaps, gaps->covered, begins < gaps->until ? begins : gaps->until);
    gaps->covered = ends > gaps->covered ? ends : gaps->covered;
}

static void find_gaps(struct store_keeper *keeper, const struct answer *answer, uint64_t now)
{
    const struct store_question *question = answer->question;
    uint64_t until = question->until < now ? question->until : now;
    struct gaps gaps = {answer->json, question->from, until, question->from, false};
    if (keeper->file.database) {
        const int64_t span[] = {(int64_t)gaps.from, (int64_t)gaps.until};
        sqlite3_stmt *statement = keeper->file.statements[STORE_GAPS];
        store_file_bind(&keeper->file, STORE_GAPS, span, 2);
        for (bool has_row;
             store_file_step(&keeper->file, STORE_GAPS, &has_row) == STORE_DONE && has_row;) {
            add_span(&gaps, (uint64_t)sqlite3_column_int64(statement, 0),
                (uint64_t)sqlite3_column_int64(statement, 1));
        }
        sqlite3_reset(statement);
    }
    for (size_t i = 0; i < keeper->n_spans; i++) {
        add_span(&gaps, keeper->spans[i].from, keeper->spans[i].until);
    }
    if (gaps.until + UNTOLD_MILLISECONDS <= now ||
        gaps.covered + UNTOLD_MILLISECONDS < gaps.until) {
        add_gap(&gaps, gaps.covered, gaps.until);
    }
}

/* ---- the answer ---- */

void store_keeper_find(struct store_keeper *keeper, const struct store_question *question,
    uint64_t now, struct text *json)
{
    text_add_format(json,
        "{\"version\":1,\"now_ms\":%llu,\"from_ms\":%llu,\"until_ms\":%llu,\"leases\":[",
        (unsigned long long)now, (unsigned long long)question->from,
        (unsigned long long)question->until);
    struct answer answer = {.question = question, .json = json};
    find_in_memory(keeper, &answer);
    if (keeper->file.database && !answer.is_truncated) {
        enum store_result result = find_in_file(keeper, &answer);
        if (result != STORE_DONE) { /* damaged, most likely: now what it covered is a gap */
            store_keeper_fail(keeper, result, now);
        }
    }
    text_add_format(json, "],\"truncated\":%s,\"gaps\":[", answer.is_truncated ? "true" : "false");
    find_gaps(keeper, &answer, now);
    text_add_format(json, "],\"retention_ms\":%llu}\n", (unsigned long long)keeper->retention);
}
