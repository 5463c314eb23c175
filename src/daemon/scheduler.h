/* scheduler.h - the turns of the loop: what a connection has put off goes on in a later one, of each
 * user in turn (fair_queue.h), and each turn is short. Who waits there is not read from: whether it has
 * gone is told nevertheless. */
#ifndef BERTH_DAEMON_SCHEDULER_H
#define BERTH_DAEMON_SCHEDULER_H

#include "daemon/fair_queue.h"

#include <stdbool.h>
#include <uv.h>

struct conn;

struct scheduler {
    struct fair_queue fair_queue;
    uv_idle_t idle; /* runs while somebody may go on */
    uv_timer_t timer; /* runs until somebody may, at timer_due */
    nanoseconds timer_due;
    uv_prepare_t prepare; /* between two turns */
    uv_poll_t gone_poll; /* of gone_fd */
    int gone_fd; /* an epoll of connections that are not read from */
    uint64_t number;
    nanoseconds began; /* the turn's first piece of work; 0: none yet */
    nanoseconds work_began; /* 0: nobody is doing anything */
    uint32_t n_requests; /* carried out since then */
    long n_interruptions; /* by other processes, as of the last look */
};

/* False (errno) if there is no descriptor. */
bool scheduler_init(struct scheduler *scheduler, uv_loop_t *loop, uint32_t own_uid);
/* When the loop is no more, and no connection. */
void scheduler_deinit(struct scheduler *scheduler);

/* Somebody begins to do something, until scheduler_end_work(): that time is charged to the user.
 * False: a connection that comes with something new should put it off. `fair_user` may be NULL. */
bool scheduler_begin_work(struct scheduler *scheduler, struct fair_user *fair_user);
/* It costs `fewest` requests at least. Nothing if the share has left meanwhile (NULL). */
void scheduler_end_work(struct scheduler *scheduler, struct fair_user *fair_user, uint32_t fewest);
/* One request of it is carried out. */
void scheduler_charge_request(struct scheduler *scheduler, struct fair_user *fair_user);

/* Whether this turn of the loop has lasted so long that who has had a share of it should put off
 * the rest. */
bool scheduler_is_long(const struct scheduler *scheduler);
/* Whether a user's rate wants a connection to put off what it would do next. */
bool scheduler_must_wait(const struct scheduler *scheduler, const struct fair_user *fair_user);

/* Goes on by conn_continue(), one thing of one connection in each turn. If it goes away meanwhile,
 * conn_gone() is called. */
void scheduler_put_off(struct scheduler *scheduler, struct conn *conn);
/* While it is not read from: conn_gone() is called if it goes away. */
void scheduler_watch_gone(struct scheduler *scheduler, struct conn *conn);
/* UNBOUNDED: there is none. */
void scheduler_set_rate(struct scheduler *scheduler, uint32_t per_second);

#endif
