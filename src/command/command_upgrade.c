/* command_upgrade.c - `upgrade`: the data of a database take the newest layout that all hosts know.
 * command.c has checked the right. */
#include "admission/server.h"
#include "base/memory.h"
#include "base/words.h"
#include "command/named_database.h"
#include "command/remote.h"
#include "conn/command_call.h"
#include "conn/conn.h"
#include "conn/parked.h"
#include "database/fleet_sessions.h"
#include "record/fleet_names.h"
#include "status/answer_lines.h"

#include <stdio.h>
#include <stdlib.h>

struct upgrading {
    uint8_t database;
    unsigned layout; /* of the data, before */
};

static void upgrading_free(struct conn *conn, void *state)
{
    (void)conn;
    free(state);
}

static void upgrading_late(struct conn *conn)
{
    const struct upgrading *upgrading = parked_state(conn);
    remote_answer_late(conn, upgrading->database);
    parked_end(conn);
}

/* ---- the answer ---- */

static void answer_upgraded(struct conn *conn, uint8_t database, unsigned before)
{
    struct session_view view;
    struct text *out = conn_answers(conn);
    fleet_look(conn->server->fleet, database, &view);
    text_add(out, "ok");
    text_add_key(out, "database", fleet_name_of(&conn->server->databases, database));
    text_add_number_key(out, "layout", view.layout);
    text_add_number_key(out, "was", before);
    text_add(out, "\n");
}

/* `detail` is "LAYOUT N HOST...": N hosts do not know it, and some of their names. */
static void answer_older(struct conn *conn, const char *name, char *detail)
{
    enum { LAYOUT, N, HOST, MAX_SHOWN = 16 };
    char *words[HOST + MAX_SHOWN];
    struct text why = TEXT_INIT;
    size_t n_words = words_split(detail, words, HOST + MAX_SHOWN);
    uint64_t n = 0;
    text_add_format(&why, "database %s: ", name);
    if (n_words > HOST && number_parse(words[N], UINT32_MAX, &n)) {
        for (size_t i = HOST; i < n_words; i++) {
            text_add_format(&why, "%s%s", i > HOST ? ", " : "", words[i]);
        }
        if (n > n_words - HOST) {
            text_add_format(&why, " and %ju more", (uintmax_t)(n - (n_words - HOST)));
        }
        text_add_format(&why, " cannot read layout %s: upgrade berthd there first", words[LAYOUT]);
    } else {
        text_add(&why, code_table[CODE_OLDER].meaning);
    }
    answer_error_saying(conn_answers(conn), CODE_OLDER, why.bytes);
    text_deinit(&why);
}

static void answer_grace(struct conn *conn, const char *name)
{
    char why[512];
    snprintf(why, sizeof why, "database %s is in its grace: some hosts may not have reported yet",
        name);
    answer_error_saying(conn_answers(conn), CODE_GRACE, why);
}

static void upgrading_done(void *context, struct session_result *result)
{
    struct conn *conn = context;
    const struct upgrading *upgrading = parked_state(conn);
    const char *name = fleet_name_of(&conn->server->databases, upgrading->database);
    if (!result) {
        return;
    }
    if (result->outcome == OUTCOME_OK) {
        answer_upgraded(conn, upgrading->database, upgrading->layout);
    } else if (result->outcome == OUTCOME_OLDER) {
        answer_older(conn, name, result->detail);
    } else if (result->outcome == OUTCOME_GRACE) {
        answer_grace(conn, name);
    } else {
        remote_answer(conn, upgrading->database, result);
    }
    parked_end(conn);
}

/* ---- the request ---- */

void command_upgrade(struct call *call)
{
    static const struct parked_ops ops = {
        .abandon = remote_abandon, .late = upgrading_late, .free = upgrading_free};
    static const char *const words[] = {"upgrade", "", "" /* the cursor */};
    uint8_t database = named_database(call, 0);
    if (database == 0) {
        return;
    }
    struct session_view view;
    struct upgrading *state = memory_new(sizeof *state);
    state->database = database;
    fleet_look(call->server->fleet, database, &view);
    state->layout = view.layout;
    parked_begin(call->conn, &ops, state);
    fleet_admin(call->server->fleet, database, call->conn, sizeof words / sizeof words[0], words,
        upgrading_done);
}
