/* request.h - the lines that berth sends. Pure. */
#pragma once

#include "base/clock.h"
#include "berth/grant.h"
#include "berth/options.h"
#include "wire/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* One line, LF included. */
struct request_line {
    char text[LINE_BYTES + 1];
    size_t length;
};

/* What every acquire and reclaim of one lease says. Strings belong to others. */
struct acquire_params {
    const struct options *options;
    const char *parent; /* $BERTH_LEASE or NULL; sent if it can be a lease */
    pid_t pid; /* what the lease is to be bound to; 0: to options->ttl */
    pid_t wrapper; /* keeps the lease when `pid` has ended; 0: nobody */
    uint64_t once; /* unique to this wish: berthd knows a repeated acquire by it */
    char proof[PROOF_BYTES + 1]; /* came with the lease; "": none yet */
};

/* How the job's main process has ended. */
struct job_end {
    enum { JOB_END_UNKNOWN, JOB_EXITED, JOB_SIGNALLED } kind;
    int number; /* the exit status, or the signal */
};

/* Takes the proof from an answer that says that a lease is granted or waits. */
void acquire_params_take_proof(struct acquire_params *params, const struct answer *answer);

/* `wait` is what is left of options->wait. False if the line would be too long. */
bool request_acquire(
    struct request_line *line, const struct acquire_params *params, nanoseconds wait);

/* For a lease that waits, for `wait`; or that is held: then `wait` is NEVER, and `grant` what it
 * has, else NULL. Always fits; if necessary, without what only people read. */
void request_reclaim(struct request_line *line, const struct acquire_params *params,
    const char *lease, nanoseconds wait, const struct grant *grant);

/* Gives up what was requested, granted or not. */
void request_cancel(struct request_line *line, const struct acquire_params *params);
/* `end` is for the history. An earlier berthd does not know it and refuses the line; it frees the
 * units because the connection ends and the job is gone. */
void request_release_lease(
    struct request_line *line, const char *lease, const struct job_end *end);
/* The waiting lease's client stops (`command`: COMMAND_away), or goes on (COMMAND_back). */
void request_presence(
    struct request_line *line, enum command_index command, const char *lease);
void request_why(struct request_line *line, const char *lease);
/* What would become of the request now. False if the line would be too long. */
bool request_why_wanted(struct request_line *line, const struct options *options);

/* `berth release` and `berth renew` with their options. False if the line would be too long. */
bool request_release(struct request_line *line, const struct options *options);
bool request_renew(struct request_line *line, const struct options *options);
