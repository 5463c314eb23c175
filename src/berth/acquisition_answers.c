/* What berthd says to whoever asks or waits for a lease. */
#include "berth/acquisition.h"

#include "berth/explain.h"
#include "client/exit_status.h"
#include "client/message.h"
#include "client/random.h"

#include <string.h>

static enum acquisition_result is_malformed(struct acquisition *acquisition, nanoseconds now)
{
    static const char reason[] = "the server there does not speak Berth's protocol";
    if (acquisition->state == ACQUISITION_EXPLAINED) {
        return acquisition_end_explaining(acquisition);
    }
    if (acquisition->state == ACQUISITION_ASKED && !acquisition->was_queued) {
        outage_set(&acquisition->outage, false, reason);
        return acquisition_is_down(acquisition, now);
    }
    message("%s", reason);
    return acquisition_refuse(acquisition, STATUS_DOWN);
}

/* ---- a refusal by a database, or after a wait, which names nobody ---- */

/* berthd may have to ask the database: at most for so long. */
#define EXPLAIN_FOR (NANOSECONDS_PER_SECOND / 2)

/* False: there is nothing to ask, or nobody reads it. */
static bool begin_explaining(struct acquisition *acquisition, const struct answer *answer,
    const char *reason, nanoseconds now)
{
    struct request_line line;
    struct refusal *refusal = &acquisition->refusal;
    bool is_by_database = acquisition->state == ACQUISITION_PENDING &&
        (answer->code == CODE_WOULD_WAIT || answer->code == CODE_PAUSED);
    bool is_explained = answer->kind == ANSWER_EVENT &&
        (is_by_database || answer->code == CODE_TIMEOUT);
    if (!is_explained || acquisition->options->quiet ||
        !request_why_wanted(&line, acquisition->options)) {
        return false;
    }
    acquisition->state = ACQUISITION_EXPLAINED;
    append(refusal->reason, sizeof refusal->reason, "%s", reason);
    refusal->code = answer->code;
    refusal->until = now + EXPLAIN_FOR;
    refusal->better = (struct wait_message){0};
    /* If that fails, berthd has closed: reading will tell. */
    connection_send(acquisition->connection, line.text, line.length);
    return true;
}

/* It may have become free meanwhile: then only the database's word counts. */
enum acquisition_result acquisition_end_explaining(struct acquisition *acquisition)
{
    const struct refusal *refusal = &acquisition->refusal;
    if (refusal->better.is_busy && refusal->better.line[0]) {
        message("%s%s (%s)", refusal->code == CODE_TIMEOUT ? "timed out waiting for " : "",
            refusal->better.line, code_table[refusal->code].word);
    } else {
        message("%s", refusal->reason);
    }
    return acquisition_refuse(acquisition, STATUS_NOT_ACQUIRED);
}

static enum acquisition_result take_explanation(
    struct acquisition *acquisition, struct answer *answer, nanoseconds now)
{
    struct wait_message *better = &acquisition->refusal.better;
    (void)now;
    if (answer->kind == ANSWER_EVENT) {
        return ACQUISITION_GOES_ON;
    }
    enum wait_message_state state = wait_message_take(better, answer);
    return state == WAIT_MESSAGE_GOES_ON ? ACQUISITION_GOES_ON
                                         : acquisition_end_explaining(acquisition);
}

/* ---- the answer ---- */

/* Where berthd has no lease to give, the lock of a file will do, which excludes all others; but not
 * where it has said that the lock is taken, or that it grants none. */
static bool is_file_enough(const struct acquisition *acquisition, enum code code)
{
    bool is_bound = code == CODE_QUOTA || code == CODE_QUEUE_FULL || code == CODE_GRACE;
    return acquisition->options->file_lock &&
        (is_bound || code_table[code].exit_status != STATUS_NOT_ACQUIRED);
}

