#include "berth/acquisition.h"

#include "berth/explain.h"
#include "client/exit_status.h"
#include "client/message.h"
#include "client/random.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A connection that lasted so long was a good one: the next pause is short again. */
#define GOOD_CONNECTION NANOSECONDS_PER_SECOND
/* A short -w is not taken for an outage: berthd has at least so long to say that it is busy. */
#define SHORTEST_PATIENCE NANOSECONDS_PER_SECOND
/* Who gets it sooner than this need not read that it waited, or that berthd was away. */
#define SAY_AFTER NANOSECONDS_PER_SECOND
/* A database that is away is away for many, on many hosts. */
#define LONGEST_PAUSE_OF_DATABASE (5 * NANOSECONDS_PER_SECOND)

void asking_init(struct asking *asking, const struct options *options,
    const struct endpoint *endpoint, struct connection *connection, pid_t pid, nanoseconds now)
{
    *asking = (struct asking){
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
        .state = ASKING_APART,
        .started_at = now,
        .wait_until = options->wait == NEVER ? NEVER : now + options->wait,
        .down_at = now + options->down_after,
        .retry_at = now,
        .outage = OUTAGE_NONE,
        .waiting.say_at = NEVER,
    };
}

/* Until when -w allows to go on. */
static nanoseconds patience_end(const struct asking *asking)
{
    /* -n is about the resource: a berthd that is just started anew has not said yet that it is busy. */
    nanoseconds shortest =
        asking->options->wait == 0 ? asking->options->down_after : SHORTEST_PATIENCE;
    return asking->was_queued ? asking->wait_until
                              : later(asking->wait_until, asking->started_at + shortest);
}

static enum asking_result refuse(struct asking *asking, int status)
{
    const struct options *options = asking->options;
    connection_close(asking->connection);
    asking->status = status == STATUS_NOT_ACQUIRED && options->conflict_status >= 0
        ? options->conflict_status
        : status;
    return ASKING_REFUSED;
}

static void cancel(struct asking *asking)
{
    struct request_line line;
    if (asking->state != ASKING_APART) {
        request_cancel(&line, &asking->wish);
        /* If that fails, berthd has closed. */
        connection_send(asking->connection, line.text, line.length);
    }
}

void asking_give_up(struct asking *asking)
{
    bool would_outlive_us = asking->options->pid != 0 || asking->options->ttl != NEVER;
    if (would_outlive_us) {
        cancel(asking);
    }
}

static enum asking_result time_out(struct asking *asking)
{
    const char *why = asking->outage.why;
    char names[256] = "";
    append_wanted(names, sizeof names, asking->options);
    if (!asking->options->quiet) {
        message("timed out waiting for %s%s%s%s", names, why[0] ? " (" : "", why,
            why[0] ? ")" : "");
    }
    asking_give_up(asking);
    return refuse(asking, STATUS_NOT_ACQUIRED);
}

/* ---- when berthd, or its database, is not there ---- */

static void try_again_later(struct asking *asking, nanoseconds now)
{
    nanoseconds longest =
        asking->outage.is_of_database ? LONGEST_PAUSE_OF_DATABASE : OUTAGE_LONGEST_PAUSE;
    nanoseconds at =
        now + backoff_next(&asking->backoff, OUTAGE_FIRST_PAUSE, longest, random_bits());
    connection_close(asking->connection);
    asking->state = ASKING_APART;
    asking->waiting.say_at = NEVER;
    asking->retry_at = earlier(at, later(asking->down_at, now));
}

/* asking->outage says why. */
static enum asking_result is_down(struct asking *asking, nanoseconds now)
{
    bool is_patient = asking->was_queued || asking->options->if_down == IF_DOWN_WAIT;
    outage_goes_on(&asking->outage, asking->was_queued ? now : asking->started_at);
    if (is_patient && now < patience_end(asking)) {
        if (!asking->options->quiet) {
            outage_say(&asking->outage, asking->was_queued, now);
        }
        asking->down_at = NEVER;
        try_again_later(asking, now);
        return ASKING_GOES_ON;
    }
    if (asking->was_queued || (is_patient && asking->outage.is_of_database)) {
        return time_out(asking);
    }
    if (asking->options->if_down == IF_DOWN_RUN) {
        cancel(asking); /* the job would have it, unknowing, if it is granted in this very moment */
        connection_close(asking->connection);
        message("%s; running without a lease", asking->outage.why);
        return ASKING_UNLEASED;
    }
    message("%s", asking->outage.why);
    asking_give_up(asking);
    return refuse(asking, STATUS_DOWN);
}

