/* live_lines.c - see live.h. Takes the lines apart, and knows where a batch begins and ends; and
 * makes an answer of the copy. */
#include "view/live.h"

#include "base/memory.h"
#include "base/words.h"
#include "view/live_internal.h"
#include "wire/protocol.h"

#include <stdlib.h>
#include <string.h>

void live_init(struct live *live)
{
    *live = (struct live){.generation = 1};
}

struct instant live_now(const struct live *live, nanoseconds now)
{
    return (struct instant){true, instant_of(now).at + live->ahead};
}

void live_watch(struct live *live, const struct live_watcher *watcher)
{
    if (live->n_watchers == sizeof live->watchers / sizeof live->watchers[0]) {
        abort();
    }
    live->watchers[live->n_watchers++] = watcher;
}

static void ended_clear(struct live *live)
{
    for (size_t i = 0; i < live->ended.n; i++) {
        past_lease_deinit(&live->ended.leases[i]);
    }
    live->ended.n = 0;
    live->has_missed = false;
}

static void settle(struct live *live)
{
    live_leases_settle(live);
    live_records_settle(live);
    live->host_before = live->host;
    live->host_before.drain_reason = NULL; /* it goes with the next line */
    ended_clear(live);
}

void live_deinit(struct live *live)
{
    live->generation++; /* nothing has been named in this one */
    live_sweep(live);
    settle(live);
    for (enum status_line kind = 0; kind < N_STATUS_LINES; kind++) {
        free(live->records[kind].list);
        table_deinit(&live->records[kind].by_name);
    }
    table_deinit(&live->leases);
    past_deinit(&live->ended);
    free(live->touched);
    free(live->drain_reason);
    free(live->shown.resources);
    free(live->shown.templates);
    free(live->shown.databases);
    live_init(live);
}

void live_forget(struct live *live)
{
    live->has_ok = live->has_snapshot = live->is_fresh = false;
    ended_clear(live);
}

/* ---- lines ---- */

/* A line in words; `line` is the whole of it. */
struct words_of_line {
    const char *line;
    char **words;
    size_t n;
    nanoseconds now;
};

static bool live_lines_take_host(struct live *live, const struct words_of_line *line)
{
    struct status host = {.begun = true};
    bool is_good =
        fields_take(status_fields(LINE_FIGURES), line->words + 1, line->n - 1, &host);
    if (is_good) {
        /* A line may come late, never early. */
        int64_t ahead = host.now.at - instant_of(line->now).at;
        live->ahead = live->has_ok && live->ahead > ahead ? live->ahead : ahead;
        free(live->drain_reason);
        live->drain_reason = memory_string(host.drain_reason);
        live->host = host;
        live->host.closed = NULL; /* it is the line's */
        live->host.drain_reason = live->drain_reason;
    }
    return is_good;
}

static bool take_snapshot(struct live *live, const struct words_of_line *line)
{
    (void)line;
    live->generation++;
    live->has_snapshot = live->is_fresh = true;
    return true;
}

static bool take_gone(struct live *live, const struct words_of_line *line)
{
    const char *resource = words_find(line->words, line->n, "resource");
    if (line->n < 2 || !resource) {
        return false;
    }
    live_lease_gone(live, line->words[1], resource);
    return true;
}

static bool take_removed(struct live *live, const struct words_of_line *line)
{
    if (line->n < 2) {
        return false;
    }
    live_record_gone(live, LINE_RESOURCE, line->words[1]);
    live_record_gone(live, LINE_TEMPLATE, line->words[1]);
    return true;
}

static bool take_ended(struct live *live, const struct words_of_line *line)
{
    return past_add(&live->ended, line->line);
}

static const struct {
    const char *word;
    bool (*take)(struct live *live, const struct words_of_line *line);
    bool begins; /* may come before the first snapshot of a connection */
} rows[] = {
    {"gone", take_gone, false},
    {"host", live_lines_take_host, false},
    {"ended", take_ended, false},
    {"removed", take_removed, false},
    {"snapshot", take_snapshot, true},
};

