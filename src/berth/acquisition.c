#include "berth/acquisition.h"

#include "berth/explain.h"
#include "client/exit_status.h"
#include "client/message.h"
#include "client/random.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* After a connection that lasted this long, the next pause is short again. */
#define GOOD_CONNECTION NANOSECONDS_PER_SECOND
/* A short -w does not count as an outage: berthd has at least this long to say that it is busy. */
#define SHORTEST_PATIENCE NANOSECONDS_PER_SECOND
/* A database that is away is away for many clients, on many hosts. */
#define LONGEST_PAUSE_OF_DATABASE (5 * NANOSECONDS_PER_SECOND)

void acquisition_init(struct acquisition *acquisition, const struct options *options,
    const struct endpoint *endpoint, struct connection *connection, pid_t pid, nanoseconds now)
{
    *acquisition = (struct acquisition){
        .options = options,
        .endpoint = endpoint,
        .connection = connection,
        .wish = {
            .options = options,
            .parent = getenv("BERTH_LEASE"),
            .pid = pid,
            .wrapper = options->tree ? getpid() : 0,
            .once = random_bits(),
        },
        .state = ACQUISITION_APART,
        .started_at = now,
        .wait_until = options->wait == NEVER ? NEVER : now + options->wait,
        .down_at = now + options->down_after,
        .retry_at = now,
        .outage = OUTAGE_NONE,
    };
    wait_report_init(&acquisition->wait_report, options, now);
}

/* Until when -w allows berth to go on. */
static nanoseconds patience_end(const struct acquisition *acquisition)
{
    /* -n is about the resource: a berthd that is being restarted has not said yet that it is
     * busy. */
    nanoseconds shortest =
        acquisition->options->wait == 0 ? acquisition->options->down_after : SHORTEST_PATIENCE;
    return acquisition->was_queued ? acquisition->wait_until
                              : later(acquisition->wait_until, acquisition->started_at + shortest);
}

static enum acquisition_result refuse(struct acquisition *acquisition, int status)
{
    const struct options *options = acquisition->options;
    connection_close(acquisition->connection);
    acquisition->status = status == STATUS_NOT_ACQUIRED && options->conflict_status >= 0
        ? options->conflict_status
        : status;
    return ACQUISITION_REFUSED;
}

static void cancel(struct acquisition *acquisition)
{
    struct request_line line;
    if (acquisition->state != ACQUISITION_APART) {
        request_cancel(&line, &acquisition->wish);
        /* If that fails, berthd has closed the connection. */
        connection_send(acquisition->connection, line.text, line.length);
    }
}

void acquisition_give_up(struct acquisition *acquisition)
{
    bool would_outlive_us = acquisition->options->pid != 0 || acquisition->options->ttl != NEVER;
    if (would_outlive_us) {
        cancel(acquisition);
    }
}

static enum acquisition_result time_out(struct acquisition *acquisition)
{
    const char *why = acquisition->outage.why;
    char names[256] = "";
    append_wanted(names, sizeof names, acquisition->options);
    if (!acquisition->options->quiet) {
        message("timed out waiting for %s (%s)%s%s", names, code_table[CODE_TIMEOUT].word,
            why[0] ? ": " : "", why);
    }
    acquisition_give_up(acquisition);
    return refuse(acquisition, STATUS_NOT_ACQUIRED);
}

/* ---- when berthd, or its database, is not there ---- */

static void try_again_later(struct acquisition *acquisition, nanoseconds now)
{
    nanoseconds longest =
        acquisition->outage.is_of_database ? LONGEST_PAUSE_OF_DATABASE : OUTAGE_LONGEST_PAUSE;
    nanoseconds at =
        now + backoff_next(&acquisition->backoff, OUTAGE_FIRST_PAUSE, longest, random_bits());
    connection_close(acquisition->connection);
    acquisition->state = ACQUISITION_APART;
    wait_report_interrupted(&acquisition->wait_report);
    acquisition->retry_at = earlier(at, later(acquisition->down_at, now));
}

