#include "command/fleet_past.h"

#include "admission/server.h"
#include "base/clock.h"
#include "base/memory.h"
#include "conn/command_call.h"
#include "conn/conn.h"
#include "database/fleet_sessions.h"
#include "record/request_log.h"
#include "status/answer_lines.h"
#include "status/fleet_ended.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A call of a script that was broken off and repeated leaves two entries. */
enum { N_SEEN = 1024 };

/* Of the newest, so many are kept at most, and bytes of what the database has said of them. */
enum { MAX_NEWEST = 10000, MAX_NEWEST_BYTES = 16 << 20 };

/* All pages that are needed before the first line; each has its patience, too (parked_go_on()).
 * berthctl and berth-web wait for 30 s. */
#define MAX_LOOK (20 * NANOSECONDS_PER_SECOND)

/* Redis counts back from when it is asked, which is later: is_wanted() sifts. */
enum { SLACK_MS = 25000 };

struct past_question {
    TAILQ_ENTRY(past_question) link; /* in server->past_questions, as they came */
    struct long_answer answer;
    struct server *server;
    struct conn *conn;
    struct past_filter filter;
    uint8_t database;
    bool is_asked; /* the database is; else another question of the user comes first */
    bool is_told; /* its page is a long answer */
    bool has_head; /* the first line is made */
    bool has_older; /* more than `limit` */
    bool is_newest_first; /* so the pages come, until all are there that are asked for */
    struct text newest; /* rows of these, the newest first */
    uint64_t n_newest; /* without gaps */
    nanoseconds late_at; /* the first line is, by then */
    nanoseconds told_until; /* of the last entry; LONG_AGO: none */
    char from[STREAM_ID_SIZE], before[STREAM_ID_SIZE]; /* the latter: if .is_newest_first */
    struct fleet_page page;
    struct fleet_rows *rows; /* to be told; or NULL */
    size_t n_told_rows;
    bool is_cut; /* the database has not answered for the next page, */
    nanoseconds cut_at; /* which ends there, if .is_newest_first */
    struct text events; /* held back until the end */
    uint64_t seen[N_SEEN]; /* hashes of keys */
    size_t n_seen;
};

static void past_ask(struct past_question *question);

/* ---- one question of a user at a time, to each database ---- */

static struct past_question *first_of_user(
    const struct server *server, uint32_t uid, uint8_t database)
{
    struct past_question *question;
    TAILQ_FOREACH (question, &server->past_questions, link) {
        if (question->conn->client.uid == uid && question->database == database) {
            break;
        }
    }
    return question;
}

static void past_free(struct past_question *question)
{
    struct server *server = question->server;
    uint32_t uid = question->conn->client.uid;
    uint8_t database = question->database;
    TAILQ_REMOVE(&server->past_questions, question, link);
    fleet_forget(server->fleet, question);
    asked_names_deinit(&question->filter.asked);
    fleet_rows_free(question->rows);
    text_deinit(&question->newest);
    text_deinit(&question->events);
    free(question);
    struct past_question *next = first_of_user(server, uid, database);
    if (next && !next->is_asked && !server->turn.stopping) {
        past_ask(next);
    }
}

static struct past_question *question_of(struct long_answer *answer)
{
    return container_of(answer, struct past_question, answer);
}

/* ---- which entries ---- */

/* A wait and what is held after it are two, and each action of an operator is one. */
static bool was_seen(struct past_question *question, const struct fleet_ended *ended)
{
    const char *key = ended->did.verb ? ended->stream_id : ended->key;
    uint64_t hash = hash_string(key, ended->lease.is_held);
    size_t n = question->n_seen < N_SEEN ? question->n_seen : N_SEEN;
    for (size_t i = 0; i < n; i++) {
        if (question->seen[i] == hash) {
            return true;
        }
    }
    question->seen[question->n_seen++ % N_SEEN] = hash;
    return false;
}

static bool past_is_asked_by_name(
    const struct past_filter *filter, const struct saved_lease *lease)
{
    bool is_asked = lease->n_claims == 0 && filter->asked.n == 0;
    for (size_t i = 0; i < lease->n_claims; i++) {
        is_asked |= asked_names_has(&filter->asked, lease->claims[i].name);
    }
    return is_asked;
}

