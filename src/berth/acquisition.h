/* acquisition.h - gets a lease: connects, asks, waits in the queue, and starts over when the
 * connection breaks, keeping the place. Knows neither the job nor signals.
 *
 * The loop calls acquisition_step() when the connection is readable or acquisition_deadline() has
 * come; nothing here blocks. */
#pragma once

#include "base/backoff.h"
#include "base/clock.h"
#include "berth/grant.h"
#include "berth/options.h"
#include "berth/request.h"
#include "berth/wait_report.h"
#include "client/answer.h"
#include "client/connection.h"

#include <stdbool.h>
#include <sys/types.h>

/* Between two tries to reach berthd. */
#define OUTAGE_FIRST_PAUSE (50 * NANOSECONDS_PER_MILLISECOND)
#define OUTAGE_LONGEST_PAUSE NANOSECONDS_PER_SECOND

/* berthd, or its database, cannot be reached: since when and why. */
struct outage {
    nanoseconds since; /* NEVER: there is none */
    bool is_of_database; /* berthd itself is there */
    bool was_said;
    char why[512]; /* in words; "": no reason against the request that is on its way */
};

#define OUTAGE_NONE ((struct outage){.since = NEVER})

enum acquisition_state {
    ACQUISITION_DISCONNECTED, /* no connection; the next try is at acquisition.retry_at */
    ACQUISITION_ASKED, /* no reply yet */
    ACQUISITION_PENDING, /* berthd asks a database: no place in a queue yet */
    ACQUISITION_QUEUED,
    ACQUISITION_EXPLAINED, /* refused, or timed out: berthd is asked why, for the message */
};

enum acquisition_result {
    ACQUISITION_GOES_ON,
    ACQUISITION_GRANTED, /* acquisition.grant */
    ACQUISITION_UNLEASED, /* the job is to run without a lease: berthd is down, for one */
    ACQUISITION_REFUSED, /* acquisition.status is the exit status; a message was written */
};

/* A refusal whose message waits for a better one. */
struct refusal {
    char reason[1280]; /* the message as it is */
    enum code code;
    nanoseconds until; /* then the message as it is will do */
    struct wait_message better;
};

struct acquisition {
    const struct options *options;
    const struct endpoint *endpoint;
    struct acquire_params params;

    enum acquisition_state state;
    struct connection *connection;
    nanoseconds started_at;
    nanoseconds wait_until; /* when -w is over, or NEVER */
    nanoseconds down_at; /* from then on silence counts as an outage; NEVER: it does already */
    nanoseconds opened_at; /* the last connection; 0: there was none */
    nanoseconds retry_at;
    struct outage outage; /* the reason for trying again at retry_at */
    struct backoff backoff;
    bool was_queued; /* from then on --if-down does not apply */
    bool is_fleet; /* a database has been asked */
    char lease[LEASE_ID_SIZE]; /* the one that waits, or "" */
    struct wait_report wait_report;
    struct refusal refusal; /* while EXPLAINED */
    nanoseconds stops_by; /* when berth stops even if berthd does not answer; NEVER: it goes on */
    unsigned n_unanswered; /* requests `away` and `back` on this connection */

    struct grant grant;
    int status;
};

/* `acquisition` is zeroed. All pointers must stay valid. `pid` is wish.pid. `now` is when berth was
 * started. */
void acquisition_init(struct acquisition *acquisition, const struct options *options,
    const struct endpoint *endpoint, struct connection *connection, pid_t pid, nanoseconds now);

enum acquisition_result acquisition_step(
    struct acquisition *acquisition, bool readable, nanoseconds now);

/* Nobody wants the lease any more. Without this, one bound to a process or to time would outlive
 * the connection if it were granted at this very moment. */
void acquisition_give_up(struct acquisition *acquisition);

/* The user wants berth to stop (^Z). The request steps aside first, so that it is not granted to a
 * stopped process and in the way of all others: berth stops once acquisition_may_stop(), or goes
 * on with a grant that came before. acquisition_continue() when berth has been continued, or is
 * not to stop after all. */
void acquisition_step_aside(struct acquisition *acquisition, nanoseconds now);
bool acquisition_may_stop(const struct acquisition *acquisition, nanoseconds now);
void acquisition_continue(struct acquisition *acquisition, nanoseconds now);

/* NEVER if only the connection can bring news. */
nanoseconds acquisition_deadline(const struct acquisition *acquisition);

/* ---- between acquisition.c (connects, asks, waits, and ends) and acquisition_answers.c (what
 * berthd says meanwhile) ---- */

/* After a connection that lasted this long, the next pause is short again. */
#define GOOD_CONNECTION NANOSECONDS_PER_SECOND

/* Sets the reason for the last failure. */
void outage_set(struct outage *outage, bool is_of_database, const char *why);

/* Sends the request, or after an interruption the one for the place that it has. */
enum acquisition_result acquisition_ask(struct acquisition *acquisition, nanoseconds now);
/* If the request has a place: `away` or `back`. */
void acquisition_say_presence(struct acquisition *acquisition, enum command_index command);
/* Carries out all whole lines that have been read, until one of them decides. */
enum acquisition_result acquisition_take_lines(struct acquisition *acquisition, nanoseconds now);

/* The message when -w is over: at least 1024 bytes. */
void append_timed_out(char *out, size_t size, const struct acquisition *acquisition);
/* Ends with this exit status; the caller has written the message. */
enum acquisition_result acquisition_refuse(struct acquisition *acquisition, int status);

/* Says why it was refused, as well as is known by now, and ends: state EXPLAINED. */
enum acquisition_result acquisition_end_explaining(struct acquisition *acquisition);

/* berthd was there a moment ago, or has no time at the moment: another try may help, until it
 * counts as down. acquisition->outage has the reason. */
enum acquisition_result acquisition_is_absent(struct acquisition *acquisition, nanoseconds now);
/* berthd, or the database, is not there: does what --if-down says. acquisition->outage has the
 * reason. */
enum acquisition_result acquisition_is_down(struct acquisition *acquisition, nanoseconds now);