/* It was there a moment ago, or has no time at the moment: another try may help, until it counts
 * as down. */
static enum asking_result is_absent(struct asking *asking, nanoseconds now)
{
    if (asking->was_queued || now >= earlier(asking->down_at, patience_end(asking))) {
        return is_down(asking, now);
    }
    outage_goes_on(&asking->outage, asking->was_queued ? now : asking->started_at);
    try_again_later(asking, now);
    return ASKING_GOES_ON;
}

static enum asking_result is_lost(struct asking *asking, nanoseconds now)
{
    if (now - asking->opened_at >= GOOD_CONNECTION) {
        backoff_reset(&asking->backoff);
    }
    outage_set(&asking->outage, false, "berthd closed the connection");
    return is_absent(asking, now);
}

/* ---- asking ---- */

static nanoseconds patience_left(const struct asking *asking, nanoseconds now)
{
    if (asking->wait_until == NEVER) {
        return NEVER;
    }
    return asking->wait_until > now ? asking->wait_until - now : 0;
}

/* Who has a place in the queue asks for that. For a lease bound to time there is no reclaim, but
 * the repeated acquire, known by its `once`, does as well. */
static bool request_fill(struct asking *asking, struct request_line *line, nanoseconds now)
{
    nanoseconds left = patience_left(asking, now);
    if (!asking->waiting.lease[0] || asking->options->ttl != NEVER) {
        return request_acquire(line, &asking->wish, left);
    }
    request_reclaim_waiting(line, &asking->wish, asking->waiting.lease, left);
    return true;
}

static enum asking_result send_request(struct asking *asking, nanoseconds now)
{
    struct request_line line;
    if (!request_fill(asking, &line, now)) {
        message("too many or too long names for one request");
        return refuse(asking, STATUS_USAGE);
    }
    asking->state = ASKING_ASKED;
    asking->outage.why[0] = '\0';
    if (asking->down_at == NEVER) {
        asking->down_at = now + asking->options->down_after;
    }
    /* If that fails, berthd has closed, but may have said why before: reading will tell. */
    connection_send(asking->connection, line.text, line.length);
    return ASKING_GOES_ON;
}

static enum asking_result ask(struct asking *asking, nanoseconds now)
{
    int error = connection_open(asking->connection, asking->endpoint);
    if (error != 0) {
        /* EAGAIN: its queue of connections is full. */
        bool is_about = error == EAGAIN || asking->opened_at != 0;
        if (error == EAGAIN) {
            backoff_reset(&asking->backoff); /* a crowd: who pauses for long is never let in */
        }
        char reason[512];
        connection_explain(asking->endpoint, error, reason, sizeof reason);
        outage_set(&asking->outage, false, reason);
        return is_about ? is_absent(asking, now) : is_down(asking, now);
    }
    asking->opened_at = now;
    return send_request(asking, now);
}

/* ---- what berthd says ---- */

static enum asking_result is_nonsense(struct asking *asking, nanoseconds now)
{
    static const char reason[] = "the server there does not speak Berth's protocol";
    if (asking->state == ASKING_ASKED && !asking->was_queued) {
        outage_set(&asking->outage, false, reason);
        return is_down(asking, now);
    }
    message("%s", reason);
    return refuse(asking, STATUS_DOWN);
}

static enum asking_result is_denied(struct asking *asking, struct answer *answer, nanoseconds now)
{
    int status = answer->code == CODE_NONE ? STATUS_DOWN : code_table[answer->code].exit_status;
    char reason[1280] = "";
    if (answer->kind == ANSWER_EVENT) {
        append_why_of_wanted(reason, sizeof reason, answer, asking->options);
    } else {
        append(reason, sizeof reason, "%s", why(answer));
    }

    if (answer->code == CODE_TIMEOUT) {
        return time_out(asking); /* its clock was first */
    }
    if (status == STATUS_DOWN && answer->code != CODE_NONE) {
        outage_set(&asking->outage, answer->code == CODE_DOWN, reason);
        return is_down(asking, now);
    }
    if (status != STATUS_NOT_ACQUIRED || !asking->options->quiet) {
        message("%s", reason);
    }
    return refuse(asking, status);
}

