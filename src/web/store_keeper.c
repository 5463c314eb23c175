#include "web/store_keeper.h"

#include "base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROWS_AT_ONCE = 500, /* in one transaction */
    BYTES_AT_ONCE = 4 << 20,
    TRIM_MILLISECONDS = 60000,
    MAX_SPANS = 64, /* in memory */
};

void store_keeper_init(
    struct store_keeper *keeper, const char *path, uint64_t retention, uint64_t max_pages)
{
    *keeper = (struct store_keeper){
        .path = path,
        .retention = retention,
        .max_pages = max_pages,
    };
    keeper->rows_end = &keeper->rows;
}

/* ---- what goes wrong ---- */

static void set_aside(struct store_keeper *keeper)
{
    struct text name = TEXT_INIT;
    if (store_file_set_aside(keeper->path, &name)) {
        if (keeper->n_set_aside++ == 0) { /* one after another: the disk may be what is damaged */
            keeper->retry_at = 0;
        }
        text_add_format(&keeper->notices, "history: %s: %s: it is now %s, and a new one begins\n",
            keeper->path, keeper->file.why, name.bytes);
    } else {
        snprintf(keeper->file.why, sizeof keeper->file.why,
            "it is damaged, and cannot be renamed: %s", strerror(errno));
    }
    text_deinit(&name);
}

void store_keeper_fail(struct store_keeper *keeper, enum store_result result, uint64_t now)
{
    char before[sizeof keeper->why];
    snprintf(before, sizeof before, "%s", keeper->why);
    keeper->failures++;
    keeper->retry_at = now + STORE_RETRY_MILLISECONDS;
    store_file_close(&keeper->file);
    if (result == STORE_IS_DAMAGED) {
        set_aside(keeper);
    }
    snprintf(keeper->why, sizeof keeper->why, "history: %s: %s", keeper->path, keeper->file.why);
    if (keeper->retry_at != 0 && strcmp(before, keeper->why) != 0) {
        text_add_format(&keeper->notices,
            "%s; what ends is kept in memory meanwhile, at most %d leases\n", keeper->why,
            STORE_MAX_ROWS);
    }
}

/* What has been written last is there: the file works. */
static void works(struct store_keeper *keeper)
{
    if (keeper->why[0]) {
        keeper->why[0] = '\0';
        text_add_format(&keeper->notices, "history: %s works\n", keeper->path);
    }
}

/* ---- what is new ---- */

bool store_keeper_add(struct store_keeper *keeper, struct store_row *row)
{
    if (keeper->n_rows >= STORE_MAX_ROWS || keeper->row_bytes + row->bytes > STORE_MAX_BYTES) {
        free(row);
        return false;
    }
    row->next = NULL;
    *keeper->rows_end = row;
    keeper->rows_end = &row->next;
    keeper->n_rows++;
    keeper->row_bytes += row->bytes;
    return true;
}

void store_keeper_cover(struct store_keeper *keeper, uint64_t from, uint64_t until)
{
    if (until <= from) {
        return;
    }
    if (keeper->covered_until < until) {
        keeper->covered_until = until;
    }
    struct store_span *last = keeper->n_spans > 0 ? &keeper->spans[keeper->n_spans - 1] : NULL;
    if (last && from >= last->from && from <= last->until) {
        last->until = until > last->until ? until : last->until;
        return;
    }
    if (keeper->n_spans == MAX_SPANS) { /* the oldest one is a gap */
        memmove(keeper->spans, keeper->spans + 1, (MAX_SPANS - 1) * sizeof *keeper->spans);
        keeper->n_spans--;
    }
    keeper->spans = memory_resize(keeper->spans, MAX_SPANS, sizeof *keeper->spans);
    keeper->spans[keeper->n_spans++] = (struct store_span){from, until};
}

static void drop_first(struct store_keeper *keeper, size_t n)
{
    for (; n > 0; n--) {
        struct store_row *row = keeper->rows;
        keeper->rows = row->next;
        keeper->n_rows--;
        keeper->row_bytes -= row->bytes;
        free(row);
    }
    if (!keeper->rows) {
        keeper->rows_end = &keeper->rows;
    }
}

/* ---- the file ---- */

