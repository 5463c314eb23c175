#include "berth/held_lease.h"

#include "berth/explain.h"
#include "client/exit_status.h"
#include "client/message.h"
#include "client/random.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

/* At a deadline berthd, which knows more about it, has the first word. The units of a fleet's lease
 * may go to another host whatever we do: a hung berthd may cost no more than a little of the margin
 * that the deadline leaves (a second at least). */
#define HEAR_FIRST (100 * NANOSECONDS_PER_MILLISECOND)
#define HEAR_FIRST_OF_FLEET (20 * NANOSECONDS_PER_MILLISECOND)

void holding_init_nothing(struct holding *holding)
{
    *holding = (struct holding){.state = HOLDING_NOTHING};
    stopping_init(&holding->stopping, ON_LOST_NOT_SAID, NEVER);
}

void holding_init(struct holding *holding, const struct asking *asking)
{
    *holding = (struct holding){
        .state = HOLDING_CONNECTED,
        .options = asking->options,
        .endpoint = asking->endpoint,
        .connection = asking->connection,
        .grant = &asking->grant,
        .wish = asking->wish,
        .is_fleet = asking->is_fleet,
    };
    stopping_init(&holding->stopping, asking->grant.on_lost, asking->grant.kill_after);
}

/* ---- what becomes of the job ---- */

static void stop_job(struct holding *holding, const char *reason)
{
    struct stopping *stopping = &holding->stopping;
    bool is_new = stopping->state == STOPPING_NOT;
    stopping_begin(stopping);
    if (is_new) {
        message(stopping->state == STOPPING_NOT ? "%s; the job runs on" : "stopping the job: %s",
            reason);
    }
}

static void lease_is_gone(struct holding *holding)
{
    holding->state = HOLDING_NOTHING;
    connection_close(holding->connection);
    stopping_drop_deadline(&holding->stopping);
}

/* It may have been given to somebody else. */
static void lease_is_lost(struct holding *holding, const char *reason)
{
    char line[1100];
    lease_is_gone(holding);
    snprintf(line, sizeof line, "lost the lease: %s", reason);
    stop_job(holding, line);
}

static bool is_connected(const struct holding *holding)
{
    return holding->state == HOLDING_CONNECTED || holding->state == HOLDING_RECLAIMING;
}

static void send_line(struct holding *holding, const struct request_line *line)
{
    if (is_connected(holding)) {
        /* If that fails, reading will tell. */
        connection_send(holding->connection, line->text, line->length);
    }
}

/* ---- having it back ---- */

static const char not_known[] = "berthd no longer knows it";

static void say(const struct holding *holding, const char *what)
{
    if (holding->options->verbose) {
        message("%s", what);
    }
}

static void try_again_later(struct holding *holding, nanoseconds now)
{
    connection_close(holding->connection);
    holding->state = HOLDING_APART;
    holding->retry_at = now +
        backoff_next(&holding->backoff, OUTAGE_FIRST_PAUSE, OUTAGE_LONGEST_PAUSE, random_bits());
}

static void reclaim(struct holding *holding, nanoseconds now)
{
    struct request_line line;
    int error = connection_open(holding->connection, holding->endpoint);
    if (error != 0) {
        if (error == EAGAIN) {
            backoff_reset(&holding->backoff); /* a crowd: who pauses for long is never let in */
        }
        try_again_later(holding, now);
        return;
    }
    holding->state = HOLDING_RECLAIMING;
    request_reclaim_held(&line, &holding->wish, holding->grant);
    /* If that fails, reading will tell. */
    connection_send(holding->connection, line.text, line.length);
}

static void is_reclaimed(struct holding *holding, const struct answer *answer)
{
    static struct grant again; /* large */
    if (strcmp(answer->lease, holding->grant->lease) != 0 ||
        !grant_parse(&again, answer, holding->options) ||
        !grant_has_units_of(&again, holding->grant)) {
        lease_is_lost(holding, "berthd has given other units");
        return;
    }
    holding->state = HOLDING_CONNECTED;
    wish_take_proof(&holding->wish, answer);
    backoff_reset(&holding->backoff);
    say(holding, "berthd is back; the lease is kept");
}

static void is_not_reclaimed(struct holding *holding, struct answer *answer, nanoseconds now)
{
    int status = code_table[answer->code].exit_status;
    if (status == STATUS_LOST || status == STATUS_FORBIDDEN || status == STATUS_UNKNOWN) {
        lease_is_lost(holding, why(answer));
    } else {
        try_again_later(holding, now);
    }
}

static void take_answer(struct holding *holding, struct answer *answer, nanoseconds now)
{
    switch (answer->kind) {
    case ANSWER_OK:
        is_reclaimed(holding, answer);
        break;
    case ANSWER_ERROR:
        is_not_reclaimed(holding, answer, now);
        break;
    case ANSWER_WAITING:
        lease_is_lost(holding, not_known);
        break;
    case ANSWER_PENDING: /* an event will tell */
        break;
    case ANSWER_EVENT:
    case ANSWER_OTHER:
        try_again_later(holding, now);
        break;
    }
}

/* ---- events ---- */

static void take_deadline(struct holding *holding, struct answer *answer, nanoseconds now)
{
    (void)now;
    uint64_t good_until, stop_at;
    const char *stop = words_find(answer->words, answer->n_words, "stop");
    if (answer->n_words < 4 || !number_parse(answer->words[3], INT64_MAX, &good_until)) {
        return;
    }
    if (!stop || !number_parse(stop, INT64_MAX, &stop_at)) {
        stop_at = good_until;
    }
    stopping_set_deadline(&holding->stopping, (nanoseconds)good_until, (nanoseconds)stop_at);
}

