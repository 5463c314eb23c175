/* session_definitions.c - the operator's definitions, as this daemon's file and the database have
 * them. */
#include "fleet/session_internal.h"

#include <stdlib.h>
#include <string.h>

static void send_first(struct session *session, struct session_known *known)
{
    session_known_set_unsent(&session->definitions, known, true);
    known->is_missing = true;
    TAILQ_REMOVE(&session->definitions.unsent, known, unsent_link);
    TAILQ_INSERT_HEAD(&session->definitions.unsent, known, unsent_link);
}

bool definition_is_missing(struct session *session, const char *resource, uint64_t tag)
{
    const struct definition *definition = core_find_definition(session->core, resource);
    bool is_ours = definition && definition->database == session->database;
    struct session_known *known =
        is_ours ? session_known_find(&session->definitions, definition->name) : NULL;
    if (known && known->sent_by < tag) {
        send_first(session, known);
    }
    return known;
}

/* ---- the file ---- */

/* Whether it differs from the one before. */
static bool define_one(struct session *session, const struct definition *definition)
{
    struct text json = TEXT_INIT;
    struct session_known *known = session_known_find(&session->definitions, definition->name);
    uint64_t generation = session->settings->generation;
    definition_write(&json, definition);
    if (!known) {
        known = session_known_add(&session->definitions, definition->name);
    }
    known->is_defined = true;
    if (known->json && known->version == generation && strcmp(known->json, json.bytes) == 0) {
        text_deinit(&json);
        return false;
    }
    free(known->json);
    known->json = text_take(&json);
    known->version = generation;
    known->verdict = VERDICT_NONE;
    session_known_set_unsent(&session->definitions, known, true);
    return true;
}

static bool has_listed_some(const struct session *session)
{
    bool is_listing = session->state == SESSION_LISTING && session->hello.step > STEP_NEWS;
    return is_listing || session->state == SESSION_UP;
}

/* Grants to a waiter depend partly on this daemon's file: with a new file, all are listed again. */
void session_define(struct session *session, const struct definition *definitions, size_t n)
{
    struct session_known *known, *next;
    bool any = false;
    TAILQ_FOREACH (known, &session->definitions.all, link) {
        known->is_defined = false;
    }
    for (size_t i = 0; i < n; i++) {
        if (definitions[i].database == session->database) {
            any |= define_one(session, &definitions[i]);
        }
    }
    for (known = TAILQ_FIRST(&session->definitions.all); known; known = next) {
        next = TAILQ_NEXT(known, link);
        if (!known->is_defined) {
            session_known_free(&session->definitions, known);
        }
    }
    TAILQ_FOREACH (known, &session->definitions.all, link) {
        if (known->verdict == VERDICT_DIFFERS) {
            /* By now it may be out of use, or be the newer one. */
            session_known_set_unsent(&session->definitions, known, true);
        }
    }
    if (any && has_listed_some(session) &&
        core_fleet_n_waiting(session->core, session->database) > 0) {
        listing_begin(session);
    }
}

enum outcome session_may_use(const struct session *session, const struct definition *definition)
{
    const struct session_known *known = session_known_find(&session->definitions, definition->name);
    if (session_is_unreachable(session)) {
        return OUTCOME_DOWN;
    }
    return known && known->verdict == VERDICT_DIFFERS ? OUTCOME_DIFFERS : OUTCOME_OK;
}

/* ---- the database ---- */

static call_is_answered define_is_answered;
static const struct call_row define_call = {
    CALL_DEFINE, SCRIPT_HELLO, "define", define_is_answered, hello_has_failed};

struct inflight_call *definitions_next_call(struct session *session)
{
    struct session_known *known = TAILQ_FIRST(&session->definitions.unsent);
    if (!known || (n_in_flight(session, CALL_DEFINE, CALL_DEFINE) > 0 && !known->is_missing)) {
        return NULL;
    }
    struct inflight_call *call = inflight_call_new(session, &define_call, 0);
    session_known_send(&session->definitions, call, MAX_DEFINED);
    return call;
}

static const struct {
    const char *word; /* of the script */
    enum verdict verdict;
    const char *meaning; /* NULL: nothing that operators need to know */
} verdict_rows[] = {
    {"same", VERDICT_SAME, NULL},
    {"stored", VERDICT_SAME, NULL},
    {"newer", VERDICT_NEWER, "the fleet has a newer definition"},
    {"limit", VERDICT_LIMIT,
        "the fleet has another limit; the smaller one holds here until `generation` says which "
        "file is newer"},
    {"differs", VERDICT_DIFFERS,
        "the fleet has another definition; requests are refused until `generation` says which file "
        "is newer"},
};

enum { N_VERDICT_ROWS = sizeof verdict_rows / sizeof verdict_rows[0] };

static void set_verdict(
    struct session *session, struct session_known *known, size_t row, const char *json)
{
    bool is_news = known->verdict != verdict_rows[row].verdict;
    known->verdict = verdict_rows[row].verdict;
    if (is_news && verdict_rows[row].meaning) {
        session_say(session, "%s: %s: %.200s", known->name, verdict_rows[row].meaning, json);
    }
}

static bool take_verdict(
    struct session *session, const char *name, const char *word, const char *json)
{
    struct session_known *known = session_known_find(&session->definitions, name);
    for (size_t row = 0; row < N_VERDICT_ROWS; row++) {
        if (strcmp(verdict_rows[row].word, word) == 0) {
            if (known && !known->is_unsent) { /* otherwise it is about an earlier one */
                set_verdict(session, known, row, json);
            }
            return true;
        }
    }
    return false;
}

static const char *define_is_answered(
    struct session *session, struct inflight_call *call, const struct answer *answer)
{
    (void)call;
    if (answer->kind != REPLY_OK || answer->n % 3 != 0) {
        return "a wrong answer to define";
    }
    for (size_t i = 0; i < answer->n; i += 3) {
        const char *name, *word, *json;
        if (!answer_text(answer, i, &name) || !answer_text(answer, i + 1, &word) ||
            !answer_text(answer, i + 2, &json) || !take_verdict(session, name, word, json)) {
            return "a wrong answer to define";
        }
    }
    return NULL;
}

void definition_is_news(struct session *session, const char *name)
{
    struct session_known *known = session_known_find(&session->definitions, name);
    if (known) {
        session_known_set_unsent(&session->definitions, known, true);
    }
}
