#include "berth/held_lease.h"

#include "berth/explain.h"
#include "client/exit_status.h"
#include "client/message.h"
#include "client/random.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

/* At a deadline berthd, which knows more about it, speaks first. A fleet lease's units may go to
 * another host whatever we do: there, a hung berthd may cost only a little of the margin before the
 * deadline (at least a second). */
#define HEAR_FIRST (100 * NANOSECONDS_PER_MILLISECOND)
#define HEAR_FIRST_OF_FLEET (20 * NANOSECONDS_PER_MILLISECOND)

void held_lease_init_nothing(struct held_lease *held_lease)
{
    *held_lease = (struct held_lease){.state = HELD_LEASE_NOTHING};
    stopping_init(&held_lease->stopping, ON_LOST_NOT_SAID, NEVER);
}

void held_lease_init(struct held_lease *held_lease, const struct acquisition *acquisition)
{
    *held_lease = (struct held_lease){
        .state = HELD_LEASE_CONNECTED,
        .options = acquisition->options,
        .endpoint = acquisition->endpoint,
        .connection = acquisition->connection,
        .grant = &acquisition->grant,
        .params = acquisition->params,
        .is_fleet = acquisition->is_fleet,
    };
    stopping_init(&held_lease->stopping, acquisition->grant.on_lost, acquisition->grant.kill_after);
}

/* ---- what becomes of the job ---- */

static void stop_job(struct held_lease *held_lease, const char *reason)
{
    struct stopping *stopping = &held_lease->stopping;
    bool is_new = stopping->state == STOPPING_NOT;
    stopping_begin(stopping);
    if (is_new) {
        message(stopping->state == STOPPING_NOT ? "%s; the job runs on" : "stopping the job: %s",
            reason);
    }
}

static void lease_is_gone(struct held_lease *held_lease)
{
    held_lease->state = HELD_LEASE_NOTHING;
    connection_close(held_lease->connection);
    stopping_drop_deadline(&held_lease->stopping);
}

/* Another job may have the units by now. */
static void lease_is_lost(struct held_lease *held_lease, const char *reason)
{
    char line[1100];
    lease_is_gone(held_lease);
    snprintf(line, sizeof line, "lost the lease: %s", reason);
    stop_job(held_lease, line);
}

static bool is_connected(const struct held_lease *held_lease)
{
    return held_lease->state == HELD_LEASE_CONNECTED || held_lease->state == HELD_LEASE_RECLAIMING;
}

/* ---- having it back ---- */

static const char not_known[] = "berthd has no record of it";

static void held_lease_say(const struct held_lease *held_lease, const char *what)
{
    if (held_lease->options->verbose) {
        message("%s", what);
    }
}

static void try_again_later(struct held_lease *held_lease, nanoseconds now)
{
    connection_close(held_lease->connection);
    held_lease->state = HELD_LEASE_DISCONNECTED;
    held_lease->retry_at = now +
        backoff_next(&held_lease->backoff, OUTAGE_FIRST_PAUSE, OUTAGE_LONGEST_PAUSE, random_bits());
}

static void reclaim(struct held_lease *held_lease, nanoseconds now)
{
    struct request_line line;
    int error = connection_open(held_lease->connection, held_lease->endpoint);
    if (error != 0) {
        if (error == EAGAIN) {
            backoff_reset(&held_lease->backoff); /* a crowd: whoever pauses long never gets in */
        }
        try_again_later(held_lease, now);
        return;
    }
    held_lease->state = HELD_LEASE_RECLAIMING;
    request_reclaim(
        &line, &held_lease->params, held_lease->grant->lease, NEVER, held_lease->grant);
    /* If that fails, reading will tell. */
    connection_send(held_lease->connection, line.text, line.length);
}