/* acquisition->outage has the reason. */
static enum acquisition_result is_down(struct acquisition *acquisition, nanoseconds now)
{
    bool is_patient = acquisition->was_queued || acquisition->options->if_down == IF_DOWN_WAIT;
    outage_goes_on(&acquisition->outage, acquisition->was_queued ? now : acquisition->started_at);
    if (is_patient && now < patience_end(acquisition)) {
        if (!acquisition->options->quiet) {
            outage_say(&acquisition->outage, acquisition->was_queued, now);
        }
        acquisition->down_at = NEVER;
        try_again_later(acquisition, now);
        return ACQUISITION_GOES_ON;
    }
    if (acquisition->was_queued || (is_patient && acquisition->outage.is_of_database)) {
        return time_out(acquisition);
    }
    if (acquisition->options->if_down == IF_DOWN_RUN) {
        cancel(acquisition); /* if it is granted at this very moment, the job would hold it
                                without knowing */
        connection_close(acquisition->connection);
        message("%s; running without a lease", acquisition->outage.why);
        return ACQUISITION_UNLEASED;
    }
    message("%s", acquisition->outage.why);
    acquisition_give_up(acquisition);
    return refuse(acquisition, STATUS_DOWN);
}

/* berthd was there a moment ago, or has no time at the moment: another try may help, until it
 * counts as down. */
static enum acquisition_result is_absent(struct acquisition *acquisition, nanoseconds now)
{
    if (acquisition->was_queued ||
        now >= earlier(acquisition->down_at, patience_end(acquisition))) {
        return is_down(acquisition, now);
    }
    outage_goes_on(&acquisition->outage, acquisition->was_queued ? now : acquisition->started_at);
    try_again_later(acquisition, now);
    return ACQUISITION_GOES_ON;
}

static enum acquisition_result is_lost(struct acquisition *acquisition, nanoseconds now)
{
    if (now - acquisition->opened_at >= GOOD_CONNECTION) {
        backoff_reset(&acquisition->backoff);
    }
    outage_set(&acquisition->outage, false, "berthd closed the connection");
    return is_absent(acquisition, now);
}

/* ---- asking ---- */

static nanoseconds patience_left(const struct acquisition *acquisition, nanoseconds now)
{
    if (acquisition->wait_until == NEVER) {
        return NEVER;
    }
    return acquisition->wait_until > now ? acquisition->wait_until - now : 0;
}

/* A waiter asks for the place that it has. A lease bound to time cannot be reclaimed; the repeated
 * acquire, known by its `once`, does the same. */
static bool request_fill(
    struct acquisition *acquisition, struct request_line *line, nanoseconds now)
{
    nanoseconds left = patience_left(acquisition, now);
    if (!acquisition->lease[0] || acquisition->options->ttl != NEVER) {
        return request_acquire(line, &acquisition->wish, left);
    }
    request_reclaim_waiting(line, &acquisition->wish, acquisition->lease, left);
    return true;
}

static enum acquisition_result send_request(struct acquisition *acquisition, nanoseconds now)
{
    struct request_line line;
    if (!request_fill(acquisition, &line, now)) {
        message("too many or too long names for one request");
        return refuse(acquisition, STATUS_USAGE);
    }
    acquisition->state = ACQUISITION_ASKED;
    acquisition->outage.why[0] = '\0';
    if (acquisition->down_at == NEVER) {
        acquisition->down_at = now + acquisition->options->down_after;
    }
    /* If that fails, berthd has closed, but may have said why: reading will tell. */
    connection_send(acquisition->connection, line.text, line.length);
    return ACQUISITION_GOES_ON;
}

