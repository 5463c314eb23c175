#include "record/request_log.h"

#include "base/memory.h"
#include "base/text.h"
#include "log/log.h"
#include "record/history.h"
#include "record/log_subject.h"

#include <stdlib.h>
#include <string.h>

/* What an entry of the history says of a request's arguments, and of the state that it brings. */
enum argument { NO_ARGUMENT, RESOURCE, TARGET, NEW_VALUE };

static const struct did_row {
    bool is_recorded;
    bool has_database; /* that is the target */
    bool is_logged_elsewhere;
    enum argument first, second;
    const char *new;
} rows[N_COMMANDS] = {
    [COMMAND_limit] = {true, .first = RESOURCE, .second = NEW_VALUE},
    [COMMAND_add] = {true, .first = RESOURCE, .second = TARGET, .new = "present"},
    [COMMAND_remove] = {true, .first = RESOURCE, .second = TARGET, .new = "removed"},
    [COMMAND_reserve] = {true, .first = RESOURCE, .second = TARGET, .new = "reserved"},
    [COMMAND_pause] = {true, .first = RESOURCE, .new = "paused"},
    [COMMAND_resume] = {true, .first = RESOURCE, .new = "granting"},
    [COMMAND_reset] = {true, .first = RESOURCE, .second = NEW_VALUE}, /* which a message has */
    [COMMAND_forget] = {true, .first = RESOURCE, .has_database = true},
    [COMMAND_upgrade] = {true, .has_database = true},
    [COMMAND_found] = {true, .has_database = true},
    [COMMAND_drain] = {true, .new = "draining"},
    [COMMAND_undrain] = {true, .new = "granting"},
    /* of another host's lease, or one that a database moves: */
    [COMMAND_revoke] = {true, .first = TARGET, .is_logged_elsewhere = true},
    [COMMAND_drop] = {true, .first = TARGET, .is_logged_elsewhere = true},
    [COMMAND_release] = {true, .first = RESOURCE, .second = TARGET, .is_logged_elsewhere = true},
    [COMMAND_move] = {true, .first = TARGET, .second = NEW_VALUE, .is_logged_elsewhere = true},
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
    char *resource, *others; /* of a lease of this host; owned, or NULL */
    uint16_t hiding; /* as in struct did */
};

bool request_is_recorded(const struct request *request)
{
    return rows[request->command].is_recorded;
}

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
    if (request->keys[KEY_INDEX_item]) {
        log->arguments[1] = memory_string(request->keys[KEY_INDEX_item]);
    }
    log->reason = memory_string(request->keys[KEY_INDEX_reason]);
    log->history = history;
    log->row = &rows[request->command];
    log->hiding = command_is_of_lease(request->command);
    log->at = asked->at;
    log->by = asked->by;
    log->was = memory_string(asked->was);
    log->is = memory_string(asked->is);
    return log;
}

void request_log_was(struct request_log *log, const char *was, const char *is)
{
    free(log->was);
    free(log->is);
    log->was = memory_string(was);
    log->is = memory_string(is);
}

void request_log_is_about(struct request_log *log, const struct lease *lease)
{
    char id[LEASE_ID_SIZE];
    struct text others = TEXT_INIT;
    struct did did = {.hiding = 0};
    if (log) {
        lease_id_format(id, lease->id);
        history_did_to(&did, lease, &others);
        free(log->arguments[0]);
        log->arguments[0] = memory_string(id);
        log->resource = memory_string(did.resource);
        log->others = memory_string(did.others);
        log->hiding = did.hiding;
        text_deinit(&others);
    }
}

static const char *argument_of(const struct request_log *log, enum argument argument)
{
    return log->row->first == argument ? log->arguments[0]
        : log->row->second == argument ? log->arguments[1]
                                       : NULL;
}

static void record_did(const struct request_log *log)
{
    const struct did_row *row = log->row;
    const struct did did = {
        .verb = log->subject.event,
        .resource = log->resource ? log->resource : argument_of(log, RESOURCE),
        .others = log->others,
        .hiding = log->hiding,
        .target = row->has_database ? log->subject.database : argument_of(log, TARGET),
        .old = log->was,
        .new = log->is ? log->is
            : row->new ? row->new
                       : argument_of(log, NEW_VALUE),
        .by = log->by,
        .reason = log->reason,
    };
    history_add_did(log->history, &did, log->at);
}

/* By which a request of ours is found again. */
static void add_words(struct text *out, const char *verb, const char *resource, const char *word)
{
    text_add_format(out, "%s %s %s", verb, resource ? resource : "", word ? word : "");
}

void request_log_unanswered(struct request_log *log)
{
    if (log && log->row->first == RESOURCE) {
        struct text words = TEXT_INIT;
        add_words(&words, log->subject.event, log->arguments[0], log->arguments[1]);
        history_note_unanswered(log->history, words.bytes);
        text_deinit(&words);
    }
    request_log_end(log, false, ": its outcome is unknown");
}

/* Of requests of this host all have an entry already that were answered in time. */
static bool has_entry(struct history *history, enum command_index command, const struct did *did)
{
    bool has_word = command_table[command].max > 1; /* the message of a reset has more */
    struct text words = TEXT_INIT;
    add_words(&words, did->verb, did->resource, has_word ? did->target : NULL);
    bool has = !did->host && !history_take_unanswered(history, words.bytes);
    text_deinit(&words);
    return has;
}

/* Of a later version's request nothing is known. */
void request_complete(struct did *did, const char *database)
{
    size_t command = 0;
    while (command < N_COMMANDS && strcmp(command_table[command].word, did->verb) != 0) {
        command++;
    }
    const struct did_row *row = command < N_COMMANDS ? &rows[command] : &(struct did_row){0};
    did->new = row->second == NEW_VALUE ? did->target : row->new;
    did->target = row->has_database ? database : row->second == TARGET ? did->target : NULL;
}

void request_did(void *history, const struct did *did, nanoseconds at)
{
    size_t command = 0;
    while (command < N_COMMANDS && strcmp(command_table[command].word, did->verb) != 0) {
        command++;
    }
    if (command < N_COMMANDS && rows[command].is_recorded && did->by.is_known &&
        !has_entry(history, (enum command_index)command, did)) {
        const struct did_row *row = &rows[command];
        struct did complete = *did;
        complete.new = row->second == NEW_VALUE ? did->target : row->new;
        complete.target = row->second == TARGET ? did->target : NULL;
        history_add_did(history, &complete, at);
    }
}

void request_log_end(struct request_log *log, bool is_done, const char *outcome)
{
    if (log && !log->row->is_logged_elsewhere) {
        log_message_on(LOG_LEVEL_INFO, &log->subject, "%s: asked by %s%s%s%s", log->what.bytes,
            log_subject_asker(&log->subject.asker).text, log->reason ? ": " : "",
            log->reason ? log->reason : "", outcome);
    }
    if (log && is_done && log->row->is_recorded) {
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
        free(log->resource);
        free(log->others);
        free(log);
    }
    return NULL;
}
