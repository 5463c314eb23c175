/* fair_queue.h - fair scheduling and rate limiting between users: picks the next user with deferred
 * work, and limits each user's requests per second. A user who sends more is slowed down, not
 * refused. Pure: time is an argument.
 *
 * A user is paid up until some instant, which each request moves on by one interval. A user who is
 * paid up for more than a short burst ahead has to wait until the clock has caught up (GCRA). */
#pragma once

#include "base/sorted_set.h"
#include "base/table.h"
#include "core/types.h"

#include <sys/queue.h>

/* A member: in the daemon, a connection. Embedded in the caller's struct. */
struct fair_member {
    struct fair_user *fair_user;
    TAILQ_ENTRY(fair_member) link; /* in fair_user.queue, or all zero */
};

TAILQ_HEAD(fair_members, fair_member);

/* Whether the user has put something off. */
static inline bool fair_user_is_queued(const struct fair_member *member)
{
    return member->link.tqe_prev;
}

/* Where a user is, and what moves it:
 *
 *   NOWHERE   nothing is put off        first put off -> IN_RING, or RESTING if it is too early
 *   IN_RING   waits for its turn        called: its next member -> the end, if too early -> RESTING
 *   RESTING   its time has not come     its time comes, or the rate changes -> IN_RING
 *
 * With nothing put off any more: -> NOWHERE. Without a member, it is RESTING while it owes
 * something, and then forgotten. */
enum fair_place { FAIR_NOWHERE, FAIR_IN_RING, FAIR_RESTING };

/* A user with at least one member, or with a debt. */
struct fair_user {
    struct table_node node; /* in fair_queue.by_uid */
    LIST_ENTRY(fair_user) link; /* in fair_queue.all */
    uint32_t uid;
    uint32_t n_members;
    bool is_exempt; /* goes round like the others, without a rate */
    enum fair_place place : 8; /* only move_to() writes it */
    nanoseconds paid_until; /* for requests */
    nanoseconds came_until; /* the same for new members */
    uint64_t last_turn; /* the caller's: the last turn in which it did something */
    uint32_t view_weight; /* the caller's: what members keep of views of databases */
    struct fair_members queue; /* members that have put something off; in order */
    TAILQ_ENTRY(fair_user) ring_link; /* IN_RING */
    struct sorted_set_node rest; /* RESTING: in fair_queue.resting, by until when */
};

TAILQ_HEAD(fair_ring, fair_user);
LIST_HEAD(fair_list, fair_user);

struct fair_queue {
    struct table by_uid;
    struct fair_list all;
    struct fair_ring ring; /* users with a queue who may go on; first: whose turn it is */
    /* users who wait for an instant: then they go on, or are forgotten */
    struct sorted_set resting;
    nanoseconds interval; /* the cost of one request; 0: nobody is slowed down */
    uint32_t own_uid; /* is exempt, as is root */
};

enum {
    FAIR_BURST_MS = 50, /* requests allowed ahead of time */
    FAIR_CROWD = 2000, /* new members allowed ahead of time */
    FAIR_DEBT_MS = 1000, /* nobody waits for more than this, whatever it was for */
    FAIR_UNIT_US = 20, /* a request that takes longer counts as several */
};

void fair_queue_init(struct fair_queue *fair_queue, uint32_t own_uid);
void fair_queue_deinit(struct fair_queue *fair_queue); /* asserts that there are no members */
/* Of requests in a second; UNBOUNDED: as many as they like. Those who rest are looked at again; how
 * many new members there were is forgotten. */
void fair_queue_set_rate(struct fair_queue *fair_queue, uint32_t per_second);

/* Adds a new member of that user, which counts. False, and no member, if the user makes too many at
 * once. */
bool fair_user_join(
    struct fair_queue *fair_queue, struct fair_member *member, uint32_t uid, nanoseconds now);
/* Does nothing if it is not a member. */
void fair_user_leave(struct fair_queue *fair_queue, struct fair_member *member, nanoseconds now);

/* Whether the user has a rate. */
static inline bool fair_user_is_limited(
    const struct fair_queue *fair_queue, const struct fair_user *fair_user)
{
    return fair_queue->interval != 0 && !fair_user->is_exempt;
}

/* Whether a member of a limited user has to put off what it would do: it is too early, or others
 * came before. */
bool fair_user_must_wait(
    const struct fair_queue *fair_queue, const struct fair_user *fair_user, nanoseconds now);
/* For `n` requests, and for `more` nanoseconds of work beyond what these pay for. */
void fair_user_charge(const struct fair_queue *fair_queue, struct fair_user *fair_user, uint32_t n,
    nanoseconds more, nanoseconds now);

/* Adds it at the end of its user's queue. It must not be queued. */
void fair_queue_put_off(struct fair_queue *fair_queue, struct fair_member *member, nanoseconds now);
/* Does nothing if it is not queued. */
void fair_queue_withdraw(struct fair_queue *fair_queue, struct fair_member *member);
/* Takes out the next member: one of each user in turn. NULL: none before fair_queue_due(). */
struct fair_member *fair_queue_next(struct fair_queue *fair_queue, nanoseconds now);
/* When fair_queue_next() has something to do: 0 is at once, NEVER if there is nothing. */
nanoseconds fair_queue_due(const struct fair_queue *fair_queue);
