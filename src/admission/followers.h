/* followers.h - the connections that follow (`watch`): when each gets its next batch.
 *
 * Once something has changed, a pass begins a batch for each follower that has had all of its last
 * one. Passes are some milliseconds apart, and longer if they take long, so that followers have a
 * part of the time only, and so is the part of a pass in one turn of the loop. What does not fit
 * into the first piece of a batch waits in its user's fair queue, a piece in each turn. A follower
 * that does not read has no batch, and costs nothing. */
#pragma once

#include "core/database.h"
#include "fleet/session.h"
#include "status/follower.h"

#include <sys/queue.h>
#include <uv.h>

struct conn;
struct followers;
struct loop_iteration;

/* A connection as a follower. */
struct followed {
    struct follower follower;
    struct followers *followers;
    struct conn *conn;
    TAILQ_ENTRY(followed) link;
};

TAILQ_HEAD(followed_list, followed);

struct followers_ops {
    /* Whether the connection has had all that was made for it, and may begin a long answer. */
    bool (*may_begin)(const struct conn *conn);
    /* Begins it, and sends as much as this turn allows; the connection may end. */
    void (*begin)(struct conn *conn, struct long_answer *batch);
};

/* What its line says of a database, as it was last told. */
struct told_database {
    enum session_state state;
    bool is_too_large;
    uint64_t line; /* a hash of all that it says */
};

struct followers {
    struct followers_ops ops;
    struct loop_iteration *turn;
    struct follow_source source;
    struct followed_list list;
    uint32_t n;
    uv_timer_t timer; /* runs until the next pass, or the rest of this one */
    struct followed *next; /* whose turn it is, in a pass that was put off; else NULL */
    nanoseconds busy; /* how long this pass has taken so far */
    nanoseconds rest_until; /* no pass begins before */
    bool is_passing; /* right now */
    uint64_t news_end, ended_end; /* as of the last pass */
    struct told_database databases[MAX_DATABASES]; /* follow_source.c's; database 1 first */
};

/* Sets all but .timer, which the caller has initialized. */
void followers_begin(struct followers *followers, struct followers_ops ops,
    const struct follow_source *source, struct loop_iteration *turn);
/* From now on the connection follows. The caller begins its first batch, .follower.answer. */
struct followed *followers_enter(struct followers *followers, struct conn *conn, bool wants_ended);
/* It follows no more; its long answer is over. Returns NULL, and accepts it. */
struct followed *followers_leave(struct followed *followed);
/* The connection has sent what it had: perhaps there is more to tell it. */
void followers_look(struct followed *followed);
/* At the end of each turn, if there is any: perhaps something has changed. */
void followers_end_turn(struct followers *followers);