/* Some of the rows, in one transaction; with the last ones what they cover. */
static enum store_result write_some(struct store_keeper *keeper)
{
    size_t n = 0, bytes = 0;
    const struct store_row *row = keeper->rows;
    enum store_result result = store_file_begin(&keeper->file);
    for (; result == STORE_DONE && row && n < ROWS_AT_ONCE && bytes < BYTES_AT_ONCE;
         row = row->next, n++) {
        bytes += row->bytes;
        result = store_file_add(&keeper->file, row);
    }
    bool is_last = row == NULL;
    for (size_t i = 0; result == STORE_DONE && is_last && i < keeper->n_spans; i++) {
        result = store_file_cover(&keeper->file, keeper->spans[i].from, keeper->spans[i].until);
    }
    if (result != STORE_DONE || (result = store_file_commit(&keeper->file)) != STORE_DONE) {
        return result;
    }
    keeper->written += bytes;
    drop_first(keeper, n);
    keeper->n_spans = is_last ? 0 : keeper->n_spans;
    works(keeper);
    return STORE_DONE;
}

static enum store_result open_file(struct store_keeper *keeper)
{
    uint64_t until = 0;
    enum store_result result = store_file_open(&keeper->file, keeper->path, keeper->max_pages);
    if (result == STORE_DONE) {
        result = store_file_covered_until(&keeper->file, &until);
    }
    if (result == STORE_DONE && until > keeper->covered_until) {
        keeper->covered_until = until;
    }
    return result;
}

/* Soon enough that the file, a quarter of which is then free, does not become full. */
static bool is_trim_due(const struct store_keeper *keeper, uint64_t now)
{
    return keeper->trim_at <= now || keeper->written > keeper->max_pages * STORE_PAGE_BYTES / 16;
}

static enum store_result trim(struct store_keeper *keeper, uint64_t now)
{
    bool has_more = false;
    uint64_t oldest = now > keeper->retention ? now - keeper->retention : 0;
    enum store_result result = store_file_trim(&keeper->file, oldest, &has_more);
    keeper->written = 0;
    keeper->trim_at = has_more ? now : now + TRIM_MILLISECONDS;
    return result;
}

/* One thing that is due. *is_duep: there may be more. */
static enum store_result do_next(struct store_keeper *keeper, uint64_t now, bool *is_duep)
{
    *is_duep = true;
    if (!keeper->file.database) {
        keeper->trim_at = now;
        return open_file(keeper);
    }
    if (is_trim_due(keeper, now)) {
        return trim(keeper, now);
    }
    if (keeper->rows || keeper->why[0] || (keeper->n_spans > 0 && keeper->cover_at <= now)) {
        keeper->cover_at = now + STORE_COVER_MILLISECONDS;
        return write_some(keeper);
    }
    *is_duep = false;
    return STORE_DONE;
}

uint64_t store_keeper_step(struct store_keeper *keeper, uint64_t now)
{
    /* A clock that was set back delays nothing for long. */
    if (keeper->retry_at > now + STORE_RETRY_MILLISECONDS) {
        keeper->retry_at = now;
    }
    keeper->trim_at = keeper->trim_at > now + TRIM_MILLISECONDS ? now : keeper->trim_at;
    keeper->cover_at = keeper->cover_at > now + STORE_COVER_MILLISECONDS ? now : keeper->cover_at;
    for (bool is_due = true; is_due;) {
        if (!keeper->file.database && keeper->retry_at > now) {
            return keeper->retry_at;
        }
        enum store_result result = do_next(keeper, now, &is_due);
        if (result != STORE_DONE) {
            store_keeper_fail(keeper, result, now);
        }
    }
    return keeper->n_spans > 0 && keeper->cover_at < keeper->trim_at ? keeper->cover_at
                                                                     : keeper->trim_at;
}

void store_keeper_finish(struct store_keeper *keeper, uint64_t now)
{
    keeper->retry_at = keeper->cover_at = 0;
    store_keeper_step(keeper, now);
}

void store_keeper_deinit(struct store_keeper *keeper)
{
    store_file_close(&keeper->file);
    drop_first(keeper, keeper->n_rows);
    free(keeper->spans);
    text_deinit(&keeper->notices);
}
