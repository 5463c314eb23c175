/* history_log.h - with `log = leases`: the log gets a line for each lease and wait that is over,
 * made from its entry in the history after the answers of the turn have gone. If more end than the
 * history keeps until then, it says how many have no line. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <uv.h>

struct history;

struct history_log {
    const struct history *history;
    uv_timer_t timer; /* runs while there is more than one turn may write */
    uint64_t position; /* in the ring: what is before is written, or was of an earlier berthd */
    uint64_t n_written; /* of history->n_ended; with those that were not to be */
    bool is_on;
};

void history_log_init(struct history_log *log, uv_loop_t *loop, const struct history *history);
/* Only what is added from now on is written. */
void history_log_begin(struct history_log *log);
/* At the end of each turn, if it is or was on; `is_on`: as the file says. */
void history_log_end_turn(struct history_log *log, bool is_on);