static enum asking_result is_granted(
    struct asking *asking, const struct answer *answer, nanoseconds now)
{
    if (!grant_parse(&asking->grant, answer, asking->options)) {
        return is_nonsense(asking, now);
    }
    wish_take_proof(&asking->wish, answer);
    return ASKING_GRANTED;
}

/* False: it names none. */
static bool take_lease(struct asking *asking, const struct answer *answer, enum asking_state state)
{
    if (!answer->lease[0]) {
        return false;
    }
    asking->state = state;
    wish_take_proof(&asking->wish, answer);
    memset(&asking->waiting, 0, sizeof asking->waiting);
    memcpy(asking->waiting.lease, answer->lease, strlen(answer->lease) + 1);
    asking->waiting.say_at = NEVER;
    return true;
}

/* Who has once been accepted stays until there is an answer, however long that takes. */
static enum asking_result is_pending(
    struct asking *asking, const struct answer *answer, nanoseconds now)
{
    if (!take_lease(asking, answer, ASKING_PENDING)) {
        return is_nonsense(asking, now);
    }
    asking->is_fleet = true;
    if (asking->was_queued) {
        asking->down_at = NEVER;
    }
    return ASKING_GOES_ON;
}

/* Once is enough: after a connection was lost, the line would say the same. But who was told of that
 * must hear that it is over. */
static nanoseconds say_where_at(const struct asking *asking, nanoseconds now)
{
    if (asking->options->quiet) {
        return NEVER;
    }
    return asking->outage.was_said ? now : asking->was_queued ? NEVER : now + SAY_AFTER;
}

static enum asking_result is_queued(
    struct asking *asking, const struct answer *answer, nanoseconds now)
{
    if (!take_lease(asking, answer, ASKING_QUEUED)) {
        return is_nonsense(asking, now);
    }
    asking->waiting.say_at = say_where_at(asking, now);
    asking->outage = OUTAGE_NONE;
    asking->was_queued = true;
    if (asking->options->verbose) {
        const char *position = words_find(answer->words, answer->n_words, "position");
        message("queued, place %s", position ? position : "unknown");
    }
    return ASKING_GOES_ON;
}

/* What is wanted still is; but from now on it is another request. */
static void forget_lease(struct asking *asking)
{
    asking->waiting.lease[0] = '\0';
    asking->wish.once = random_bits();
}

static enum asking_result ask_anew(struct asking *asking, nanoseconds now)
{
    forget_lease(asking);
    return send_request(asking, now);
}

/* The answer to a reclaim. What may pass, such as an old connection that berthd still takes for
 * alive, ends no wait. */
static enum asking_result is_not_reclaimed(
    struct asking *asking, struct answer *answer, nanoseconds now)
{
    if (answer->code == CODE_LOST) {
        return ask_anew(asking, now);
    }
    bool may_pass = code_table[answer->code].exit_status == STATUS_NOT_ACQUIRED &&
        answer->code != CODE_TIMEOUT && answer->code != CODE_CANCELLED;
    if (may_pass) {
        outage_set(&asking->outage, false, answer->code_word);
        return is_absent(asking, now);
    }
    return is_denied(asking, answer, now);
}

static enum asking_result take_first_answer(
    struct asking *asking, struct answer *answer, nanoseconds now)
{
    switch (answer->kind) {
    case ANSWER_OK:
        return is_granted(asking, answer, now);
    case ANSWER_WAITING:
        return is_queued(asking, answer, now);
    case ANSWER_PENDING:
        return is_pending(asking, answer, now);
    case ANSWER_ERROR:
        return (asking->waiting.lease[0] ? is_not_reclaimed : is_denied)(asking, answer, now);
    case ANSWER_EVENT: /* of no lease of ours */
        return ASKING_GOES_ON;
    case ANSWER_OTHER:
        break;
    }
    return is_nonsense(asking, now);
}

static enum asking_result is_denied_later(
    struct asking *asking, struct answer *answer, nanoseconds now)
{
    if (asking->state == ASKING_QUEUED && now - asking->opened_at >= GOOD_CONNECTION) {
        backoff_reset(&asking->backoff);
    }
    forget_lease(asking);
    return is_denied(asking, answer, now);
}

