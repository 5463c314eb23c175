/* session_news.c - what the database stores for all: definitions and operators' changes, as a log
 * that this daemon follows. In a hello it fetches everything and sends what it has newer; later it
 * fetches additions, when a message or a renewal says that there are any. */
#include "fleet/session_internal.h"

#include "base/words.h"

#include <string.h>

enum { NEWS_ROW = 4, LONGEST_SPREAD = 3600 * 1000 /* ms */ };

void news_begin(struct session *session)
{
    session_known_mark_unsent(&session->changes.known);
    session->news.followed = session->news.floor_there = 0;
    session->news.follow_at = 0;
    session->news.is_of_all = true;
}

void news_follow_by(struct session *session, nanoseconds at)
{
    session->news.follow_at = at < session->news.follow_at ? at : session->news.follow_at;
}

/* "news NUMBER SPREAD": others fetch it as well, each at a random time within so many ms. */
bool news_message(struct session *session, const char *text)
{
    char word[24];
    uint64_t number, spread;
    if (!word_take(&text, word, sizeof word) || strcmp(word, "news") != 0 ||
        !word_take(&text, word, sizeof word) || !number_parse(word, MAX_DATABASE_NUMBER, &number) ||
        !number_parse(text, LONGEST_SPREAD, &spread)) {
        return false;
    }
    if (number > session->news.followed) {
        nanoseconds span = (nanoseconds)spread * NANOSECONDS_PER_MILLISECOND;
        news_follow_by(session, session->now + session_random(session, span));
    }
    return true;
}

/* ---- what is sent ---- */

static call_is_answered news_are_answered, change_is_answered;
static const struct call_row news_call = {
    CALL_NEWS, SCRIPT_HELLO, "news", news_are_answered, hello_has_failed};
static const struct call_row change_call = {
    CALL_CHANGE, SCRIPT_HELLO, "change", change_is_answered, hello_has_failed};

struct inflight_call *news_next_call(struct session *session)
{
    if (n_in_flight(session, CALL_NEWS, CALL_CHANGE) > 0) {
        return NULL;
    }
    if (session->now >= session->news.follow_at) {
        struct inflight_call *call = inflight_call_new(session, &news_call, 0);
        arguments_add_number(call->arguments, session->news.followed);
        return call;
    }
    bool has_changes = !TAILQ_EMPTY(&session->changes.known.unsent);
    if (!has_changes && session->changes.floor <= session->news.floor_there) {
        return NULL;
    }
    struct inflight_call *call = inflight_call_new(session, &change_call, 0);
    arguments_add_number(call->arguments, session->changes.floor);
    arguments_add_number(call->arguments, session->news.followed);
    session_known_send(&session->changes.known, call, CHUNK); /* none, at last: that says all */
    return call;
}

nanoseconds news_deadline(const struct session *session)
{
    return n_in_flight(session, CALL_NEWS, CALL_CHANGE) > 0 ? NEVER : session->news.follow_at;
}

/* ---- what comes back ---- */

/* "c NAME", "d NAME"; other rows are a newer berthd's. */
static void take_row(struct session *session, const char *what, uint64_t version, const char *json)
{
    if (strncmp(what, "c ", 2) == 0) {
        change_hear(session, what + 2, version, json);
    } else if (strncmp(what, "d ", 2) == 0) {
        definition_is_news(session, what + 2);
    }
}

static const char *take_rows(struct session *session, const struct answer *answer)
{
    for (size_t i = 2; i < answer->n; i += NEWS_ROW) {
        uint64_t number, version;
        const char *what, *json;
        if (!answer_number(answer, i, MAX_DATABASE_NUMBER, &number) ||
            number <= session->news.followed || !answer_text(answer, i + 1, &what) ||
            !answer_number(answer, i + 2, MAX_DATABASE_NUMBER, &version) ||
            !answer_text(answer, i + 3, &json)) {
            return "a wrong answer to news";
        }
        take_row(session, what, version, json);
        session->news.followed = number;
    }
    return NULL;
}

/* What the database has forgotten since the last time, it may never have reported. */
static bool has_missed_some(const struct session *session, uint64_t followed)
{
    return !session->news.is_of_all && session->news.floor_there > followed;
}

static const char *news_are_answered(
    struct session *session, struct inflight_call *call, const struct answer *answer)
{
    uint64_t newest, followed = session->news.followed;
    (void)call;
    if (answer->kind != REPLY_OK || !answer_number(answer, 0, MAX_DATABASE_NUMBER, &newest) ||
        !answer_number(answer, 1, MAX_CREDIBLE_NUMBER, &session->news.floor_there) ||
        answer->n % NEWS_ROW != 2) {
        return "a wrong answer to news";
    }
    const char *wrong = take_rows(session, answer);
    if (wrong || (answer->n > 2 && session->news.followed < newest)) {
        return wrong; /* the next page */
    }
    if (has_missed_some(session, followed)) {
        /* About a forgotten one there may be no news any more. */
        session_known_mark_unsent(&session->definitions);
        news_begin(session);
        return NULL;
    }
    /* The newest may have been forgotten; what is stored next is also newer than the floor. */
    number_raise(&session->news.followed, newest);
    number_raise(&session->news.followed, session->news.floor_there);
    session->news.follow_at = NEVER;
    session->news.is_of_all = false;
    changes_are_heard(session);
    return NULL;
}

static const char *change_is_answered(
    struct session *session, struct inflight_call *call, const struct answer *answer)
{
    (void)call;
    if (answer->kind != REPLY_OK || answer->n % 3 != 1 ||
        !answer_number(answer, 0, MAX_CREDIBLE_NUMBER, &session->news.floor_there)) {
        return "a wrong answer to change";
    }
    for (size_t i = 1; i < answer->n; i += 3) {
        const char *name, *json;
        uint64_t version;
        if (!answer_text(answer, i, &name) ||
            !answer_number(answer, i + 1, MAX_DATABASE_NUMBER, &version) ||
            !answer_text(answer, i + 2, &json)) {
            return "a wrong answer to change";
        }
        change_hear(session, name, version, json);
    }
    if (session->changes.floor != session->news.floor_there) {
        news_follow_by(session, session->now); /* others have sent something meanwhile */
    }
    return NULL;
}