static void is_reclaimed(struct held_lease *held_lease, const struct answer *answer)
{
    static struct grant again; /* large */
    if (strcmp(answer->lease, held_lease->grant->lease) != 0 ||
        !grant_parse(&again, answer, held_lease->options) ||
        !grant_has_units_of(&again, held_lease->grant)) {
        lease_is_lost(held_lease, "berthd returned different units");
        return;
    }
    held_lease->state = HELD_LEASE_CONNECTED;
    acquire_params_take_proof(&held_lease->params, answer);
    backoff_reset(&held_lease->backoff);
    held_lease_say(held_lease, "reconnected to berthd; the lease is kept");
}

static void is_not_reclaimed(struct held_lease *held_lease, struct answer *answer, nanoseconds now)
{
    int status = code_table[answer->code].exit_status;
    if (status == STATUS_LOST || status == STATUS_FORBIDDEN || status == STATUS_UNKNOWN) {
        lease_is_lost(held_lease, why(answer));
    } else {
        try_again_later(held_lease, now);
    }
}

static void take_answer(struct held_lease *held_lease, struct answer *answer, nanoseconds now)
{
    switch (answer->kind) {
    case ANSWER_OK:
        is_reclaimed(held_lease, answer);
        break;
    case ANSWER_ERROR:
        is_not_reclaimed(held_lease, answer, now);
        break;
    case ANSWER_WAITING:
        lease_is_lost(held_lease, not_known);
        break;
    case ANSWER_PENDING: /* an event will tell */
        break;
    case ANSWER_EVENT:
    case ANSWER_OTHER:
        try_again_later(held_lease, now);
        break;
    }
}

/* ---- events ---- */

static void take_deadline(struct held_lease *held_lease, const struct answer *answer)
{
    uint64_t good_until, stop_at;
    if (answer->n_words < 4 || !number_parse(answer->words[3], INT64_MAX / 2, &good_until)) {
        return;
    }
    if (!words_find_number(answer->words, answer->n_words, "stop", &stop_at) ||
        stop_at > good_until) {
        stop_at = good_until;
    }
    nanoseconds offset = clock_namespace_offset();
    stopping_set_deadline(
        &held_lease->stopping, (nanoseconds)good_until + offset, (nanoseconds)stop_at + offset);
}

/* Freed on purpose while the job runs: by a user who wants that, or under `on-lost = warn`. */
static bool is_meant(enum code code)
{
    return code == CODE_RELEASED || code == CODE_DROPPED || code == CODE_REVOKED ||
        code == CODE_MAX_HOLD;
}

static void take_lost(struct held_lease *held_lease, struct answer *answer)
{
    if (!is_meant(answer->code)) {
        lease_is_lost(held_lease, why(answer));
        return;
    }
    lease_is_gone(held_lease);
    if (!held_lease->options->quiet && held_lease->stopping.state == STOPPING_NOT) {
        message("lost the lease: %s; the job runs on", why(answer));
    }
}

/* What follows `pending`, the answer to a reclaim, and no other request. */
static void take_outcome(struct held_lease *held_lease, struct answer *answer, nanoseconds now)
{
    if (held_lease->state != HELD_LEASE_RECLAIMING) {
        return;
    }
    if (answer->event == EVENT_GRANTED) {
        is_reclaimed(held_lease, answer);
    } else if (answer->event == EVENT_DENIED) {
        is_not_reclaimed(held_lease, answer, now);
    } else {
        lease_is_lost(held_lease, not_known);
    }
}

static void take_event(struct held_lease *held_lease, struct answer *answer, nanoseconds now)
{
    switch (answer->event) {
    case EVENT_GRANTED:
    case EVENT_DENIED:
    case EVENT_WAITING:
        take_outcome(held_lease, answer, now);
        break;
    case EVENT_LOST:
        take_lost(held_lease, answer);
        break;
    case EVENT_REVOKED:
    case EVENT_EXPIRED:
        stop_job(held_lease, why(answer));
        break;
    case EVENT_DEADLINE:
        take_deadline(held_lease, answer);
        break;
    default:
        break;
    }
}