static enum asking_result take_event(
    struct asking *asking, struct answer *answer, nanoseconds now)
{
    if (strcmp(answer->lease, asking->waiting.lease) != 0) {
        return ASKING_GOES_ON;
    }
    if (answer->event == EVENT_GRANTED) {
        return is_granted(asking, answer, now);
    }
    if (answer->event == EVENT_DENIED) {
        return is_denied_later(asking, answer, now);
    }
    bool has_place = answer->event == EVENT_WAITING && asking->state == ASKING_PENDING;
    return has_place ? is_queued(asking, answer, now) : ASKING_GOES_ON;
}

static enum asking_result take_while_waiting(
    struct asking *asking, struct answer *answer, nanoseconds now)
{
    if (answer->kind == ANSWER_EVENT) {
        return take_event(asking, answer, now);
    }
    if (asking->waiting.was_asked && waiting_take(&asking->waiting, answer)) {
        asking->waiting.was_asked = false;
    }
    return ASKING_GOES_ON;
}

static enum asking_result take_lines(struct asking *asking, nanoseconds now)
{
    static struct answer answer; /* large */
    enum asking_result result = ASKING_GOES_ON;
    char *line;
    while (result == ASKING_GOES_ON && asking->state != ASKING_APART) {
        enum connection_line found = connection_next(asking->connection, &line);
        if (found == CONNECTION_MORE) {
            break;
        }
        if (found == CONNECTION_GARBAGE) {
            result = is_nonsense(asking, now);
            continue;
        }
        answer_parse(&answer, line);
        result = (asking->state == ASKING_ASKED ? take_first_answer : take_while_waiting)(
            asking, &answer, now);
    }
    return result;
}

/* ---- time ---- */

/* With -n there is no wait that could end: an answer that is late is an outage. */
static nanoseconds pending_end(const struct asking *asking)
{
    return asking->options->wait == 0 ? NEVER : patience_end(asking);
}

nanoseconds asking_deadline(const struct asking *asking)
{
    switch (asking->state) {
    case ASKING_APART:
        return earlier(asking->retry_at, patience_end(asking));
    case ASKING_ASKED:
        return earlier(asking->down_at, patience_end(asking));
    case ASKING_PENDING:
        return earlier(asking->down_at, pending_end(asking));
    case ASKING_QUEUED:
        break;
    }
    return earlier(asking->wait_until, asking->waiting.say_at);
}

static void ask_who_holds(struct asking *asking)
{
    struct request_line line;
    request_status(&line, asking->waiting.lease);
    asking->waiting.say_at = NEVER;
    asking->waiting.was_asked = true;
    connection_send(asking->connection, line.text, line.length);
}

static enum asking_result is_undecided(struct asking *asking, nanoseconds now)
{
    char reason[512] = "no answer from the database of ";
    append_wanted(reason, 256, asking->options);
    outage_set(&asking->outage, true, reason);
    return now >= pending_end(asking) ? time_out(asking) : is_down(asking, now);
}

static enum asking_result take_time(struct asking *asking, nanoseconds now)
{
    if (now < asking_deadline(asking)) {
        return ASKING_GOES_ON;
    }
    if (asking->state == ASKING_QUEUED) {
        if (now >= asking->wait_until) {
            return time_out(asking);
        }
        ask_who_holds(asking);
        return ASKING_GOES_ON;
    }
    if (asking->state == ASKING_PENDING) {
        return is_undecided(asking, now);
    }
    if (asking->state == ASKING_ASKED) {
        outage_set(&asking->outage, false, "berthd does not answer");
        return is_down(asking, now);
    }
    bool was_tried = asking->outage.since != NEVER;
    if (was_tried && now >= earlier(asking->down_at, patience_end(asking))) {
        return is_down(asking, now);
    }
    return ask(asking, now);
}

enum asking_result asking_step(struct asking *asking, bool readable, nanoseconds now)
{
    if (readable) {
        bool is_open = connection_read(asking->connection);
        enum asking_result result = take_lines(asking, now);
        if (result != ASKING_GOES_ON || asking->state == ASKING_APART) {
            return result;
        }
        if (!is_open) {
            return is_lost(asking, now);
        }
    }
    return take_time(asking, now);
}
