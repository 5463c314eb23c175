#include "record/history_log.h"

#include "base/memory.h"
#include "journal/record.h"
#include "log/log.h"
#include "record/history.h"
#include "record/log_subject.h"
#include "status/ended_line.h"

#include <stdio.h>
#include <string.h>

enum {
    MAX_LINES = 16, /* of one turn */
    MAX_LOOKED_AT = 512, /* entries of one turn, with those that are no ends */
    GO_ON_AFTER_MS = 1,
    MAX_FIELDS = 16,
};

/* ---- fields ---- */

struct fields {
    struct log_field list[MAX_FIELDS];
    char numbers[MAX_FIELDS][24];
    size_t n;
};

static void add_text(struct fields *fields, const char *name, const char *value)
{
    if (value) {
        fields->list[fields->n++] = (struct log_field){name, value};
    }
}

static void history_log_add_number(
    struct fields *fields, const char *name, bool is_known, uint64_t number)
{
    if (is_known) {
        char *text = fields->numbers[fields->n];
        snprintf(text, sizeof fields->numbers[0], "%llu", (unsigned long long)number);
        add_text(fields, name, text);
    }
}

static void fill(struct fields *fields, const struct ended_lease *ended, const char *units)
{
    const struct saved_lease *lease = ended->lease;
    const struct history_entry *entry = ended->entry;
    const char *code;
    add_text(fields, "BERTH_HOW", ended_how(ended, &code));
    add_text(fields, "BERTH_CODE", code);
    add_text(fields, "BERTH_UNITS", units);
    history_log_add_number(fields, "BERTH_HELD_MS", lease->is_held, ended_held(ended));
    history_log_add_number(fields, "BERTH_WAITED_MS", true, ended_waited(ended));
    add_text(fields, "BERTH_UNSEEN", entry->was_unseen ? "1" : NULL);
    history_log_add_number(
        fields, "BERTH_EXIT_STATUS", entry->status == HISTORY_EXITED, entry->number);
    history_log_add_number(
        fields, "BERTH_SIGNAL", entry->status == HISTORY_SIGNALLED, entry->number);
    history_log_add_number(
        fields, "BERTH_HOLDER_LOGIN_UID", entry->origin.has_login, entry->origin.login);
    add_text(fields, "BERTH_CGROUP", entry->origin.cgroup);
    add_text(fields, "BERTH_ARGUMENTS", entry->origin.args);
    add_text(fields, "BERTH_REASON", lease->attributes.reason);
    add_text(fields, "BERTH_WHY", entry->why);
}

/* ---- lines ---- */

static struct log_subject subject_of(
    const struct ended_lease *ended, const struct fields *fields)
{
    struct log_subject subject = {
        .event = "ended",
        .database = ended->database,
        .more = fields->list,
        .n_more = fields->n,
    };
    log_subject_saved_lease(&subject, ended->lease);
    subject.asker.by = ended->entry->by;
    return subject;
}

/* "exit 3", "SIGTERM", "released", "max-hold, SIGTERM", "denied, queue-full", "gone, while berthd
 * was down": the usual end is that of the job alone. */
static void say_how(struct text *out, const struct ended_lease *ended)
{
    const char *code, *how = ended_how(ended, &code);
    const struct history_entry *entry = ended->entry;
    bool knows_status = entry->status != HISTORY_STATUS_UNKNOWN;
    bool is_usual = strcmp(how, "released") == 0 && !entry->by.is_known;
    if (!knows_status || !is_usual) {
        text_add(out, how);
        text_add(out, code || knows_status ? ", " : "");
    }
    text_add(out, code ? code : "");
    if (knows_status) {
        text_add_job_status(out, entry->status == HISTORY_SIGNALLED, entry->number);
    }
    text_add(out, entry->was_unseen ? ", while berthd was down" : "");
}

static void write_line(const struct ended_lease *ended)
{
    const struct saved_lease *lease = ended->lease;
    struct fields fields = {.n = 0};
    struct text units = TEXT_INIT, how = TEXT_INIT;
    char held[16], waited[16];
    say_how(&how, ended);
    ended_units(&units, lease);
    fill(&fields, ended, units.bytes);
    const struct log_subject subject = subject_of(ended, &fields);
    age_format(held, sizeof held, ended_held(ended));
    age_format(waited, sizeof waited, ended_waited(ended));
    log_message_on(LOG_LEVEL_INFO, &subject,
        "%s %s (%s) of uid %u, pid %d has ended (%s): %s%s%swaited for %s",
        lease->is_held ? "lease" : "request", subject.lease,
        log_subject_what(&subject).text, lease->uid, (int)lease->pid,
        how.bytes, lease->is_held ? "held for " : "", lease->is_held ? held : "",
        lease->is_held ? ", " : "", waited);
    text_deinit(&units);
    text_deinit(&how);
}

/* False: its record is damaged. */
static bool write_entry(const struct history_entry *entry)
{
    struct saved_lease *lease = record_read(entry->record, entry->record_length);
    if (lease) {
        const struct ended_lease ended = {
            .entry = entry, .lease = lease, .database = record_database(lease)};
        write_line(&ended);
    }
    record_free(lease);
    return lease;
}

/* All that is kept is written. More may have come at once than the history keeps. */
static void say_how_many_are_missing(struct history_log *log)
{
    uint64_t n_missing = log->history->n_ended - log->n_written;
    if (n_missing > 0) {
        log_warning("%llu ended leases and requests were not logged; `history` in "
                    "[daemon] is too small to keep so many until they are logged",
            (unsigned long long)n_missing);
    }
    log->n_written = log->history->n_ended;
}

/* ---- turns ---- */

static void history_log_on_timer(uv_timer_t *timer);

static void write_new(struct history_log *log)
{
    struct history_entry entry;
    unsigned n_left = MAX_LOOKED_AT, n_lines = 0;
    while (n_lines < MAX_LINES &&
        history_next(log->history, &log->position, &n_left, &entry)) {
        log->n_written += entry.kind == HISTORY_ENDED && write_entry(&entry);
        n_lines += entry.kind == HISTORY_ENDED;
    }
    if (n_lines == MAX_LINES || n_left == 0) {
        uv_timer_start(&log->timer, history_log_on_timer, GO_ON_AFTER_MS, 0);
    } else {
        say_how_many_are_missing(log);
    }
}

static void history_log_on_timer(uv_timer_t *timer)
{
    struct history_log *log = container_of(timer, struct history_log, timer);
    if (log->is_on) {
        write_new(log);
    }
}

void history_log_end_turn(struct history_log *log, bool is_on)
{
    if (is_on && !log->is_on) {
        history_log_begin(log);
    }
    log->is_on = is_on;
    if (is_on) {
        write_new(log);
    }
}

/* ---- life ---- */

void history_log_init(struct history_log *log, uv_loop_t *loop, const struct history *history)
{
    *log = (struct history_log){.history = history};
    uv_timer_init(loop, &log->timer);
}

void history_log_begin(struct history_log *log)
{
    log->is_on = true; /* until the end of the turn says otherwise */
    log->position = history_ring_end(&log->history->ring);
    log->n_written = log->history->n_ended;
}
