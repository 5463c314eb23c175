/* scheduler.h - the turns of the loop: what a connection has put off goes on in a later turn, of
 * each user in turn (fair_queue.h), and each turn is short. A waiting connection is not read from,
 * but its end is noticed. */
#pragma once

#include "admission/fair_queue.h"
#include "record/loop_iteration.h"

#include <stdbool.h>
#include <uv.h>

struct metric_histogram;

/* What the scheduler calls, with the member of a connection. */
struct scheduler_ops {
    void (*go_on)(struct fair_member *member); /* does one thing of what was put off */
    void (*gone)(struct fair_member *member); /* the client has gone; frees nothing in this turn */
};

struct scheduler {
    struct scheduler_ops ops;
    struct loop_iteration *turn; /* ended after each call of .ops */
    struct metric_histogram *turns; /* where their lengths are counted; NULL: nowhere */
    struct fair_queue fair_queue;
    uv_idle_t idle; /* runs while a connection may go on */
    uv_timer_t timer; /* runs until one may, at timer_due */
    nanoseconds timer_due;
    uv_prepare_t prepare; /* between two turns */
    uv_poll_t gone_poll; /* of gone_fd */
    int gone_fd; /* an epoll of connections that are not read from */
    uint64_t number;
    nanoseconds began; /* the turn's first piece of work; 0: none yet */
    nanoseconds work_began; /* 0: no work is being done */
    uint32_t n_requests; /* carried out since then */
    long n_interruptions; /* by other processes, as of the last look */
};

/* `turn` outlives the scheduler. False (errno) if there is no descriptor. */
bool scheduler_init(struct scheduler *scheduler, uv_loop_t *loop, uint32_t own_uid,
    struct scheduler_ops ops, struct loop_iteration *turn);
/* When the loop and all connections are gone. */
void scheduler_deinit(struct scheduler *scheduler);

/* Begins some work, until scheduler_end_work(): that time is charged to the user. False: a
 * connection with new input should put it off. `fair_user` may be NULL. */
bool scheduler_begin_work(struct scheduler *scheduler, struct fair_user *fair_user);
/* Costs at least `min` requests. Does nothing if the user has left meanwhile (NULL). */
void scheduler_end_work(struct scheduler *scheduler, struct fair_user *fair_user, uint32_t min);
/* The work has carried out one request. */
void scheduler_charge_request(struct scheduler *scheduler, struct fair_user *fair_user);

/* Whether this turn of the loop has lasted so long that a connection that has had a part should put
 * off the rest. */
bool scheduler_is_long(const struct scheduler *scheduler);
/* Whether it has lasted for a good part of that: what nobody waits for should come later. */
bool scheduler_is_busy(const struct scheduler *scheduler);
/* Whether a user's rate requires a connection to put off what it would do next. */
bool scheduler_must_wait(const struct scheduler *scheduler, const struct fair_user *fair_user);

/* Has it go on, one thing of one connection in each turn. */
void scheduler_put_off(struct scheduler *scheduler, struct fair_member *member);
/* While the connection on `fd` is not read from: says if the client goes away. `was_watched`: what
 * the last call for it returned. False: its end is found as late as its turn comes. */
bool scheduler_watch_gone(
    struct scheduler *scheduler, struct fair_member *member, int fd, bool was_watched);
/* UNBOUNDED: no rate. */
void scheduler_set_rate(struct scheduler *scheduler, uint32_t per_second);
