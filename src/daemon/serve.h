/* serve.h - berthd from its start to its end: the loop, and all that belongs to it. */
#pragma once

#include "admission/server.h"
#include "conn/accepting.h"
#include "conn/disk_wait.h"
#include "database/fleet_follows.h"
#include "database/fleet_journal.h"
#include "database/fleet_views.h"
#include "record/history.h"
#include "record/history_log.h"
#include "setup/notify.h"
#include "setup/reload.h"

enum { N_SERVING_SIGNALS = 3 };

struct inherited;

struct serving {
    struct server server; /* which has pointers to some of: */
    struct notify notify; /* the service manager */
    struct reload reload;
    struct disk_wait disk_wait;
    struct {
        uv_timer_t timer; /* runs until it is looked at again */
        uv_work_t work; /* in libuv's pool: the disk may take its time */
        bool is_looking, is_readable;
    } state_wait; /* for a state file that is there and cannot be read */
    struct fleet_journal fleet_journal;
    struct views views;
    struct fleet_follows fleet_follows;
    struct accepting accepting;
    struct history history;
    struct history_log history_log;
    uv_poll_t deadline_poll; /* of deadline_fd */
    uv_signal_t signals[N_SERVING_SIGNALS];
    nanoseconds armed_for; /* what deadline_fd is set to */
    int deadline_fd; /* timerfd on CLOCK_BOOTTIME */
    bool begins_again; /* the run has ended for another one in the same process */
};

/* Takes `conf` over; listens on the inherited socket or, if there is none, on `path`, whatever the
 * file says. False (logged) if it cannot serve. Call serve_deinit() in any case. */
bool serve_init(struct serving *serving, struct conf *conf, const struct inherited *inherited,
    const char *path);
/* Runs until a signal to stop, or until it is to begin again. `ready_fd` (-1: none) gets one line
 * when clients can connect. */
void serve_run(struct serving *serving, int ready_fd);
/* Closes and frees everything, but the configuration if the run begins again; asserts that the loop
 * is empty. Signals wait for the next run. */
void serve_deinit(struct serving *serving);

/* ---- recovery.c: takes over what an earlier berthd knew ---- */

/* From its journal and state directory, before clients can connect and after definitions are in
 * place; `socket_path` is the socket's one name. If something is missing or damaged, logs it, and
 * the daemon starts, with a grace where leases may be missing. False (logged) if the file would
 * make a resource in use another kind: then the daemon does not start. */
bool recovery_run(struct serving *serving, const char *socket_path);

/* ---- serve_turn.c: for the server in a struct serving ---- */

/* apply_effects(): writes down what the core wants done, then carries it out, and clears it. */
void serve_apply_effects(struct loop_iteration *turn);
/* loop_iteration_end(). */
void serve_end_turn(struct loop_iteration *turn);
/* Sets .deadline_fd for what is due next in the core or in a session. Aborts (logged) if the
 * kernel refuses. */
void serve_set_timer(struct serving *serving);
/* The callback of .deadline_poll: lets the core and the sessions do what is due. */
void serve_on_deadline(uv_poll_t *poll, int status, int events);
