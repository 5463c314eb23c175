#include "command/fleet_past.h"

#include "admission/server.h"
#include "base/clock.h"
#include "base/memory.h"
#include "conn/command_call.h"
#include "conn/conn.h"
#include "database/fleet_sessions.h"
#include "status/answer_lines.h"
#include "status/fleet_ended.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A call of a script that was broken off and repeated leaves two entries. */
enum { N_SEEN = 1024 };

/* Counting begins there. */
#define FIRST_WINDOW (600 * NANOSECONDS_PER_SECOND)

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
    bool is_counting, has_gaps; /* the latter: among what was counted */
    nanoseconds window; /* counted: as long ago */
    uint64_t n_matching, n_to_skip;
    struct counted_page {
        char from[STREAM_ID_SIZE];
        uint64_t n_before; /* that match, on pages before this one */
    } *pages; /* but for the first one; owned */
    size_t n_pages;
    nanoseconds told_until; /* of the last entry; 0: none */
    char from[STREAM_ID_SIZE];
    struct fleet_page page;
    struct fleet_rows *rows; /* of the page; or NULL */
    size_t next_row;
    bool is_cut; /* the database has not answered for the next page */
    struct text events; /* held back until the end */
    uint64_t seen[N_SEEN]; /* hashes of keys */
    size_t n_seen;
};

static void past_ask(struct past_question *question);

/* ---- one question of a user at a time ---- */

static struct past_question *first_of_user(const struct server *server, uint32_t uid)
{
    struct past_question *question;
    TAILQ_FOREACH (question, &server->past_questions, link) {
        if (question->conn->client.uid == uid) {
            break;
        }
    }
    return question;
}

static void past_free(struct past_question *question)
{
    struct server *server = question->server;
    uint32_t uid = question->conn->client.uid;
    TAILQ_REMOVE(&server->past_questions, question, link);
    fleet_forget(server->fleet, question);
    asked_names_deinit(&question->filter.asked);
    fleet_rows_free(question->rows);
    free(question->pages);
    text_deinit(&question->events);
    free(question);
    struct past_question *next = first_of_user(server, uid);
    if (next && !next->is_asked && !server->turn.stopping) {
        past_ask(next);
    }
}

static struct past_question *question_of(struct long_answer *answer)
{
    return container_of(answer, struct past_question, answer);
}

/* ---- which entries ---- */

/* A wait and what is held after it are two. */
static bool was_seen(struct past_question *question, const struct fleet_ended *ended)
{
    uint64_t hash = hash_string(ended->key, ended->lease.is_held);
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
    bool is_asked = false;
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

static void begin_pass(struct past_question *question, nanoseconds since)
{
    nanoseconds ago = clock_now() - since;
    question->n_seen = 0;
    snprintf(question->from, sizeof question->from, "%ju ago",
        (uintmax_t)(since > LONG_AGO ? milliseconds(ago) : INT32_MAX * UINT64_C(1000)));
}

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
    const struct fleet_missed *missed, const struct answer_moment *moment)
{
    text_add(out, "gap");
    add_wall_key(out, "from", question, missed->from, moment);
    add_wall_key(out, "until", question, missed->until, moment);
    text_add_key(out, "why", "memory-full");
    text_add_number_key(out, "n", missed->n);
    text_add(out, "\n");
}

/* What has ended since the last line, whatever it is. */
static void add_cut(
    struct past_question *question, struct text *out, const struct answer_moment *moment)
{
    nanoseconds first = fleet_page_instant(&question->page, question->page.since);
    nanoseconds from = question->told_until != 0 ? question->told_until
                                                 : later(question->filter.since, first);
    text_add(out, "gap");
    text_add_number_key(out, "from", wall_milliseconds(from, moment));
    text_add_number_key(out, "until", wall_milliseconds(moment->now, moment));
    text_add_key(out, "why", "down");
    text_add(out, "\n");
}