static enum acquisition_result is_denied(
    struct acquisition *acquisition, struct answer *answer, nanoseconds now)
{
    int status = answer->code == CODE_NONE ? STATUS_DOWN : code_table[answer->code].exit_status;
    char reason[1280] = "";
    if (answer->code == CODE_TIMEOUT) {
        append_timed_out(reason, sizeof reason, acquisition);
    } else if (answer->kind == ANSWER_EVENT) {
        append_why_of_wanted(reason, sizeof reason, answer, acquisition->options);
    } else {
        append(reason, sizeof reason, "%s", why(answer));
    }
    if (answer->code == CODE_UNKNOWN) {
        append_count_meant(reason, sizeof reason, acquisition->options);
    }

    bool is_down = status == STATUS_DOWN && answer->code != CODE_NONE;
    if (is_down || is_file_enough(acquisition, answer->code)) {
        acquisition->was_queued &= !acquisition->options->file_lock;
        outage_set(&acquisition->outage, answer->code == CODE_DOWN, reason);
        return acquisition_is_down(acquisition, now);
    }
    if (begin_explaining(acquisition, answer, reason, now)) {
        return ACQUISITION_GOES_ON;
    }
    if (status != STATUS_NOT_ACQUIRED || !acquisition->options->quiet) {
        message("%s", reason);
    }
    return acquisition_refuse(acquisition, status);
}

static enum acquisition_result is_granted(
    struct acquisition *acquisition, const struct answer *answer, nanoseconds now)
{
    if (!grant_parse(&acquisition->grant, answer, acquisition->options)) {
        return is_malformed(acquisition, now);
    }
    acquire_params_take_proof(&acquisition->params, answer);
    wait_report_granted(&acquisition->wait_report, now);
    return ACQUISITION_GRANTED;
}

/* False: the answer names none. */
static bool acquisition_answers_take_lease(
    struct acquisition *acquisition, const struct answer *answer, enum acquisition_state state)
{
    bool had_place = acquisition->state != ACQUISITION_ASKED;
    if (!answer->lease[0]) {
        return false;
    }
    acquisition->state = state;
    acquire_params_take_proof(&acquisition->params, answer);
    memcpy(acquisition->lease, answer->lease, strlen(answer->lease) + 1);
    if (acquisition->stops_by != NEVER && !had_place) {
        acquisition_say_presence(acquisition, COMMAND_away);
    }
    return true;
}

/* A request once accepted stays until there is an answer, however long that takes. */
static enum acquisition_result is_pending(
    struct acquisition *acquisition, const struct answer *answer, nanoseconds now)
{
    if (!acquisition_answers_take_lease(acquisition, answer, ACQUISITION_PENDING)) {
        return is_malformed(acquisition, now);
    }
    acquisition->is_fleet = true;
    if (acquisition->was_queued) {
        acquisition->down_at = NEVER;
    }
    return ACQUISITION_GOES_ON;
}

static enum acquisition_result is_queued(
    struct acquisition *acquisition, const struct answer *answer, nanoseconds now)
{
    if (!acquisition_answers_take_lease(acquisition, answer, ACQUISITION_QUEUED)) {
        return is_malformed(acquisition, now);
    }
    wait_report_queued(
        &acquisition->wait_report, acquisition->is_fleet, acquisition->outage.was_said, now);
    acquisition->outage = OUTAGE_NONE;
    acquisition->was_queued = true;
    if (acquisition->options->verbose) {
        const char *position = words_find(answer->words, answer->n_words, "position");
        message("queued, place %s", position ? position : "unknown");
    }
    return ACQUISITION_GOES_ON;
}

/* The wish stays; but from now on it is another request. */
static void forget_lease(struct acquisition *acquisition)
{
    acquisition->lease[0] = '\0';
    acquisition->params.once = random_bits();
}

static enum acquisition_result ask_again(struct acquisition *acquisition, nanoseconds now)
{
    forget_lease(acquisition);
    return acquisition_ask(acquisition, now);
}

/* The answer to a reclaim. A temporary reason, such as an old connection that berthd still takes
 * for alive, ends no wait. */
static enum acquisition_result is_not_reclaimed(
    struct acquisition *acquisition, struct answer *answer, nanoseconds now)
{
    if (answer->code == CODE_LOST) {
        return ask_again(acquisition, now);
    }
    bool may_pass = code_table[answer->code].exit_status == STATUS_NOT_ACQUIRED &&
        answer->code != CODE_TIMEOUT && answer->code != CODE_CANCELLED &&
        answer->code != CODE_REPLACED;
    if (may_pass) {
        outage_set(&acquisition->outage, false, answer->code_word);
        return acquisition_is_absent(acquisition, now);
    }
    return is_denied(acquisition, answer, now);
}