static enum acquisition_result ask(struct acquisition *acquisition, nanoseconds now)
{
    int error = connection_open(acquisition->connection, acquisition->endpoint);
    if (error != 0) {
        /* EAGAIN: berthd's queue of connections is full. */
        bool is_there = error == EAGAIN || acquisition->opened_at != 0;
        if (error == EAGAIN) {
            backoff_reset(&acquisition->backoff); /* a crowd: whoever pauses long never gets in */
        }
        char reason[512];
        connection_explain(acquisition->endpoint, error, reason, sizeof reason);
        outage_set(&acquisition->outage, false, reason);
        return is_there ? is_absent(acquisition, now) : is_down(acquisition, now);
    }
    acquisition->opened_at = now;
    return send_request(acquisition, now);
}

/* ---- what berthd says ---- */

static enum acquisition_result is_malformed(struct acquisition *acquisition, nanoseconds now)
{
    static const char reason[] = "the server there does not speak Berth's protocol";
    if (acquisition->state == ACQUISITION_ASKED && !acquisition->was_queued) {
        outage_set(&acquisition->outage, false, reason);
        return is_down(acquisition, now);
    }
    message("%s", reason);
    return refuse(acquisition, STATUS_DOWN);
}

static enum acquisition_result is_denied(
    struct acquisition *acquisition, struct answer *answer, nanoseconds now)
{
    int status = answer->code == CODE_NONE ? STATUS_DOWN : code_table[answer->code].exit_status;
    char reason[1280] = "";
    if (answer->kind == ANSWER_EVENT) {
        append_why_of_wanted(reason, sizeof reason, answer, acquisition->options);
    } else {
        append(reason, sizeof reason, "%s", why(answer));
    }

    if (answer->code == CODE_TIMEOUT) {
        return time_out(acquisition); /* berthd's clock was first */
    }
    if (status == STATUS_DOWN && answer->code != CODE_NONE) {
        outage_set(&acquisition->outage, answer->code == CODE_DOWN, reason);
        return is_down(acquisition, now);
    }
    if (status != STATUS_NOT_ACQUIRED || !acquisition->options->quiet) {
        message("%s", reason);
    }
    return refuse(acquisition, status);
}

static enum acquisition_result is_granted(
    struct acquisition *acquisition, const struct answer *answer, nanoseconds now)
{
    if (!grant_parse(&acquisition->grant, answer, acquisition->options)) {
        return is_malformed(acquisition, now);
    }
    wish_take_proof(&acquisition->wish, answer);
    wait_report_granted(&acquisition->wait_report, now);
    return ACQUISITION_GRANTED;
}

/* False: the answer names none. */
static bool take_lease(
    struct acquisition *acquisition, const struct answer *answer, enum acquisition_state state)
{
    if (!answer->lease[0]) {
        return false;
    }
    acquisition->state = state;
    wish_take_proof(&acquisition->wish, answer);
    memcpy(acquisition->lease, answer->lease, strlen(answer->lease) + 1);
    return true;
}

