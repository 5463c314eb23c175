/* command_found.c - `found`: a database that never held anything need not wait until the end of its
 * first grace. The database itself refuses wherever there is a sign that it may have held
 * something. command.c has checked the right. */
#include "admission/server.h"
#include "base/memory.h"
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
#include <string.h>

struct founding {
    uint8_t database;
};

static void founding_free(struct conn *conn, void *state)
{
    (void)conn;
    free(state);
}

static void founding_late(struct conn *conn)
{
    const struct founding *founding = parked_state(conn);
    remote_answer_late(conn, founding->database);
    parked_end(conn);
}

/* ---- refusals ---- */

/* The database says "WORD" or "WORD HOST". */
static const struct refusal {
    const char *word;
    bool has_host; /* the sentence begins with the host's name */
    const char *sentence;
} refusals[] = {
    {"over", false, "its first grace has already ended"},
    {"later", false,
        "this is not its first grace: it ends by itself when the hosts have listed their leases"},
    {"known", true,
        " has seen other data here: Redis has come back empty or has been replaced by another one, "
        "and hosts may hold leases; the grace ends by itself"},
    {"listed", true,
        " has listed a lease: this database is not new, and other hosts may hold leases as well; "
        "the grace ends by itself"},
    {"listing", true, " is still listing its leases: try again in a moment"},
};

/* NULL: a later berthd's. */
static const struct refusal *find_refusal(const char *detail)
{
    size_t n = strcspn(detail, " ");
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        if (strlen(refusals[i].word) == n && memcmp(refusals[i].word, detail, n) == 0) {
            return &refusals[i];
        }
    }
    return NULL;
}

static void refuse(struct conn *conn, const struct founding *founding,
    const struct refusal *refusal, const struct session_result *result)
{
    char why[512];
    const char *host = strchr(result->detail, ' ');
    host = refusal->has_host && host ? host + 1 : "";
    snprintf(why, sizeof why, "database %s: %s%s%s",
        fleet_name_of(&conn->server->databases, founding->database),
        refusal->has_host ? "host " : "", host, refusal->sentence);
    answer_error_saying(conn_answers(conn), outcome_code(result->outcome), why);
}

/* ---- the request ---- */

static void founding_done(void *context, struct session_result *result)
{
    struct conn *conn = context;
    const struct founding *founding = parked_state(conn);
    if (!result) {
        return;
    }
    const struct refusal *refusal =
        result->outcome == OUTCOME_OK ? NULL : find_refusal(result->detail);
    if (refusal) {
        refuse(conn, founding, refusal, result);
    } else {
        remote_answer(conn, founding->database, result);
    }
    parked_end(conn);
}

void command_found(struct call *call)
{
    static const struct parked_ops ops = {
        .abandon = remote_abandon, .late = founding_late, .free = founding_free};
    const char *const words[] = {command_table[call->request->command].word, "" /* no name */};
    uint8_t database = named_database(call, 0);
    if (database == 0) {
        return;
    }
    struct founding *state = memory_new(sizeof *state);
    *state = (struct founding){.database = database};
    parked_begin(call->conn, &ops, state);
    fleet_admin(call->server->fleet, database, call->conn, sizeof words / sizeof words[0], words,
        founding_done);
}