static bool is_wanted(struct past_question *question, const struct fleet_ended *ended)
{
    const struct past_filter *filter = &question->filter;
    const struct saved_lease *lease = &ended->lease;
    return !was_seen(question, ended) && ended->entry.ended_at >= filter->since &&
        lease->asked_at < filter->until && (!filter->has_user || lease->uid == filter->user) &&
        (!filter->key[0] || strcmp(ended->key, filter->key) == 0) &&
        past_is_asked_by_name(filter, lease);
}

static bool is_own(const struct past_question *question, const char *key)
{
    const char *own = fleet_session_id(question->server->fleet, question->database);
    return strncmp(key, own, strlen(own)) == 0;
}

/* ---- the lines ---- */

static void add_wall_key(struct text *out, const char *key, const struct past_question *question,
    uint64_t ms, const struct answer_moment *moment)
{
    text_add_number_key(
        out, key, wall_milliseconds(fleet_page_instant(&question->page, ms), moment));
}

static void past_add_head(
    struct past_question *question, struct text *out, const struct answer_moment *moment)
{
    text_add(out, "ok");
    text_add_number_key(out, "now", wall_milliseconds(moment->now, moment));
    if (question->page.since > 0) {
        add_wall_key(out, "since", question, question->page.since, moment);
    }
    text_add_key(out, "more", question->has_older ? "1" : NULL);
    text_add_key(out, "whose", "database");
    text_add_key(out, "database",
        fleet_name_of(&question->server->databases, question->database));
    text_add(out, "\n");
    question->has_head = true;
}

static void past_add_gap(struct past_question *question, struct text *out,
    const struct fleet_missed *missed, const char *stream_id, const struct answer_moment *moment)
{
    text_add(out, "gap");
    add_wall_key(out, "from", question, missed->from, moment);
    add_wall_key(out, "until", question, missed->until, moment);
    text_add_key(out, "why", missed->n > 0 ? "unwritten" : "lost");
    if (missed->n > 0) {
        text_add_number_key(out, "n", missed->n);
    }
    text_add_key(out, "id", stream_id);
    text_add(out, "\n");
}

/* What has ended between the last line and then, whatever it is. */
static void add_cut(struct past_question *question, struct text *out, nanoseconds until,
    const struct answer_moment *moment)
{
    nanoseconds first = fleet_page_instant(&question->page, question->page.since);
    nanoseconds from = later(question->told_until, later(question->filter.since, first));
    text_add(out, "gap");
    text_add_number_key(out, "from", wall_milliseconds(from, moment));
    text_add_number_key(out, "until", wall_milliseconds(until, moment));
    text_add_key(out, "why", "down");
    text_add(out, "\n");
}

static void tell_did(const struct past_question *question, const struct fleet_ended *ended,
    const struct ended_lease *line, const struct answer_moment *moment, bool with_reason,
    struct text *out)
{
    struct did did = ended->did;
    char id[LEASE_ID_SIZE];
    lease_id_format(id, ended->lease.id);
    request_complete(&did, line->database);
    did.target = !ended->key[0] ? did.target : line->key ? line->key : id;
    did.host = is_own(question, ended->from) ? NULL : ended->host;
    did.reason = with_reason || !ended->key[0] ? did.reason : NULL;
    did_line_write(out, &did, wall_milliseconds(ended->entry.ended_at, moment),
        line->stream_id ? line : NULL);
}

static void tell_row(struct past_question *question, const struct fleet_row *row, struct text *out,
    const struct answer_moment *moment)
{
    struct fleet_missed missed;
    struct fleet_ended ended;
    struct core *core = question->server->core;
    bool is_copied = question->filter.after[0];
    if (fleet_missed_read(&missed, row)) {
        past_add_gap(question, out, &missed, is_copied ? fleet_missed_id(row) : NULL, moment);
        return;
    } else if (!fleet_ended_read(&ended, row, &question->page)) {
        return;
    }
    if (is_wanted(question, &ended)) {
        bool is_ours = is_own(question, ended.key);
        const struct ended_lease line = {
            .entry = &ended.entry,
            .lease = &ended.lease,
            .database = fleet_name_of(&question->server->databases, question->database),
            .key = is_ours ? NULL : ended.key,
            .host = is_ours ? NULL : ended.host,
            .stream_id = is_copied ? ended.stream_id : NULL,
        };
        bool with_details = is_copied ||
            viewer_sees_ended(moment->viewer, core, &ended.lease, ended.entry.hiding);
        if (ended.did.verb) {
            tell_did(question, &ended, &line, moment, with_details, out);
        } else {
            ended_line_write(
                out, &line, wall_milliseconds(ended.entry.ended_at, moment), with_details);
        }
        question->told_until = ended.entry.ended_at;
    }
    fleet_ended_deinit(&ended);
}