/* A request once accepted stays until there is an answer, however long that takes. */
static enum acquisition_result is_pending(
    struct acquisition *acquisition, const struct answer *answer, nanoseconds now)
{
    if (!take_lease(acquisition, answer, ACQUISITION_PENDING)) {
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
    if (!take_lease(acquisition, answer, ACQUISITION_QUEUED)) {
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
    acquisition->wish.once = random_bits();
}

static enum acquisition_result ask_again(struct acquisition *acquisition, nanoseconds now)
{
    forget_lease(acquisition);
    return send_request(acquisition, now);
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
        answer->code != CODE_TIMEOUT && answer->code != CODE_CANCELLED;
    if (may_pass) {
        outage_set(&acquisition->outage, false, answer->code_word);
        return is_absent(acquisition, now);
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

/* In fleet scope. */
static void take_new_place(struct acquisition *acquisition, const struct answer *answer)
{
    uint64_t position;
    const char *value = words_find(answer->words, answer->n_words, "position");
    if (value && number_parse(value, INT64_MAX, &position)) {
        wait_report_moved(&acquisition->wait_report, position);
    }
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
    if (answer->event == EVENT_WAITING) {
        take_new_place(acquisition, answer);
    }
    return ACQUISITION_GOES_ON;
}

static enum acquisition_result take_while_waiting(
    struct acquisition *acquisition, struct answer *answer, nanoseconds now)
{
    if (answer->kind == ANSWER_EVENT) {
        return take_event(acquisition, answer, now);
    }
    wait_report_take(&acquisition->wait_report, answer, now);
    return ACQUISITION_GOES_ON;
}

static enum acquisition_result take_lines(struct acquisition *acquisition, nanoseconds now)
{
    static struct answer answer; /* large */
    enum acquisition_result result = ACQUISITION_GOES_ON;
    char *line;
    while (result == ACQUISITION_GOES_ON && acquisition->state != ACQUISITION_APART) {
        enum connection_line found = connection_next(acquisition->connection, &line);
        if (found == CONNECTION_MORE) {
            break;
        }
        if (found == CONNECTION_GARBAGE) {
            result = is_malformed(acquisition, now);
            continue;
        }
        answer_parse(&answer, line);
        result = (acquisition->state == ACQUISITION_ASKED ? take_first_answer : take_while_waiting)(
            acquisition, &answer, now);
    }
    return result;
}

/* ---- time ---- */

/* With -n there is no wait that could end: a late answer is an outage. */
static nanoseconds pending_end(const struct acquisition *acquisition)
{
    return acquisition->options->wait == 0 ? NEVER : patience_end(acquisition);
}

nanoseconds acquisition_deadline(const struct acquisition *acquisition)
{
    switch (acquisition->state) {
    case ACQUISITION_APART:
        return earlier(acquisition->retry_at, patience_end(acquisition));
    case ACQUISITION_ASKED:
        return earlier(acquisition->down_at, patience_end(acquisition));
    case ACQUISITION_PENDING:
        return earlier(acquisition->down_at, pending_end(acquisition));
    case ACQUISITION_QUEUED:
        break;
    }
    return earlier(acquisition->wait_until, wait_report_deadline(&acquisition->wait_report));
}

static void report(struct acquisition *acquisition, nanoseconds now)
{
    struct request_line line;
    if (!wait_report_step(&acquisition->wait_report, acquisition->lease, now)) {
        return;
    }
    request_status(&line, acquisition->lease);
    connection_send(acquisition->connection, line.text, line.length);
}

static enum acquisition_result is_undecided(struct acquisition *acquisition, nanoseconds now)
{
    char reason[512] = "no answer from the database of ";
    append_wanted(reason, 256, acquisition->options);
    outage_set(&acquisition->outage, true, reason);
    return now >= pending_end(acquisition) ? time_out(acquisition) : is_down(acquisition, now);
}

static enum acquisition_result take_time(struct acquisition *acquisition, nanoseconds now)
{
    if (now < acquisition_deadline(acquisition)) {
        return ACQUISITION_GOES_ON;
    }
    if (acquisition->state == ACQUISITION_QUEUED) {
        if (now >= acquisition->wait_until) {
            return time_out(acquisition);
        }
        report(acquisition, now);
        return ACQUISITION_GOES_ON;
    }
    if (acquisition->state == ACQUISITION_PENDING) {
        return is_undecided(acquisition, now);
    }
    if (acquisition->state == ACQUISITION_ASKED) {
        outage_set(&acquisition->outage, false, "berthd does not answer");
        return is_down(acquisition, now);
    }
    bool was_tried = acquisition->outage.since != NEVER;
    if (was_tried && now >= earlier(acquisition->down_at, patience_end(acquisition))) {
        return is_down(acquisition, now);
    }
    return ask(acquisition, now);
}

enum acquisition_result acquisition_step(
    struct acquisition *acquisition, bool readable, nanoseconds now)
{
    if (readable) {
        bool is_open = connection_read(acquisition->connection);
        enum acquisition_result result = take_lines(acquisition, now);
        if (result != ACQUISITION_GOES_ON || acquisition->state == ACQUISITION_APART) {
            return result;
        }
        if (!is_open) {
            return is_lost(acquisition, now);
        }
    }
    return take_time(acquisition, now);
}
