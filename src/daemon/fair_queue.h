/* fair_queue.h - each user's share of the daemon: whose turn is next among those who have put something
 * off, and how much one user may ask for in a second. Who asks for more is slowed down, not
 * refused. Pure: time is an argument.
 *
 * A user is paid up until some instant: each request moves it on by one interval. One who is paid
 * up for more than a short burst ahead has to wait until the clock has caught up (GCRA). */
#ifndef BERTH_DAEMON_FAIR_QUEUE_H
#define BERTH_DAEMON_FAIR_QUEUE_H

#include "base/order.h"
#include "base/table.h"
#include "core/types.h"

#include <sys/queue.h>

/* What asks: in the daemon, a connection. Embedded in the caller's struct. */
struct fair_member {
    struct fair_user *fair_user;
    TAILQ_ENTRY(fair_member) link; /* in fair_user.queue, or all zero */
};

TAILQ_HEAD(fair_members, fair_member);

/* Whether it has put something off. */
static inline bool fair_user_is_queued(const struct fair_member *member)
{
    return member->link.tqe_prev;
}

/* One user with at least one member, or with a debt. */
struct fair_user {
    struct table_node node; /* in fair_queue.by_uid */
    LIST_ENTRY(fair_user) link; /* in fair_queue.all */
    uint32_t uid;
    uint32_t n_members;
    bool is_exempt; /* goes round like the others, as fast as it likes */
    bool is_in_ring;
    nanoseconds paid_until; /* of requests */
    nanoseconds came_until; /* the same of new members */
    uint64_t last_turn; /* the caller's: in which it had something */
    uint32_t n_with_views; /* the caller's: members that hold on to what databases have said */
    struct fair_members queue; /* have put something off; in order */
    TAILQ_ENTRY(fair_user) ring_link;
    struct order_node rest; /* in fair_queue.resting, by until when */
};

TAILQ_HEAD(fair_ring, fair_user);
LIST_HEAD(fair_list, fair_user);

struct fair_queue {
    struct table by_uid;
    struct fair_list all;
    struct fair_ring ring; /* with a queue, and may go on; first: whose turn it is */
    struct order resting; /* not before their time: they go on, or are forgotten */
    nanoseconds interval; /* what one request costs; 0: nobody is slowed down */
    uint32_t own_uid; /* is exempt, as is root */
};

enum {
    FAIR_BURST_MS = 50, /* may be asked for ahead of time */
    FAIR_CROWD = 2000, /* new members ahead of time */
    FAIR_DEBT_MS = 1000, /* more is never to be waited for, whatever it was for */
    FAIR_UNIT_US = 20, /* a request that takes longer counts as several */
};

void fair_queue_init(struct fair_queue *fair_queue, uint32_t own_uid);
void fair_queue_deinit(struct fair_queue *fair_queue); /* asserts that there are no members */
/* Of requests in a second; UNBOUNDED: as many as they like. Who waits is looked at anew, and
 * how many new members there were, is forgotten. */
void fair_queue_set_rate(struct fair_queue *fair_queue, uint32_t per_second);

/* A new member of that user, which counts. False if the user makes so many that there should be no
 * more of them now; then there is none. */
bool fair_user_join(
    struct fair_queue *fair_queue, struct fair_member *member, uint32_t uid, nanoseconds now);
/* Nothing if it is nowhere. */
void fair_user_leave(struct fair_queue *fair_queue, struct fair_member *member, nanoseconds now);

/* Whether there is a rate for it. */
bool fair_user_is_limited(const struct fair_queue *fair_queue, const struct fair_user *fair_user);
/* Whether a member of a limited share has to put off what it would do: it is too early, or others
 * came before. */
bool fair_user_must_wait(
    const struct fair_queue *fair_queue, const struct fair_user *fair_user, nanoseconds now);
/* For `n` requests, and for `more` nanoseconds of work that these do not pay for. */
void fair_user_charge(const struct fair_queue *fair_queue, struct fair_user *fair_user, uint32_t n,
    nanoseconds more, nanoseconds now);

/* At the end of its user's queue. It must not be in it. */
void fair_queue_put_off(struct fair_queue *fair_queue, struct fair_member *member, nanoseconds now);
/* Nothing if it is not queued. */
void fair_queue_withdraw(struct fair_queue *fair_queue, struct fair_member *member);
/* Takes out who is next: of each user in turn, one. NULL: none before fair_queue_due(). */
struct fair_member *fair_queue_next(struct fair_queue *fair_queue, nanoseconds now);
/* When fair_queue_next() has something to do: 0 is at once, NEVER if there is nothing. */
nanoseconds fair_queue_due(const struct fair_queue *fair_queue);

#endif
