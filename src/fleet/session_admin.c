/* session_admin.c - operators' requests to the database: changes, and pages of its state. */
#include "fleet/session_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Snapshots cost the database far more than anything else: one at a time, then a pause of some
 * times its duration, however many people look. */
enum { LOOK_PAUSE = 4 };
#define LONGEST_LOOK_PAUSE NANOSECONDS_PER_SECOND

static call_is_answered admin_is_answered, snapshot_is_answered;
static call_has_failed request_has_failed;
static const struct call_row admin_call = {
    CALL_ADMIN, SCRIPT_ADMIN, NULL, admin_is_answered, request_has_failed};
static const struct call_row snapshot_call = {
    CALL_SNAPSHOT, SCRIPT_SNAPSHOT, NULL, snapshot_is_answered, request_has_failed};

static const char too_many[] = "too many such requests at once";

static void request_free(struct session *session, struct admin_request *request)
{
    session->requests.n--;
    for (size_t i = 0; i < request->n_words; i++) {
        free(request->words[i]);
    }
    free(request->words);
    free(request->cursor);
    text_deinit(&request->result.rows);
    free(request);
}

/* The request is in no list at present. */
static void request_end(struct session *session, struct admin_request *request,
    enum outcome outcome, const char *detail)
{
    if (session->look.request == request) {
        session->look.request = NULL;
    }
    request->result.outcome = outcome;
    snprintf(request->result.detail, sizeof request->result.detail, "%.*s",
        (int)sizeof request->result.detail - 1, detail);
    if (outcome != OUTCOME_OK) {
        text_deinit(&request->result.rows);
    }
    TAILQ_INSERT_TAIL(&session->requests.lists[REQUEST_OVER], request, link);
}

static void request_add(struct session *session, const struct call_row *row, session_done *done,
    void *context, size_t n, const char *const words[])
{
    struct admin_request *request = memory_new(sizeof *request);
    request->row = row;
    request->serial = ++session->leases.last_serial;
    request->result.done = done;
    request->result.context = context;
    request->cursor = memory_string("");
    session->requests.n++;
    request->words = memory_resize(NULL, n + 1, sizeof *request->words);
    request->n_words = n;
    for (size_t i = 0; i < n; i++) {
        request->words[i] = memory_string(words[i]);
    }
    if (session_is_unreachable(session)) {
        request_end(session, request, OUTCOME_DOWN, session->link.why);
    } else if (session->requests.n > MAX_REQUESTS) {
        request_end(session, request, OUTCOME_DOWN, too_many);
    } else {
        TAILQ_INSERT_TAIL(&session->requests.lists[REQUEST_UNSENT], request, link);
    }
}

void session_admin(struct session *session, session_done *done, void *context, size_t argc,
    const char *const argv[])
{
    request_add(session, &admin_call, done, context, argc, argv);
}

void session_snapshot(struct session *session, session_done *done, void *context, size_t n,
    const char *const names[])
{
    request_add(session, &snapshot_call, done, context, n, names);
}

void session_forget(struct session *session, const void *context)
{
    struct admin_request *request;
    for (size_t i = 0; i < N_REQUEST_STATES; i++) {
        TAILQ_FOREACH (request, &session->requests.lists[i], link) {
            if (request->result.context == context) {
                request->result.context = NULL;
            }
        }
    }
}

bool session_take_result(struct session *session, struct session_result *result)
{
    struct admin_request *request = TAILQ_FIRST(&session->requests.lists[REQUEST_OVER]);
    if (!request) {
        return false;
    }
    TAILQ_REMOVE(&session->requests.lists[REQUEST_OVER], request, link);
    *result = request->result;
    request->result.rows = (struct text)TEXT_INIT;
    request_free(session, request);
    return true;
}

