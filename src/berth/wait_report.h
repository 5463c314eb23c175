/* wait_report.h - what a waiting berth says to its user, and when: why it waits, its place, and for
 * how long. For a place of host scope, or a pause, berth asks now and then: if berthd sent these by
 * itself, each grant would be a line to each of 10 000 waiters. */
#pragma once

#include "base/clock.h"
#include "berth/options.h"
#include "client/answer.h"

#include <stdbool.h>
#include <stdint.h>

/* What a berth waits for, or would, who holds that, its place: one line, as the answer to `why` has
 * it. */
enum wait_message_state {
    WAIT_MESSAGE_GOES_ON,
    WAIT_MESSAGE_COMPLETE, /* wait_message.line is the text */
    WAIT_MESSAGE_NONE, /* the answer was a refusal */
};

struct wait_message {
    uint64_t position; /* 0: not known yet */
    bool is_busy; /* a request that would wait */
    char stops[1024]; /* what grants nothing to anybody, such as a pause and its reason: without
                         anything that counts */
    char line[1024];
};

/* Takes a line of the answer; zero before the first one. */
enum wait_message_state wait_message_take(
    struct wait_message *wait_message, const struct answer *answer);

struct wait_report {
    const struct options *options;
    nanoseconds started_at; /* when berth was started */
    nanoseconds due_at; /* of the next question, over all connections */
    nanoseconds ask_at; /* the same; NEVER while there is nobody to ask, or no answer yet */
    nanoseconds draw_at; /* the next second of the line on the terminal, or NEVER */
    bool is_fleet;
    bool was_asked; /* the answer is being read */
    bool must_tell; /* even if it is no news */
    uint64_t position; /* the last known; an event may bring a new one */
    bool was_told; /* a line has been written, with these: */
    uint64_t told_position;
    char told_stops[1024];
    struct wait_message wait_message;
};

/* `wait_report` is zeroed. `options` must stay valid. */
void wait_report_init(
    struct wait_report *wait_report, const struct options *options, nanoseconds now);

/* The request is in a queue, perhaps again. `must_tell`: the user has read that berthd was away,
 * and must read that this is over. */
void wait_report_queued(
    struct wait_report *wait_report, bool is_fleet, bool must_tell, nanoseconds now);
/* The connection, or the place, is gone. */
void wait_report_interrupted(struct wait_report *wait_report);

/* NEVER: nothing to do. */
nanoseconds wait_report_deadline(const struct wait_report *wait_report);
/* True: send `why lease=LEASE` now; wait_report_take() reads the answer. */
bool wait_report_step(struct wait_report *wait_report, nanoseconds now);
/* A line that is no event. */
void wait_report_take(
    struct wait_report *wait_report, const struct answer *answer, nanoseconds now);

/* The wait is over: "got deploy after 6m12s", if the user has read about the wait. */
void wait_report_granted(struct wait_report *wait_report, nanoseconds now);
