#include "record/request_log.h"

#include "base/memory.h"
#include "base/text.h"
#include "log/log.h"
#include "record/log_subject.h"

#include <stdlib.h>

struct request_log {
    struct log_subject subject;
    struct text what; /* the request's words */
    char *reason; /* that it gives; or NULL */
};

struct request_log *request_log_new(
    const struct request *request, struct log_process asker, const char *database)
{
    const struct command_row *row = &command_table[request->command];
    struct request_log *log = memory_new(sizeof *log);
    log->subject = (struct log_subject){.event = row->word, .asker = asker, .database = database};
    if (request->n_arguments > 0) {
        log_subject_resource(&log->subject, request->arguments[0]);
    }
    text_add(&log->what, row->word);
    for (size_t i = 0; i < request->n_arguments && i < 2; i++) {
        text_add(&log->what, " ");
        text_add(&log->what, request->arguments[i]);
    }
    if (request->keys[KEY_INDEX_database]) {
        text_add(&log->what, " database=");
        text_add(&log->what, request->keys[KEY_INDEX_database]);
    }
    log->reason = memory_string(request->keys[KEY_INDEX_reason]);
    return log;
}

void request_log_end(struct request_log *log, const char *outcome)
{
    if (log) {
        log_message_on(LOG_LEVEL_INFO, &log->subject, "%s: asked by %s%s%s%s", log->what.bytes,
            log_subject_asker(&log->subject.asker).text, log->reason ? ": " : "",
            log->reason ? log->reason : "", outcome);
        request_log_free(log);
    }
}

struct request_log *request_log_free(struct request_log *log)
{
    if (log) {
        text_deinit(&log->what);
        free(log->reason);
        free(log);
    }
    return NULL;
}