static void fail_all_in(struct session *session, struct admin_request_list *list, const char *why)
{
    struct admin_request *request;
    while ((request = TAILQ_FIRST(list))) {
        TAILQ_REMOVE(list, request, link);
        request_end(session, request, OUTCOME_DOWN, why);
    }
}

void requests_fail(struct session *session, const char *why)
{
    fail_all_in(session, &session->requests.lists[REQUEST_IN_FLIGHT],
        "the answer did not come: the request may have been carried out");
    fail_all_in(session, &session->requests.lists[REQUEST_UNSENT], why);
}

void requests_deinit(struct session *session)
{
    struct session_result result;
    requests_fail(session, "");
    while (session_take_result(session, &result)) {
        text_deinit(&result.rows);
    }
}

/* ---- what is sent ---- */

/* The daemon itself asks what has changed since a mark: it pauses by itself, and nobody else is to
 * wait because of it. */
static bool is_about_mark(const struct admin_request *request)
{
    return request->n_words > 0 && strcmp(request->words[0], "?") == 0;
}

static bool may_be_sent(const struct session *session, const struct admin_request *request)
{
    return request->row != &snapshot_call || session->look.request == request ||
        (!session->look.request &&
            (is_about_mark(request) || session->now >= session->look.not_before));
}

static struct admin_request *next_request(const struct session *session)
{
    struct admin_request *request = TAILQ_FIRST(&session->requests.lists[REQUEST_UNSENT]);
    while (request && !may_be_sent(session, request)) {
        request = TAILQ_NEXT(request, link);
    }
    return request;
}

static void has_looked(struct session *session)
{
    nanoseconds pause = LOOK_PAUSE * (session->now - session->look.since);
    session->look.not_before =
        session->now + (pause < LONGEST_LOOK_PAUSE ? pause : LONGEST_LOOK_PAUSE);
}

nanoseconds requests_deadline(const struct session *session)
{
    bool waits_for_time = session->state == SESSION_UP && crowd_room(session) > 0 &&
        !session->look.request && !TAILQ_EMPTY(&session->requests.lists[REQUEST_UNSENT]);
    return waits_for_time ? session->look.not_before : NEVER;
}

struct inflight_call *requests_next_call(struct session *session)
{
    struct admin_request *request = next_request(session);
    if (!request || crowd_room(session) == 0) {
        return NULL;
    }
    struct inflight_call *call = inflight_call_new(session, request->row, 0);
    if (request->row == &snapshot_call) {
        arguments_add(call->arguments, request->cursor);
        if (!session->look.request) {
            session->look.request = request;
            session->look.since = session->now;
        }
    }
    for (size_t i = 0; i < request->n_words; i++) {
        arguments_add(call->arguments, request->words[i]);
    }
    TAILQ_REMOVE(&session->requests.lists[REQUEST_UNSENT], request, link);
    TAILQ_INSERT_TAIL(&session->requests.lists[REQUEST_IN_FLIGHT], request, link);
    call->request = request;
    return call;
}

/* ---- what comes back ---- */

/* The request of an answer, taken out of its list. */
static struct admin_request *take_request(struct session *session, struct inflight_call *call)
{
    TAILQ_REMOVE(&session->requests.lists[REQUEST_IN_FLIGHT], call->request, link);
    return call->request;
}

/* A `forget` is done in parts, even if nobody waits for its answer any more. */
static const char *goes_on(struct session *session, struct inflight_call *call, const char *cursor)
{
    enum { PLACE_OF_CURSOR = 2 };
    if (call->request->n_words <= PLACE_OF_CURSOR) {
        return "a cursor that was not asked for";
    }
    struct admin_request *request = take_request(session, call);
    free(request->words[PLACE_OF_CURSOR]);
    request->words[PLACE_OF_CURSOR] = memory_string(cursor);
    TAILQ_INSERT_HEAD(&session->requests.lists[REQUEST_UNSENT], request, link);
    return NULL;
}