/* Lines that later daemons may send are ignored. */
static bool take_row(struct live *live, const struct words_of_line *line)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(rows[i].word, line->words[0]) == 0) {
            return (rows[i].begins || live->has_snapshot) && rows[i].take(live, line);
        }
    }
    return true;
}

static bool live_lines_take_line(struct live *live, const struct words_of_line *line)
{
    enum status_line kind = status_line_of(line->line);
    switch (kind) {
    case LINE_HOLDER:
    case LINE_WAITER:
        return live->has_snapshot && live_lease_take(live, line->line, kind);
    case LINE_RESOURCE:
    case LINE_TEMPLATE:
    case LINE_DATABASE:
        return live->has_snapshot && live_record_take(live, kind, line->line);
    default:
        return take_row(live, line);
    }
}

static void end_batch(struct live *live, const struct words_of_line *line)
{
    const char *missed = words_find(line->words, line->n, "missed");
    live->has_missed = missed && strcmp(missed, "1") == 0;
    if (live->is_fresh) {
        live_sweep(live);
    }
    live->serial++;
    live_tell(live);
    live_note_databases(live, line->now);
    live->is_known = true;
    live->is_fresh = false;
    settle(live);
}

static enum live_result live_lines_take(struct live *live, const struct words_of_line *line)
{
    if (line->n == 0) {
        return LIVE_MALFORMED;
    }
    if (!live->has_ok) {
        live->has_ok = strcmp(line->words[0], "ok") == 0 && live_lines_take_host(live, line);
        return live->has_ok ? LIVE_MORE : LIVE_MALFORMED;
    }
    if (strcmp(line->words[0], "end") != 0) {
        return live_lines_take_line(live, line) ? LIVE_MORE : LIVE_MALFORMED;
    }
    if (!live->has_snapshot) {
        return LIVE_MALFORMED;
    }
    end_batch(live, line);
    return LIVE_END;
}

enum live_result live_take(struct live *live, const char *line, nanoseconds now)
{
    char *words[MAX_WORDS];
    char *copy = memory_string(line);
    const struct words_of_line split = {
        .line = line, .words = words, .n = words_split(copy, words, MAX_WORDS), .now = now};
    enum live_result result = live_lines_take(live, &split);
    free(copy);
    return result;
}

/* ---- as an answer ---- */

static void leases_renew(struct status_leases *shown, const struct live_lease_list *list)
{
    shown->list = memory_resize(shown->list, list->n + 1, sizeof *shown->list);
    for (size_t i = 0; i < list->n; i++) {
        shown->list[i] = list->list[i]->shown;
        shown->list[i].position = i < list->n_held ? 0 : i - list->n_held + 1;
    }
    shown->n = list->n;
}

static void resource_show(struct live_resource *resource, struct status_resource *shown)
{
    if (resource->is_stale) {
        leases_renew(&resource->shown_leases, &resource->leases);
        resource->is_stale = false;
    }
    *shown = resource->shown;
    shown->leases = resource->shown_leases;
}

/* Templates have no leases. */
static size_t resources_show(const struct live_records *records, struct status_resource **listp)
{
    *listp = memory_resize(*listp, records->n + 1, sizeof **listp);
    for (size_t i = 0; i < records->n; i++) {
        resource_show((struct live_resource *)records->list[i], &(*listp)[i]);
    }
    return records->n;
}

const struct status *live_status(struct live *live, nanoseconds now)
{
    struct status *shown = &live->shown;
    const struct live_records *databases = &live->records[LINE_DATABASE];
    struct status next = live->host;
    next.now = live_now(live, now);
    next.resources = shown->resources;
    next.templates = shown->templates;
    next.n_resources = resources_show(&live->records[LINE_RESOURCE], &next.resources);
    next.n_templates = resources_show(&live->records[LINE_TEMPLATE], &next.templates);
    next.databases = memory_resize(shown->databases, databases->n + 1, sizeof *shown->databases);
    for (size_t i = 0; i < databases->n; i++) {
        next.databases[i] = ((const struct live_database *)databases->list[i])->shown;
    }
    next.n_databases = databases->n;
    *shown = next;
    return shown;
}