static void take_stop(struct holding *holding, struct answer *answer, nanoseconds now)
{
    (void)now;
    stop_job(holding, why(answer));
}

/* Freed on purpose while the job runs: by somebody who wants it so, or under `on-lost = warn`. */
static bool is_meant(enum code code)
{
    return code == CODE_RELEASED || code == CODE_DROPPED || code == CODE_REVOKED ||
        code == CODE_MAX_HOLD;
}

static void take_lost(struct holding *holding, struct answer *answer, nanoseconds now)
{
    (void)now;
    if (!is_meant(answer->code)) {
        lease_is_lost(holding, why(answer));
        return;
    }
    lease_is_gone(holding);
    if (!holding->options->quiet && holding->stopping.state == STOPPING_NOT) {
        message("lost the lease: %s; the job runs on", why(answer));
    }
}

/* What became of a reclaim whose answer was `pending`: of nothing else. */

static void take_granted(struct holding *holding, struct answer *answer, nanoseconds now)
{
    (void)now;
    if (holding->state == HOLDING_RECLAIMING) {
        is_reclaimed(holding, answer);
    }
}

static void take_denied(struct holding *holding, struct answer *answer, nanoseconds now)
{
    if (holding->state == HOLDING_RECLAIMING) {
        is_not_reclaimed(holding, answer, now);
    }
}

static void take_waiting(struct holding *holding, struct answer *answer, nanoseconds now)
{
    (void)answer, (void)now;
    if (holding->state == HOLDING_RECLAIMING) {
        lease_is_lost(holding, not_known);
    }
}

static void (*const event_table[N_EVENTS])(struct holding *, struct answer *, nanoseconds now) = {
    [EVENT_GRANTED] = take_granted,
    [EVENT_DENIED] = take_denied,
    [EVENT_WAITING] = take_waiting,
    [EVENT_LOST] = take_lost,
    [EVENT_REVOKED] = take_stop,
    [EVENT_EXPIRED] = take_stop,
    [EVENT_DEADLINE] = take_deadline,
};

static void take_line(struct holding *holding, struct answer *answer, nanoseconds now)
{
    if (answer->kind != ANSWER_EVENT) {
        if (holding->state == HOLDING_RECLAIMING) {
            take_answer(holding, answer, now);
        }
    } else if (event_table[answer->event] && strcmp(answer->lease, holding->grant->lease) == 0) {
        event_table[answer->event](holding, answer, now);
    }
}

static void take_lines(struct holding *holding, nanoseconds now)
{
    static struct answer answer; /* large */
    enum connection_line found;
    char *line;
    while (is_connected(holding) &&
        (found = connection_next(holding->connection, &line)) != CONNECTION_MORE) {
        if (found == CONNECTION_LINE) {
            answer_parse(&answer, line);
            take_line(holding, &answer, now);
        }
    }
}

/* ---- the loop's side ---- */

static void read_lines(struct holding *holding, bool readable, nanoseconds now)
{
    bool is_open = !readable || connection_read(holding->connection);
    take_lines(holding, now);
    if (!is_open && is_connected(holding)) {
        if (holding->state == HOLDING_CONNECTED) {
            say(holding, "lost berthd; trying again while the job runs on");
        }
        try_again_later(holding, now);
    }
}

static nanoseconds hear_first(const struct holding *holding)
{
    if (!is_connected(holding)) {
        return 0;
    }
    return holding->is_fleet ? HEAR_FIRST_OF_FLEET : HEAR_FIRST;
}

void holding_step(struct holding *holding, bool readable, nanoseconds now)
{
    if (is_connected(holding)) {
        read_lines(holding, readable, now);
    }
    if (holding->state == HOLDING_APART && now >= holding->retry_at) {
        reclaim(holding, now);
    }
    if (stopping_is_due(&holding->stopping, now - hear_first(holding))) {
        stop_job(holding, holding->is_fleet ? "the lease could not be kept alive (deadline)"
                                            : "the time of its lease is over (deadline)");
    }
}

nanoseconds holding_deadline(const struct holding *holding)
{
    nanoseconds at = stopping_deadline(&holding->stopping);
    if (holding->stopping.state == STOPPING_NOT && at < NEVER - HEAR_FIRST) {
        at += hear_first(holding);
    }
    bool is_apart = holding->state == HOLDING_APART;
    return is_apart && holding->retry_at < at ? holding->retry_at : at;
}

void holding_main_is_gone(struct holding *holding)
{
    if (holding->wish.wrapper != 0) {
        holding->wish.pid = holding->wish.wrapper;
        holding->wish.wrapper = 0;
    }
}

void holding_release(struct holding *holding)
{
    struct request_line line;
    if (holding->state == HOLDING_NOTHING) {
        return;
    }
    if (holding->state == HOLDING_APART &&
        connection_open(holding->connection, holding->endpoint) == 0) {
        holding->state = HOLDING_CONNECTED;
    }
    request_release_lease(&line, holding->grant->lease);
    /* Whether or not it can be sent: berthd sees that the job is gone. */
    send_line(holding, &line);
    /* The next job waits for that. If berthd was woken on our CPU, the end of our process,
     * which takes longer than its turn, would come first. */
    sched_yield();
    connection_close(holding->connection);
}
