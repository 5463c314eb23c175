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
};

/* ---- lines ---- */

struct number {
    char text[24]; /* "": it is not known */
};

static struct number number_of(bool is_known, uint64_t number)
{
    struct number shown = {""};
    if (is_known) {
        snprintf(shown.text, sizeof shown.text, "%ju", (uintmax_t)number);
    }
    return shown;
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
    const struct history_entry *entry = ended->entry;
    uint64_t held_for = ended_held(ended), waited_for = ended_waited(ended);
    const struct number held = number_of(lease->is_held, held_for);
    const struct number waited = number_of(true, waited_for);
    const struct number status = number_of(entry->status == HISTORY_EXITED, entry->number);
    const struct number killed_by = number_of(entry->status == HISTORY_SIGNALLED, entry->number);
    const struct number login = number_of(entry->origin.has_login, entry->origin.login);
    const char *code, *word = ended_how(ended, &code);
    struct text units = TEXT_INIT, how = TEXT_INIT;
    say_how(&how, ended);
    ended_units(&units, lease);
    const struct log_field fields[] = {
        {"BERTH_HOW", word},
        {"BERTH_CODE", code},
        {"BERTH_UNITS", units.bytes},
        {"BERTH_HELD_MS", held.text},
        {"BERTH_WAITED_MS", waited.text},
        {"BERTH_UNSEEN", entry->was_unseen ? "1" : NULL},
        {"BERTH_EXIT_STATUS", status.text},
        {"BERTH_SIGNAL", killed_by.text},
        {"BERTH_HOLDER_LOGIN_UID", login.text},
        {"BERTH_CGROUP", entry->origin.cgroup},
        {"BERTH_ARGUMENTS", entry->origin.args},
        {"BERTH_REASON", lease->attributes.reason},
        {"BERTH_WHY", entry->why},
    };
    struct log_subject subject = {
        .event = "ended",
        .database = ended->database,
        .more = fields,
        .n_more = sizeof fields / sizeof fields[0],
    };
    char held_text[16], waited_text[16];
    log_subject_saved_lease(&subject, lease);
    subject.asker.by = entry->by;
    age_format(held_text, sizeof held_text, held_for);
    age_format(waited_text, sizeof waited_text, waited_for);
    log_message_on(LOG_LEVEL_INFO, &subject,
        "%s %s (%s) of uid %u, pid %d has ended (%s): %s%s%swaited for %s",
        lease->is_held ? "lease" : "request", subject.lease,
        log_subject_what(&subject).text, lease->uid, (int)lease->pid,
        how.bytes, lease->is_held ? "held for " : "", lease->is_held ? held_text : "",
        lease->is_held ? ", " : "", waited_text);
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
    unsigned n_looked_at = 0, n_lines = 0;
    while (n_lines < MAX_LINES && n_looked_at < MAX_LOOKED_AT &&
        history_next(log->history, &log->position, &entry)) {
        n_looked_at++;
        log->n_written += entry.kind == HISTORY_ENDED && write_entry(&entry);
        n_lines += entry.kind == HISTORY_ENDED;
    }
    if (n_lines == MAX_LINES || n_looked_at == MAX_LOOKED_AT) {
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
