#include "berth/acquisition.h"

#include "berth/explain.h"
#include "client/exit_status.h"
#include "client/message.h"
#include "client/random.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A short -w does not count as an outage: berthd has at least this long to say that it is busy. */
#define SHORTEST_PATIENCE NANOSECONDS_PER_SECOND
/* After -w has passed, a waiter listens for so long whether berthd has ended the wait. */
#define HEAR_FIRST (100 * NANOSECONDS_PER_MILLISECOND)
/* A stop that the user wants (^Z) waits for berthd at most so long. */
#define STOP_AFTER NANOSECONDS_PER_SECOND
/* A shorter outage, as when berthd restarts or a database changes its server, is not worth a
 * message. */
#define SAY_AFTER NANOSECONDS_PER_SECOND
/* A database that is away is away for many clients, on many hosts. */
#define LONGEST_PAUSE_OF_DATABASE (5 * NANOSECONDS_PER_SECOND)

void acquisition_init(struct acquisition *acquisition, const struct options *options,
    const struct endpoint *endpoint, struct connection *connection, pid_t pid, nanoseconds now)
{
    acquisition->options = options;
    acquisition->endpoint = endpoint;
    acquisition->connection = connection;
    acquisition->params = (struct acquire_params){
        .options = options,
        .parent = getenv("BERTH_LEASE"),
        .pid = pid,
        .wrapper = options->tree ? getpid() : 0,
        .once = random_bits(),
    };
    acquisition->state = ACQUISITION_DISCONNECTED;
    acquisition->started_at = now;
    acquisition->wait_until = options->wait == NEVER ? NEVER : now + options->wait;
    acquisition->down_at = now + options->down_after;
    acquisition->retry_at = now;
    acquisition->outage.since = NEVER;
    acquisition->stops_by = NEVER;
    wait_report_init(&acquisition->wait_report, options, now);
}

/* Until when -w allows berth to go on. */
static nanoseconds patience_end(const struct acquisition *acquisition)
{
    /* -n is about the resource: a berthd that is being restarted has not said yet that it is
     * busy. */
    nanoseconds shortest =
        acquisition->options->wait == 0 ? acquisition->options->down_after : SHORTEST_PATIENCE;
    return acquisition->was_queued
        ? acquisition->wait_until
        : later(acquisition->wait_until, acquisition->started_at + shortest);
}

