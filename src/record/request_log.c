#include "record/request_log.h"

#include "base/memory.h"
#include "base/text.h"
#include "log/log.h"
#include "record/history.h"
#include "record/log_subject.h"

#include <stdlib.h>
#include <string.h>

/* What an entry of the history says of a request, whose first argument is the resource. */
static const struct did_row {
    bool is_recorded; /* by this host, unless a database does so */
    bool has_database; /* that is the target */
    enum { NOTHING, TARGET, NEW_VALUE } second; /* argument */
    const char *new; /* state */
} rows[N_COMMANDS + 1] = { /* of a later version's request nothing is known */
    [COMMAND_limit] = {true, .second = NEW_VALUE},
    [COMMAND_add] = {true, .second = TARGET, .new = "present"},
    [COMMAND_remove] = {true, .second = TARGET, .new = "removed"},
    [COMMAND_reserve] = {true, .second = TARGET, .new = "reserved"},
    [COMMAND_pause] = {true, .new = "paused"},
    [COMMAND_resume] = {true, .new = "granting"},
    [COMMAND_reset] = {true, .second = NEW_VALUE}, /* which a database knows */
    [COMMAND_forget] = {.has_database = true},
    [COMMAND_upgrade] = {.has_database = true},
    [COMMAND_found] = {.has_database = true},
    [COMMAND_drain] = {true, .new = "draining"},
    [COMMAND_undrain] = {true, .new = "granting"},
    [COMMAND_move] = {.second = NEW_VALUE}, /* in a database */
};

struct request_log {
    struct log_subject subject;
    struct text what; /* the request's words */
    struct history *history;
    const struct did_row *row;
    nanoseconds at;
    struct actor by;
    char *arguments[2]; /* owned, like the next two; or NULL */
    char *was, *is;
    char *reason; /* that it gives */
};

struct request_log *request_log_new(
    const struct request *request, const struct request_asked *asked, struct history *history)
{
    const struct command_row *row = &command_table[request->command];
    struct request_log *log = memory_new(sizeof *log);
    log->subject = (struct log_subject){
        .event = row->word, .asker = asked->asker, .database = asked->database};
    if (request->n_arguments > 0) {
        log_subject_resource(&log->subject, request->arguments[0]);
    }
    text_add(&log->what, row->word);
    for (size_t i = 0; i < request->n_arguments && i < 2; i++) {
        text_add(&log->what, " ");
        text_add(&log->what, request->arguments[i]);
        log->arguments[i] = memory_string(request->arguments[i]);
    }
    if (request->keys[KEY_INDEX_database]) {
        text_add(&log->what, " database=");
        text_add(&log->what, request->keys[KEY_INDEX_database]);
    }
    log->reason = memory_string(request->keys[KEY_INDEX_reason]);
    log->history = history;
    log->row = &rows[request->command];
    log->at = asked->at;
    log->by = asked->by;
    log->was = memory_string(asked->was);
    log->is = memory_string(asked->is);
    return log;
}

void request_complete(struct did *did, const char *database)
{
    const struct did_row *row = &rows[command_index_of(did->verb, strlen(did->verb))];
    did->new = row->second == NEW_VALUE ? did->target : row->new;
    did->target = row->has_database ? database : row->second == TARGET ? did->target : NULL;
}

static void record_did(const struct request_log *log)
{
    struct did did = {
        .verb = log->subject.event,
        .resource = log->arguments[0],
        .target = log->arguments[1],
        .old = log->was,
        .by = log->by,
        .reason = log->reason,
    };
    request_complete(&did, NULL);
    did.new = log->is ? log->is : did.new;
    history_add_did(log->history, &did, log->at);
}

void request_log_end(struct request_log *log, bool is_done, const char *outcome)
{
    if (log) {
        log_message_on(LOG_LEVEL_INFO, &log->subject, "%s: asked by %s%s%s%s", log->what.bytes,
            log_subject_asker(&log->subject.asker).text, log->reason ? ": " : "",
            log->reason ? log->reason : "", outcome);
    }
    if (log && is_done && log->row->is_recorded && !log->subject.database) {
        record_did(log);
    }
    request_log_free(log);
}

struct request_log *request_log_free(struct request_log *log)
{
    if (log) {
        text_deinit(&log->what);
        free(log->arguments[0]);
        free(log->arguments[1]);
        free(log->was);
        free(log->is);
        free(log->reason);
        free(log);
    }
    return NULL;
}