/* Requests that come back to the list were made before all that are still in it. */
void request_put_back(struct session *session, struct inflight_call *call)
{
    struct admin_request *request = take_request(session, call);
    struct admin_request *other = TAILQ_FIRST(&session->requests.lists[REQUEST_UNSENT]);
    while (other && other->serial < request->serial) {
        other = TAILQ_NEXT(other, link);
    }
    if (other) {
        TAILQ_INSERT_BEFORE(other, request, link);
    } else {
        TAILQ_INSERT_TAIL(&session->requests.lists[REQUEST_UNSENT], request, link);
    }
}

/* An operator on another host may have had a definition forgotten that this host's file has: it is
 * sent again, then the request is made again, once. */
static bool is_asked_again(struct session *session, struct inflight_call *call, const char *unknown)
{
    enum { PLACE_OF_NAME = 1 };
    struct admin_request *request = call->request;
    bool is_about_name =
        request->n_words > PLACE_OF_NAME && strcmp(request->words[PLACE_OF_NAME], unknown) == 0;
    if (request->is_repeated || !is_about_name ||
        !definition_is_missing(session, unknown, call->tag)) {
        return false;
    }
    request->is_repeated = true;
    request_put_back(session, call);
    return true;
}

static const char *admin_is_answered(
    struct session *session, struct inflight_call *call, const struct answer *answer)
{
    const char *code, *detail, *cursor, *was;
    if (answer->kind == REPLY_OK && answer_text(answer, 0, &cursor) && *cursor != '\0') {
        return goes_on(session, call, cursor);
    }
    if (answer->kind == REPLY_OK) {
        bool says_was = answer_text(answer, 1, &was);
        request_end(session, take_request(session, call), OUTCOME_OK, says_was ? was : "");
        return NULL;
    }
    if (answer->kind != REPLY_REFUSED || !answer_text(answer, 0, &code) ||
        !answer_text(answer, 1, &detail)) {
        return "a wrong answer";
    }
    enum outcome why = refusal_outcome(code);
    if (why != OUTCOME_UNKNOWN || !is_asked_again(session, call, detail)) {
        request_end(session, take_request(session, call), why, detail);
    }
    return NULL;
}

static bool add_row(struct text *rows, const struct resp *row)
{
    for (size_t i = 0; row->type == RESP_ARRAY && i < row->n; i++) {
        const struct resp *field = &row->elements[i];
        if (field->type != RESP_STRING || memchr(field->text, '\0', field->length)) {
            return false;
        }
        text_add_bytes(rows, field->text, field->length + 1);
    }
    text_add(rows, "\n");
    return row->type == RESP_ARRAY;
}

static const char *snapshot_is_answered(
    struct session *session, struct inflight_call *call, const struct answer *answer)
{
    const char *cursor;
    struct text *rows = &call->request->result.rows;
    if (answer->kind != REPLY_OK || !answer_text(answer, 0, &cursor)) {
        return "a wrong answer";
    }
    for (size_t i = 1; i < answer->n; i++) {
        if (!add_row(rows, &answer->fields[i])) {
            return "a malformed row";
        }
    }
    struct admin_request *request = take_request(session, call);
    bool is_too_large = rows->length > MAX_SNAPSHOT_BYTES;
    if (!is_too_large && *cursor != '\0') {
        free(request->cursor);
        request->cursor = memory_string(cursor);
        TAILQ_INSERT_HEAD(&session->requests.lists[REQUEST_UNSENT], request, link);
        return NULL;
    }
    if (!is_about_mark(request)) {
        has_looked(session); /* what is too large has cost most */
    }
    request_end(session, request, is_too_large ? OUTCOME_NO_SPACE : OUTCOME_OK,
        is_too_large ? "too much to show: name resources" : "");
    return NULL;
}

static void request_has_failed(
    struct session *session, struct inflight_call *call, const struct answer *answer)
{
    request_end(session, take_request(session, call), OUTCOME_DOWN, answer->text);
}