enum acquisition_result acquisition_refuse(struct acquisition *acquisition, int status)
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
    if (acquisition->state != ACQUISITION_DISCONNECTED) {
        request_cancel(&line, &acquisition->params);
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

void append_timed_out(char *out, size_t size, const struct acquisition *acquisition)
{
    const char *why = acquisition->outage.why;
    append(out, size, "timed out waiting for ");
    append_wanted(out, 256, acquisition->options);
    append(out, size, " (%s)%s%s", code_table[CODE_TIMEOUT].word, why[0] ? ": " : "", why);
}

/* -w is over: says so, unless -q is given. */
static enum acquisition_result time_out(struct acquisition *acquisition)
{
    char timed_out[1024] = "";
    append_timed_out(timed_out, sizeof timed_out, acquisition);
    if (!acquisition->options->quiet) {
        message("%s", timed_out);
    }
    acquisition_give_up(acquisition);
    return acquisition_refuse(acquisition, STATUS_NOT_ACQUIRED);
}

/* ---- stopped by the user ---- */

static bool has_place(const struct acquisition *acquisition)
{
    return acquisition->state == ACQUISITION_PENDING || acquisition->state == ACQUISITION_QUEUED;
}

void acquisition_say_presence(struct acquisition *acquisition, enum command_index command)
{
    struct request_line line;
    if (has_place(acquisition)) {
        request_presence(&line, command, acquisition->lease);
        /* If that fails, berthd has closed: reading will tell. */
        connection_send(acquisition->connection, line.text, line.length);
        acquisition->n_unanswered++;
    }
}

void acquisition_step_aside(struct acquisition *acquisition, nanoseconds now)
{
    if (acquisition->stops_by == NEVER) {
        acquisition->stops_by = now + STOP_AFTER;
        acquisition_say_presence(acquisition, COMMAND_away);
    }
}

bool acquisition_may_stop(const struct acquisition *acquisition, nanoseconds now)
{
    bool is_settled =
        acquisition->state != ACQUISITION_ASKED && acquisition->n_unanswered == 0;
    return acquisition->stops_by != NEVER && (is_settled || now >= acquisition->stops_by);
}

void acquisition_continue(struct acquisition *acquisition, nanoseconds now)
{
    if (acquisition->stops_by == NEVER) {
        return;
    }
    acquisition->stops_by = NEVER;
    if (acquisition->down_at != NEVER) { /* nobody could answer while berth was stopped */
        acquisition->down_at = now + acquisition->options->down_after;
    }
    acquisition_say_presence(acquisition, COMMAND_back);
}

/* ---- when berthd, or its database, is not there ---- */

void outage_set(struct outage *outage, bool is_of_database, const char *why)
{
    outage->is_of_database = is_of_database;
    outage->why[0] = '\0';
    append(outage->why, sizeof outage->why, "%s", why);
}

/* Another try failed. If there was no outage yet, this one began at `since`. */
static void outage_goes_on(struct outage *outage, nanoseconds since)
{
    if (outage->since == NEVER) {
        outage->since = since;
    }
}

/* Unless it has been said, or the outage is too short to matter. `was_queued`: the place in the
 * queue is in danger. */
static void outage_say(struct outage *outage, bool was_queued, nanoseconds now)
{
    static const struct {
        const char *before, *after; /* around the reason */
    } words[2][2] = {
        /* [is_of_database][was_queued] */
        {{"waiting for berthd (", ")"}, {"lost berthd while waiting; trying again (", ")"}},
        {{"", "; trying again"}, {"lost the place in the queue (", "); trying again"}},
    };
    if (outage->was_said || now - outage->since < SAY_AFTER) {
        return;
    }
    outage->was_said = true;
    message("%s%s%s", words[outage->is_of_database][was_queued].before, outage->why,
        words[outage->is_of_database][was_queued].after);
}

static void try_again_later(struct acquisition *acquisition, nanoseconds now)
{
    nanoseconds longest =
        acquisition->outage.is_of_database ? LONGEST_PAUSE_OF_DATABASE : OUTAGE_LONGEST_PAUSE;
    nanoseconds at =
        now + backoff_next(&acquisition->backoff, OUTAGE_FIRST_PAUSE, longest, random_bits());
    connection_close(acquisition->connection);
    acquisition->state = ACQUISITION_DISCONNECTED;
    acquisition->n_unanswered = 0;
    wait_report_interrupted(&acquisition->wait_report);
    acquisition->retry_at = earlier(at, later(acquisition->down_at, now));
}

enum acquisition_result acquisition_is_down(struct acquisition *acquisition, nanoseconds now)
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
        message("%s; %s", acquisition->outage.why,
            acquisition->options->file_lock ? "taking the file's own lock alone"
                                            : "running without a lease");
        return ACQUISITION_UNLEASED;
    }
    message("%s", acquisition->outage.why);
    acquisition_give_up(acquisition);
    return acquisition_refuse(acquisition, STATUS_DOWN);
}

enum acquisition_result acquisition_is_absent(struct acquisition *acquisition, nanoseconds now)
{
    if (acquisition->was_queued ||
        now >= earlier(acquisition->down_at, patience_end(acquisition))) {
        return acquisition_is_down(acquisition, now);
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
    if (acquisition->was_queued && acquisition->options->file_lock) {
        acquisition->was_queued = false; /* the place is not worth waiting for ever for berthd */
        acquisition->down_at = now + acquisition->options->down_after;
    }
    return acquisition_is_absent(acquisition, now);
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
        return request_acquire(line, &acquisition->params, left);
    }
    request_reclaim(line, &acquisition->params, acquisition->lease, left, NULL);
    return true;
}

enum acquisition_result acquisition_ask(struct acquisition *acquisition, nanoseconds now)
{
    struct request_line line;
    if (!request_fill(acquisition, &line, now)) {
        message("the resource names do not fit into one request");
        return acquisition_refuse(acquisition, STATUS_USAGE);
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

static enum acquisition_result connect_and_ask(struct acquisition *acquisition, nanoseconds now)
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
        return is_there ? acquisition_is_absent(acquisition, now)
                        : acquisition_is_down(acquisition, now);
    }
    acquisition->opened_at = now;
    return acquisition_ask(acquisition, now);
}

