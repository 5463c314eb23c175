#include "daemon/request_log.h"

#include "base/memory.h"
#include "daemon/fleet_names.h"
#include "daemon/log_subject.h"
#include "daemon/server.h"
#include "log/log.h"

#include <stdlib.h>

struct request_log {
    struct log_about about;
    struct text what; /* the request's words */
};

static void about_definition(const struct call *call, struct log_about *about, const char *name)
{
    const struct definition *definition = core_find_definition(call->server->core, name);
    log_subject_resource(about, name);
    about->database = fleet_name_of(call->server, definition ? definition->database : 0);
}

struct request_log *request_log_new(const struct call *call)
{
    const struct request *request = call->request;
    const struct command_row *row = &command_table[request->command];
    if (row->right != RIGHT_RESOURCE_ADMIN && row->right != RIGHT_DAEMON_ADMIN) {
        return NULL;
    }
    struct request_log *log = memory_new(sizeof *log);
    log->about.event = row->word;
    log_subject_asker(&log->about, call->conn);
    if (request->n_arguments > 0) {
        about_definition(call, &log->about, request->arguments[0]);
    }
    text_add(&log->what, row->word);
    for (size_t i = 0; i < request->n_arguments && i < 2; i++) {
        text_add(&log->what, " ");
        text_add(&log->what, request->arguments[i]);
    }
    return log;
}

void request_log_end(struct request_log *log, const char *outcome)
{
    if (log) {
        log_about(LOG_LEVEL_INFO, &log->about, "%s: asked by uid %u, pid %d%s", log->what.bytes,
            log->about.asker.uid, (int)log->about.asker.pid, outcome);
        request_log_free(log);
    }
}

struct request_log *request_log_free(struct request_log *log)
{
    if (log) {
        text_deinit(&log->what);
        free(log);
    }
    return NULL;
}