static void tell_row(struct past_question *question, const struct fleet_row *row, struct text *out,
    const struct answer_moment *moment)
{
    struct fleet_missed missed;
    struct fleet_ended ended;
    struct core *core = question->server->core;
    if (fleet_missed_read(&missed, row)) {
        past_add_gap(question, out, &missed, moment);
        return;
    } else if (!fleet_ended_read(&ended, row, &question->page, core)) {
        return;
    }
    bool is_shown = is_wanted(question, &ended);
    if (is_shown && question->n_to_skip > 0) {
        question->n_to_skip--;
    } else if (is_shown) {
        bool is_ours = is_own(question, ended.key);
        const struct ended_lease line = {
            .entry = &ended.entry,
            .lease = &ended.lease,
            .database = fleet_name_of(&question->server->databases, question->database),
            .key = is_ours ? NULL : ended.key,
            .host = is_ours ? NULL : ended.host,
            .stream_id = question->filter.after[0] ? ended.stream_id : NULL,
        };
        ended_line_write(out, &line, wall_milliseconds(ended.entry.ended_at, moment),
            viewer_sees_ended(moment->viewer, core, &ended.lease, ended.entry.hiding));
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
    }
    while (rows && question->next_row < rows->n_rows) {
        if (out->length >= enough) {
            return true;
        }
        tell_row(question, &rows->rows[question->next_row++], out, moment);
    }
    question->rows = fleet_rows_free(question->rows);
    if (question->page.next[0] && !question->is_cut) {
        text_add_bytes(&question->events, answer->held_back.bytes, answer->held_back.length);
        text_deinit(&answer->held_back);
        return false;
    }
    if (question->is_cut) {
        add_cut(question, out, moment);
    } else if (question->page.n_missed > 0) {
        const struct fleet_missed missed = {
            question->page.n_missed, question->page.missed_since, question->page.now};
        past_add_gap(question, out, &missed, moment);
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
    question->next_row = 0;
    question->is_told = true;
    parked_end(conn);
    conn_begin_long(conn, &question->answer);
}

/* No page comes: an answer that has begun says so. */
static void past_fail(struct past_question *question, enum code code, const char *why)
{
    if (question->has_head) {
        question->is_cut = true;
        past_tell(question);
    } else {
        past_refuse(question, code, why);
    }
}

static void count_rows(struct past_question *question)
{
    for (size_t i = 0; i < question->rows->n_rows; i++) {
        struct fleet_ended ended;
        struct fleet_missed missed;
        const struct fleet_row *row = &question->rows->rows[i];
        question->has_gaps |= fleet_missed_read(&missed, row);
        if (fleet_ended_read(&ended, row, &question->page, question->server->core)) {
            question->n_matching += is_wanted(question, &ended);
            fleet_ended_deinit(&ended);
        }
    }
    question->rows = fleet_rows_free(question->rows);
}

static void count_next_page(struct past_question *question)
{
    size_t n = question->n_pages++;
    question->pages = memory_grow(question->pages, n, sizeof *question->pages);
    strcpy(question->from, question->page.next);
    strcpy(question->pages[n].from, question->from);
    question->pages[n].n_before = question->n_matching;
}

/* Goes on from the last page before which nothing is to be shown. */
static void skip_pages(struct past_question *question)
{
    size_t n = question->n_pages;
    while (n > 0 && question->pages[n - 1].n_before > question->n_to_skip) {
        n--;
    }
    if (n > 0) {
        strcpy(question->from, question->pages[n - 1].from);
        question->n_to_skip -= question->pages[n - 1].n_before;
    }
}

/* All pages from .window on are counted. Longer ago there may be more. */
static void end_count(struct past_question *question)
{
    const struct past_filter *filter = &question->filter;
    nanoseconds begin = clock_now() - question->window;
    nanoseconds first =
        later(filter->since, fleet_page_instant(&question->page, question->page.since));
    bool is_enough = question->n_matching > filter->limit;
    if (is_enough || begin <= first || question->page.since == 0) {
        question->is_counting = false;
        question->has_older = is_enough;
        question->n_to_skip = is_enough ? question->n_matching - filter->limit : 0;
    } else {
        question->window *= 8;
    }
    begin_pass(question, later(clock_now() - question->window, filter->since));
    if (!question->is_counting && (is_enough || !question->has_gaps)) {
        skip_pages(question);
    }
    question->n_matching = question->n_pages = 0;
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
        past_fail(question, CODE_DOWN, "its user there may not read its history (+xrange)");
    } else if (!question->is_counting) {
        past_tell(question);
    } else {
        count_rows(question);
        if (question->page.next[0]) {
            count_next_page(question);
        } else {
            end_count(question);
        }
        past_ask(question);
    }
}

static void past_ask(struct past_question *question)
{
    struct server *server = question->server;
    const char *const words[] = {"!", question->from};
    question->is_asked = true;
    session_snapshot(
        fleet_session(server->fleet, question->database), on_page, question, 2, words);
}

/* ---- the connection ---- */

static void past_late(struct conn *conn)
{
    struct past_question *question = parked_state(conn);
    if (question->is_asked) {
        fleet_forget(question->server->fleet, question);
        past_fail(question, CODE_DOWN, "no answer in time");
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
    question->is_counting = filter->limit > 0 && !filter->after[0];
    question->window = FIRST_WINDOW;
    begin_pass(question,
        question->is_counting ? later(call->now - question->window, filter->since) : filter->since);
    if (filter->after[0]) {
        strcpy(question->from, filter->after);
    }
    bool must_wait = first_of_user(call->server, call->conn->client.uid);
    TAILQ_INSERT_TAIL(&call->server->past_questions, question, link);
    past_park(question);
    if (!must_wait) {
        past_ask(question);
    }
}
