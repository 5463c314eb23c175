/* command_database.c - operators' requests about a whole database: found, forget, upgrade.
 * command.c has checked the right. */
#include "admission/server.h"
#include "base/words.h"
#include "command/remote.h"
#include "conn/command_call.h"
#include "conn/conn.h"
#include "database/fleet_sessions.h"
#include "status/answer_lines.h"

#include <string.h>

static void answer_which(struct call *call, enum code code, const char *what)
{
    struct text why = TEXT_INIT;
    text_add(&why, what);
    for (size_t i = 1; i <= call->server->databases.n; i++) {
        text_add(&why, i == 1 ? ": " : ", ");
        text_add(&why, fleet_name_of(&call->server->databases, (uint8_t)i));
    }
    answer_error_saying(call->out, code, "%s", why.bytes);
    text_deinit(&why);
}

uint8_t remote_named_database(struct call *call, uint8_t usual)
{
    const char *word = call->request->keys[KEY_INDEX_database];
    uint8_t database = word ? fleet_find(&call->server->databases, word) : 0;
    size_t n = call->server->databases.n;
    if (n == 0) {
        answer_error_saying(
            call->out, CODE_UNKNOWN, "this host's configuration has no [redis] section");
    } else if (word && database == 0) {
        answer_which(call, CODE_UNKNOWN, "the file of this host has no such database; it has");
    } else if (!word && usual != 0) {
        database = usual;
    } else if (!word && n == 1) {
        database = 1;
    } else if (!word) {
        answer_which(call, CODE_BAD_VALUE, "say which database");
    }
    return database;
}

static const char *name_of(const struct conn *conn, const struct remote *remote)
{
    return fleet_name_of(&conn->server->databases, remote->database);
}

/* ---- found ---- */

/* A database that never held anything need not wait until the end of its first grace. It refuses
 * by itself wherever there is a sign that it may have held something: by "WORD" or "WORD HOST". */
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

static bool found_done(struct conn *conn, struct remote *remote, struct session_result *result)
{
    const struct refusal *refusal =
        result->outcome == OUTCOME_OK ? NULL : find_refusal(result->detail);
    if (!refusal) {
        return remote_answer(conn, remote->database, result);
    }
    const char *host = strchr(result->detail, ' ');
    answer_error_saying(conn_answers(conn), outcome_code(result->outcome), "database %s: %s%s%s",
        name_of(conn, remote), refusal->has_host ? "host " : "",
        refusal->has_host && host ? host + 1 : "", refusal->sentence);
    return true;
}

void command_found(struct call *call)
{
    uint8_t database = remote_named_database(call, 0);
    if (database != 0) {
        remote_ask(call, database, "", found_done);
    }
}

/* ---- forget: a definition that is in no file any more leaves its database ---- */

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

/* In use, the detail is "NAME N"; for a template, NAME is one of its instances. */
static bool forget_done(struct conn *conn, struct remote *remote, struct session_result *result)
{
    const char *detail = result->detail;
    if (result->outcome == OUTCOME_IN_USE) {
        int n_name = (int)strcspn(detail, " ");
        answer_error_saying(conn_answers(conn), CODE_IN_USE,
            "%.*s: in use: %s held or waited for", n_name, detail,
            detail[n_name] ? detail + n_name + 1 : "units");
    } else if (result->outcome == OUTCOME_GRACE) {
        answer_error_saying(conn_answers(conn), CODE_GRACE,
            "database %s is in its grace: holders of %s may not have reported yet",
            name_of(conn, remote), remote->words[1]);
    } else {
        remote_answer(conn, remote->database, result);
    }
    return true;
}

void command_forget(struct call *call)
{
    const char *name = call->request->arguments[0];
    if (!template_name_is_valid(name) && !call_check_name(call, name)) {
        return;
    }
    const struct definition *in_file = find_in_file(call->server->conf, name);
    uint8_t database = remote_named_database(call, in_file ? in_file->database : 0);
    if (database != 0 && in_file && in_file->database == database) {
        answer_error_saying(call->out, CODE_DEFINED,
            "%s: the file of this host still defines it: remove it from the files of all hosts, "
            "and reload",
            name);
    } else if (database != 0) {
        remote_ask(call, database, name, forget_done);
    }
}

/* ---- upgrade: its data take the newest layout that all hosts know ---- */

static void answer_upgraded(struct conn *conn, uint8_t database, unsigned before)
{
    struct text *out = conn_answers(conn);
    const struct session_view view = fleet_look(conn->server->fleet, database);
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
    answer_error_saying(conn_answers(conn), CODE_OLDER, "%s", why.bytes);
    text_deinit(&why);
}

static bool upgrade_done(struct conn *conn, struct remote *remote, struct session_result *result)
{
    const char *name = name_of(conn, remote);
    if (result->outcome == OUTCOME_OK) {
        answer_upgraded(conn, remote->database, remote->number);
    } else if (result->outcome == OUTCOME_OLDER) {
        answer_older(conn, name, result->detail);
    } else if (result->outcome == OUTCOME_GRACE) {
        answer_error_saying(conn_answers(conn), CODE_GRACE,
            "database %s is in its grace: some hosts may not have reported yet", name);
    } else {
        remote_answer(conn, remote->database, result);
    }
    return true;
}

void command_upgrade(struct call *call)
{
    uint8_t database = remote_named_database(call, 0);
    if (database != 0) {
        const struct session_view view = fleet_look(call->server->fleet, database);
        remote_ask(call, database, "", upgrade_done)->number = view.layout;
    }
}
