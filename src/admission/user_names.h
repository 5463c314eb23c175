/* user_names.h - what the name service calls users, for explanations. It may be slow, or hang: it
 * is asked in libuv's pool, for one user at a time, and only for those who are to be named. */
#pragma once

#include "base/table.h"
#include "base/time.h"

#include <sys/queue.h>
#include <uv.h>

struct conn;
struct loop_iteration;
struct user_name;

/* A connection that waits for names; its owner has the memory. */
struct names_waiter {
    LIST_ENTRY(names_waiter) link;
    struct conn *conn; /* NULL: it does not wait */
    void (*done)(struct conn *conn);
};

LIST_HEAD(names_waiters, names_waiter);
TAILQ_HEAD(user_name_list, user_name);

struct user_names {
    uv_loop_t *loop;
    struct loop_iteration *turn;
    struct table by_uid;
    struct user_name_list wanted; /* to be asked for, in this order */
    struct user_name_list known; /* oldest first */
    struct names_waiters waiters;
    uv_work_t work;
    bool is_looking; /* the pool has .asked; only the thread writes .found meanwhile */
    bool is_stuck; /* it took too long: nobody waits for that any more */
    uint32_t asked;
    char found[64]; /* or "" */
};

void user_names_init(struct user_names *names, uv_loop_t *loop, struct loop_iteration *turn);
/* Nobody waits any more, and no thread looks. */
void user_names_deinit(struct user_names *names);

/* NULL: that user has no name, or it is not known yet. Then it is wanted, and
 * user_names_are_coming(). Good until the next turn. */
const char *user_names_find(struct user_names *names, uint32_t uid, nanoseconds now);
/* Whether it has been found out if the user has a name. */
bool user_names_is_known(const struct user_names *names, uint32_t uid);
/* Whether names are wanted that will probably be known soon. */
bool user_names_are_coming(const struct user_names *names);
/* Calls .done, of waiter.conn, when no more names are coming. */
void user_names_await(struct user_names *names, struct names_waiter *waiter);
void user_names_leave(struct names_waiter *waiter); /* does nothing if it does not wait */
/* The one who waits has no more patience. */
void user_names_timed_out(struct user_names *names);