static bool past_make_piece(
    struct long_answer *answer, const struct answer_moment *moment, struct text *out, size_t enough)
{
    struct past_question *question = question_of(answer);
    const struct fleet_rows *rows = question->rows;
    if (!question->has_head) {
        past_add_head(question, out, moment);
        if (question->is_cut) {
            add_cut(question, out, question->cut_at, moment);
        }
    }
    while (rows && question->n_told_rows < rows->n_rows) {
        if (out->length >= enough) {
            return true;
        }
        size_t i = question->n_told_rows++;
        i = question->is_newest_first ? rows->n_rows - 1 - i : i;
        tell_row(question, &rows->rows[i], out, moment);
    }
    question->rows = fleet_rows_free(question->rows);
    if (question->page.next[0] && !question->is_cut) {
        text_add_bytes(&question->events, answer->held_back.bytes, answer->held_back.length);
        text_deinit(&answer->held_back);
        return false;
    }
    if (question->is_cut && !question->is_newest_first) {
        add_cut(question, out, moment->now, moment);
    } else if (question->page.n_missed > 0) {
        const struct fleet_missed missed = {
            question->page.n_missed, question->page.missed_since, question->page.now};
        past_add_gap(question, out, &missed, NULL, moment);
    }
    text_add(out, "end\n");
    text_add_bytes(out, question->events.bytes, question->events.length);
    return false;
}

/* ---- pages ---- */

static void past_refuse(struct past_question *question, enum code code, const char *why)
{
    struct conn *conn = question->conn;
    answer_error_saying(conn_answers(conn), code, "database %s: %s",
        fleet_name_of(&question->server->databases, question->database), why);
    parked_end(conn);
}

static void past_tell(struct past_question *question)
{
    struct conn *conn = question->conn;
    struct text *events = parked_held_back(conn);
    text_add_bytes(&question->events, events->bytes, events->length);
    events->length = 0;
    question->n_told_rows = 0;
    question->is_told = true;
    parked_end(conn);
    conn_begin_long(conn, &question->answer);
}

static void tell_newest(struct past_question *question)
{
    question->n_seen = 0;
    question->page.next[0] = '\0';
    question->rows = fleet_rows_new(&question->newest);
    past_tell(question);
}

/* No page comes: an answer that has begun says so. */
static void past_fail(struct past_question *question, enum code code, const char *why)
{
    question->is_cut = question->has_head || question->page.next[0];
    if (question->has_head) {
        past_tell(question);
    } else if (question->is_cut) {
        question->cut_at =
            fleet_page_instant(&question->page, fleet_id_time(question->page.next));
        tell_newest(question);
    } else {
        past_refuse(question, code, why);
    }
}

static bool is_to_be_kept(struct past_question *question, const struct fleet_row *row)
{
    struct fleet_missed missed;
    struct fleet_ended ended;
    if (!fleet_ended_read(&ended, row, &question->page)) {
        return fleet_missed_read(&missed, row);
    }
    bool is_one = is_wanted(question, &ended);
    fleet_ended_deinit(&ended);
    question->n_newest += is_one;
    question->has_older = question->n_newest > question->filter.limit;
    return is_one;
}

