/* command_forget.c - `forget`: a definition that is in no file any more leaves its database.
 * command.c has checked the right. */
#include "admission/server.h"
#include "base/memory.h"
#include "base/words.h"
#include "command/named_database.h"
#include "command/remote.h"
#include "conf/conf.h"
#include "conn/command_call.h"
#include "conn/conn.h"
#include "conn/parked.h"
#include "database/fleet_sessions.h"
#include "record/fleet_names.h"
#include "status/answer_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The definition in the file in force, but not the template that stands for the name; NULL:
 * none. */
static const struct definition *find_in_file(const struct conf *conf, const char *name)
{
    for (size_t i = 0; i < conf->n_definitions; i++) {
        if (strcmp(conf->definitions[i].name, name) == 0) {
            return &conf->definitions[i];
        }
    }
    return NULL;
}

/* ---- the answer ---- */

struct forgetting {
    char *name;
    uint8_t database;
};

static void forgetting_free(struct conn *conn, void *state)
{
    struct forgetting *forgetting = state;
    (void)conn;
    free(forgetting->name);
    free(forgetting);
}

static void forgetting_late(struct conn *conn)
{
    const struct forgetting *forgetting = parked_state(conn);
    remote_answer_late(conn, forgetting->database);
    parked_end(conn);
}

/* `detail` is "NAME N"; for a template, NAME is one of its instances. */
static void answer_in_use(struct text *out, const char *detail)
{
    char why[NAME_BYTES + 64];
    int n_name = (int)strcspn(detail, " ");
    snprintf(why, sizeof why, "%.*s: in use: %s held or waited for", n_name, detail,
        detail[n_name] ? detail + n_name + 1 : "units");
    answer_error_saying(out, CODE_IN_USE, why);
}

static void answer_grace(struct conn *conn, const struct forgetting *forgetting)
{
    char why[512];
    snprintf(why, sizeof why,
        "database %s is in its grace: holders of %s may not have reported yet",
        fleet_name_of(&conn->server->databases, forgetting->database), forgetting->name);
    answer_error_saying(conn_answers(conn), CODE_GRACE, why);
}

static void forgetting_done(void *context, struct session_result *result)
{
    struct conn *conn = context;
    const struct forgetting *forgetting = parked_state(conn);
    if (!result) {
        return;
    }
    if (result->outcome == OUTCOME_IN_USE) {
        answer_in_use(conn_answers(conn), result->detail);
    } else if (result->outcome == OUTCOME_GRACE) {
        answer_grace(conn, forgetting);
    } else {
        remote_answer(conn, forgetting->database, result);
    }
    parked_end(conn);
}

/* ---- the request ---- */

static void ask(struct call *call, uint8_t database)
{
    static const struct parked_ops ops = {
        .abandon = remote_abandon, .late = forgetting_late, .free = forgetting_free};
    struct forgetting *state = memory_new(sizeof *state);
    state->name = memory_string(call->request->arguments[0]);
    state->database = database;
    const char *const words[] = {
        command_table[call->request->command].word, state->name, "" /* the cursor */};
    parked_begin(call->conn, &ops, state);
    fleet_admin(call->server->fleet, database, call->conn, sizeof words / sizeof words[0], words,
        forgetting_done);
}

void command_forget(struct call *call)
{
    const char *name = call->request->arguments[0];
    if (!template_name_is_valid(name) && !call_check_name(call, name)) {
        return;
    }
    const struct definition *in_file = find_in_file(call->server->conf, name);
    uint8_t database = named_database(call, in_file ? in_file->database : 0);
    if (database == 0) {
        return;
    }
    if (in_file && in_file->database == database) {
        char why[NAME_BYTES + 128];
        snprintf(why, sizeof why,
            "%s: the file of this host still defines it: remove it from the files of all hosts, "
            "and reload",
            name);
        answer_error_saying(call->out, CODE_DEFINED, why);
        return;
    }
    ask(call, database);
}