static void held_lease_take_line(
    struct held_lease *held_lease, struct answer *answer, nanoseconds now)
{
    if (answer->kind != ANSWER_EVENT) {
        if (held_lease->state == HELD_LEASE_RECLAIMING) {
            take_answer(held_lease, answer, now);
        }
    } else if (strcmp(answer->lease, held_lease->grant->lease) == 0) {
        take_event(held_lease, answer, now);
    }
}

static void take_lines(struct held_lease *held_lease, nanoseconds now)
{
    static struct answer answer; /* large */
    enum connection_line found;
    char *line;
    while (is_connected(held_lease) &&
        (found = connection_next(held_lease->connection, &line)) != CONNECTION_MORE) {
        if (found == CONNECTION_LINE) {
            answer_parse(&answer, line);
            held_lease_take_line(held_lease, &answer, now);
        }
    }
}

/* ---- for the loop ---- */

static void read_lines(struct held_lease *held_lease, bool readable, nanoseconds now)
{
    bool is_open = !readable || connection_read(held_lease->connection);
    take_lines(held_lease, now);
    if (!is_open && is_connected(held_lease)) {
        if (held_lease->state == HELD_LEASE_CONNECTED) {
            held_lease_say(
                held_lease, "lost the connection to berthd; reconnecting while the job runs on");
        }
        try_again_later(held_lease, now);
    }
}

static nanoseconds hear_first(const struct held_lease *held_lease)
{
    if (!is_connected(held_lease)) {
        return 0;
    }
    return held_lease->is_fleet ? HEAR_FIRST_OF_FLEET : HEAR_FIRST;
}

static void stop_in_time(struct held_lease *held_lease)
{
    char reason[512] = "";
    append(reason, sizeof reason,
        held_lease->is_fleet ? "berthd has not renewed its lease on " : "its lease has run out: ");
    append_wanted(reason, 384, held_lease->options);
    append(reason, sizeof reason, held_lease->is_fleet ? " in time (deadline)" : " (deadline)");
    stop_job(held_lease, reason);
}

void held_lease_step(struct held_lease *held_lease, bool readable, nanoseconds now)
{
    if (is_connected(held_lease)) {
        read_lines(held_lease, readable, now);
    }
    if (held_lease->state == HELD_LEASE_DISCONNECTED && now >= held_lease->retry_at) {
        reclaim(held_lease, now);
    }
    if (stopping_is_due(&held_lease->stopping, now - hear_first(held_lease))) {
        stop_in_time(held_lease);
    }
}

nanoseconds held_lease_deadline(const struct held_lease *held_lease)
{
    nanoseconds at = stopping_deadline(&held_lease->stopping);
    if (held_lease->stopping.state == STOPPING_NOT && at < NEVER - HEAR_FIRST) {
        at += hear_first(held_lease);
    }
    bool is_apart = held_lease->state == HELD_LEASE_DISCONNECTED;
    return is_apart && held_lease->retry_at < at ? held_lease->retry_at : at;
}

void held_lease_main_is_gone(struct held_lease *held_lease)
{
    if (held_lease->params.wrapper != 0) {
        held_lease->params.pid = held_lease->params.wrapper;
        held_lease->params.wrapper = 0;
    }
}

void held_lease_release(struct held_lease *held_lease, const struct job_end *end)
{
    struct request_line line;
    if (held_lease->state == HELD_LEASE_NOTHING) {
        return;
    }
    if (held_lease->state == HELD_LEASE_DISCONNECTED &&
        connection_open(held_lease->connection, held_lease->endpoint) == 0) {
        held_lease->state = HELD_LEASE_CONNECTED;
    }
    request_release_lease(&line, held_lease->grant->lease, end);
    if (is_connected(held_lease)) {
        /* Even if it cannot be sent, berthd sees that the job is gone. */
        connection_send(held_lease->connection, line.text, line.length);
    }
    /* The next job waits for berthd's turn. If berthd was woken on our CPU, our exit, which takes
     * longer than that turn, would come first. */
    sched_yield();
    connection_close(held_lease->connection);
}