/* Until there is one more than are asked for. */
static void keep_rows(struct past_question *question)
{
    struct text *newest = &question->newest;
    for (size_t i = 0; i < question->rows->n_rows && !question->has_older; i++) {
        const struct fleet_row *row = &question->rows->rows[i];
        if (is_to_be_kept(question, row) && !question->has_older) {
            const char *last = fleet_field(row, row->n - 1);
            text_add_bytes(newest, row->fields, (size_t)(last - row->fields) + strlen(last) + 1);
            text_add(newest, "\n");
        }
    }
    question->has_older |= newest->length > MAX_NEWEST_BYTES && question->page.next[0];
    question->rows = fleet_rows_free(question->rows);
}

static void keep_page(struct past_question *question)
{
    keep_rows(question);
    if (question->has_older || !question->page.next[0]) {
        tell_newest(question);
    } else if (clock_now() >= question->late_at) {
        past_fail(question, CODE_DOWN, "");
    } else {
        strcpy(question->before, question->page.next);
        parked_go_on(question->conn);
        past_ask(question);
    }
}

static void on_page(void *context, struct session_result *result)
{
    struct past_question *question = context;
    if (result->outcome != OUTCOME_OK) {
        const char *why = result->detail[0] ? result->detail : code_table[CODE_DOWN].meaning;
        past_fail(question, CODE_DOWN, why);
        return;
    }
    question->rows = fleet_rows_new(&result->rows);
    if (!fleet_page_read(&question->page, question->rows, clock_now())) {
        question->rows = fleet_rows_free(question->rows);
        past_fail(question, CODE_DOWN,
            "its user may not read its history (+xrange +xrevrange), or its key is no stream");
    } else if (question->is_newest_first) {
        keep_page(question);
    } else {
        past_tell(question);
    }
}

static void past_ask(struct past_question *question)
{
    struct server *server = question->server;
    const char *const words[] = {"!", question->from, question->before};
    question->is_asked = true;
    session_snapshot(
        fleet_session(server->fleet, question->database), on_page, question,
        question->is_newest_first ? 3 : 2, words);
}

/* ---- the connection ---- */

static void past_late(struct conn *conn)
{
    struct past_question *question = parked_state(conn);
    if (question->is_asked) {
        fleet_forget(question->server->fleet, question);
        past_fail(question, CODE_DOWN, "no answer in time");
    } else if (clock_now() < question->late_at) {
        parked_go_on(conn);
    } else {
        past_refuse(question, CODE_BUSY, "another question of this user is being answered");
    }
}

static void past_leave(void *state)
{
    struct past_question *question = state;
    if (!question->is_told) {
        past_free(question);
    }
}

static void past_park(struct past_question *question)
{
    static const struct parked_ops ops = {
        .late = past_late, .free = past_leave, .holds_events = true};
    question->is_told = false;
    parked_begin(question->conn, &ops, question);
}

static void past_end(struct long_answer *answer)
{
    past_free(question_of(answer));
}

static void past_go_on(struct long_answer *answer)
{
    struct past_question *question = question_of(answer);
    if (!question->page.next[0] || question->is_cut || question->server->turn.stopping) {
        long_answer_free(answer);
        return;
    }
    strcpy(question->from, question->page.next);
    past_park(question);
    past_ask(question);
}

void past_begin(struct call *call, uint8_t database, const struct past_filter *filter)
{
    static const struct long_answer_kind kind = {.more = past_make_piece,
        .free = past_end,
        .next = past_go_on,
        .has_no_end = true};
    struct past_question *question = memory_new(sizeof *question);
    question->answer.kind = &kind;
    question->server = call->server;
    question->conn = call->conn;
    question->database = database;
    question->filter = *filter;
    question->filter.limit = filter->limit < MAX_NEWEST ? filter->limit : MAX_NEWEST;
    question->is_newest_first = filter->limit > 0 && !filter->after[0];
    question->late_at = call->now + MAX_LOOK;
    question->told_until = LONG_AGO;
    strcpy(question->before, "+");
    if (filter->after[0]) {
        strcpy(question->from, filter->after);
    } else {
        snprintf(question->from, sizeof question->from, "%ju ago",
            (uintmax_t)milliseconds(call->now - filter->since) + SLACK_MS);
    }
    bool must_wait = first_of_user(call->server, call->conn->client.uid, database);
    TAILQ_INSERT_TAIL(&call->server->past_questions, question, link);
    past_park(question);
    if (!must_wait) {
        past_ask(question);
    }
}