static enum acquisition_result take_first_answer(
    struct acquisition *acquisition, struct answer *answer, nanoseconds now)
{
    switch (answer->kind) {
    case ANSWER_OK:
        return is_granted(acquisition, answer, now);
    case ANSWER_WAITING:
        return is_queued(acquisition, answer, now);
    case ANSWER_PENDING:
        return is_pending(acquisition, answer, now);
    case ANSWER_ERROR:
        return (acquisition->lease[0] ? is_not_reclaimed : is_denied)(acquisition, answer, now);
    case ANSWER_EVENT: /* about another lease */
        return ACQUISITION_GOES_ON;
    case ANSWER_OTHER:
        break;
    }
    return is_malformed(acquisition, now);
}

static enum acquisition_result is_denied_later(
    struct acquisition *acquisition, struct answer *answer, nanoseconds now)
{
    if (acquisition->state == ACQUISITION_QUEUED &&
        now - acquisition->opened_at >= GOOD_CONNECTION) {
        backoff_reset(&acquisition->backoff);
    }
    forget_lease(acquisition);
    return is_denied(acquisition, answer, now);
}

static enum acquisition_result take_event(
    struct acquisition *acquisition, struct answer *answer, nanoseconds now)
{
    if (strcmp(answer->lease, acquisition->lease) != 0) {
        return ACQUISITION_GOES_ON;
    }
    if (answer->event == EVENT_GRANTED) {
        return is_granted(acquisition, answer, now);
    }
    if (answer->event == EVENT_DENIED) {
        return is_denied_later(acquisition, answer, now);
    }
    if (answer->event == EVENT_WAITING && acquisition->state == ACQUISITION_PENDING) {
        return is_queued(acquisition, answer, now);
    }
    if (answer->event == EVENT_WAITING) { /* in fleet scope: a new place */
        words_find_number(
            answer->words, answer->n_words, "position", &acquisition->wait_report.position);
    }
    return ACQUISITION_GOES_ON;
}

static enum acquisition_result take_while_waiting(
    struct acquisition *acquisition, struct answer *answer, nanoseconds now)
{
    if (answer->kind == ANSWER_EVENT) {
        return take_event(acquisition, answer, now);
    }
    if (acquisition->n_unanswered > 0 && !acquisition->wait_report.was_asked) {
        acquisition->n_unanswered--; /* an earlier berthd refuses it */
        return ACQUISITION_GOES_ON;
    }
    wait_report_take(&acquisition->wait_report, answer, now);
    return ACQUISITION_GOES_ON;
}

static enum acquisition_result acquisition_answers_take_line(
    struct acquisition *acquisition, struct answer *answer, nanoseconds now)
{
    switch (acquisition->state) {
    case ACQUISITION_ASKED:
        return take_first_answer(acquisition, answer, now);
    case ACQUISITION_EXPLAINED:
        return take_explanation(acquisition, answer, now);
    case ACQUISITION_DISCONNECTED:
    case ACQUISITION_PENDING:
    case ACQUISITION_QUEUED:
        break;
    }
    return take_while_waiting(acquisition, answer, now);
}

enum acquisition_result acquisition_take_lines(struct acquisition *acquisition, nanoseconds now)
{
    static struct answer answer; /* large */
    enum acquisition_result result = ACQUISITION_GOES_ON;
    char *line;
    while (result == ACQUISITION_GOES_ON && acquisition->state != ACQUISITION_DISCONNECTED) {
        enum connection_line found = connection_next(acquisition->connection, &line);
        if (found == CONNECTION_MORE) {
            break;
        }
        if (found == CONNECTION_GARBAGE) {
            result = is_malformed(acquisition, now);
            continue;
        }
        answer_parse(&answer, line);
        result = acquisition_answers_take_line(acquisition, &answer, now);
    }
    return result;
}