/* ---- time ---- */

/* With -n there is no wait that could end: a late answer is an outage. */
static nanoseconds pending_end(const struct acquisition *acquisition)
{
    return acquisition->options->wait == 0 ? NEVER : patience_end(acquisition);
}

/* berthd ends the wait at the same time: if its answer comes first, it counts a timeout. */
static nanoseconds queued_end(const struct acquisition *acquisition)
{
    return acquisition->wait_until < NEVER - HEAR_FIRST ? acquisition->wait_until + HEAR_FIRST
                                                        : NEVER;
}

/* berthd answers in order: no other question comes between. */
static nanoseconds report_at(const struct acquisition *acquisition)
{
    return acquisition->n_unanswered > 0 ? NEVER : wait_report_deadline(&acquisition->wait_report);
}

static nanoseconds deadline(const struct acquisition *acquisition)
{
    switch (acquisition->state) {
    case ACQUISITION_DISCONNECTED:
        return earlier(acquisition->retry_at, patience_end(acquisition));
    case ACQUISITION_ASKED:
        return earlier(acquisition->down_at, patience_end(acquisition));
    case ACQUISITION_PENDING:
        return earlier(acquisition->down_at, pending_end(acquisition));
    case ACQUISITION_EXPLAINED:
        return acquisition->refusal.until;
    case ACQUISITION_QUEUED:
        break;
    }
    return earlier(queued_end(acquisition), report_at(acquisition));
}

nanoseconds acquisition_deadline(const struct acquisition *acquisition)
{
    return earlier(deadline(acquisition), acquisition->stops_by);
}

static void report(struct acquisition *acquisition, nanoseconds now)
{
    struct request_line line;
    if (now < report_at(acquisition) || !wait_report_step(&acquisition->wait_report, now)) {
        return;
    }
    request_why(&line, acquisition->lease);
    connection_send(acquisition->connection, line.text, line.length);
}

static enum acquisition_result is_undecided(struct acquisition *acquisition, nanoseconds now)
{
    char reason[512] = "no answer from the database of ";
    append_wanted(reason, 256, acquisition->options);
    outage_set(&acquisition->outage, true, reason);
    return now >= pending_end(acquisition) ? time_out(acquisition)
                                           : acquisition_is_down(acquisition, now);
}

static enum acquisition_result take_time(struct acquisition *acquisition, nanoseconds now)
{
    if (now < deadline(acquisition)) {
        return ACQUISITION_GOES_ON;
    }
    if (acquisition->state == ACQUISITION_QUEUED) {
        if (now >= queued_end(acquisition)) {
            return time_out(acquisition);
        }
        report(acquisition, now);
        return ACQUISITION_GOES_ON;
    }
    if (acquisition->state == ACQUISITION_EXPLAINED) {
        return acquisition_end_explaining(acquisition);
    }
    if (acquisition->state == ACQUISITION_PENDING) {
        return is_undecided(acquisition, now);
    }
    if (acquisition->state == ACQUISITION_ASKED) {
        outage_set(&acquisition->outage, false, "berthd does not answer");
        return acquisition_is_down(acquisition, now);
    }
    bool was_tried = acquisition->outage.since != NEVER;
    if (was_tried && now >= earlier(acquisition->down_at, patience_end(acquisition))) {
        return acquisition_is_down(acquisition, now);
    }
    return connect_and_ask(acquisition, now);
}

enum acquisition_result acquisition_step(
    struct acquisition *acquisition, bool readable, nanoseconds now)
{
    if (readable) {
        bool is_open = connection_read(acquisition->connection);
        enum acquisition_result result = acquisition_take_lines(acquisition, now);
        if (result != ACQUISITION_GOES_ON || acquisition->state == ACQUISITION_DISCONNECTED) {
            return result;
        }
        if (!is_open) {
            return acquisition->state == ACQUISITION_EXPLAINED
                ? acquisition_end_explaining(acquisition)
                : is_lost(acquisition, now);
        }
    }
    return take_time(acquisition, now);
}
