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
struct share_member {
    struct share *share;
    TAILQ_ENTRY(share_member) link; /* in share.queue, or all zero */
};

TAILQ_HEAD(share_members, share_member);

/* Whether it has put something off. */
static inline bool share_is_queued(const struct share_member *member)
{
    return member->link.tqe_prev;
}

/* One user with at least one member, or with a debt. */
struct share {
    struct table_node node; /* in shares.by_uid */
    LIST_ENTRY(share) link; /* in shares.all */
    uint32_t uid;
    uint32_t n_members;
    bool is_exempt; /* goes round like the others, as fast as it likes */
    bool is_in_ring;
    nanoseconds paid_until; /* of requests */
    nanoseconds came_until; /* the same of new members */
    uint64_t last_turn; /* the caller's: in which it had something */
    uint32_t n_with_views; /* the caller's: members that hold on to what databases have said */
    struct share_members queue; /* have put something off; in order */
    TAILQ_ENTRY(share) ring_link;
    struct order_node rest; /* in shares.resting, by until when */
};

TAILQ_HEAD(share_ring, share);
LIST_HEAD(share_list, share);

struct shares {
    struct table by_uid;
    struct share_list all;
    struct share_ring ring; /* with a queue, and may go on; first: whose turn it is */
    struct order resting; /* not before their time: they go on, or are forgotten */
    nanoseconds interval; /* what one request costs; 0: nobody is slowed down */
    uint32_t own_uid; /* is exempt, as is root */
};

enum {
    SHARE_BURST_MS = 50, /* may be asked for ahead of time */
    SHARE_CROWD = 2000, /* new members ahead of time */
    SHARE_DEBT_MS = 1000, /* more is never to be waited for, whatever it was for */
    SHARE_UNIT_US = 20, /* a request that takes longer counts as several */
};

void shares_init(struct shares *shares, uint32_t own_uid);
void shares_deinit(struct shares *shares); /* asserts that there are no members */
/* Of requests in a second; UNBOUNDED: as many as they like. Who waits is looked at anew, and
 * how many new members there were, is forgotten. */
void shares_set_rate(struct shares *shares, uint32_t per_second);

/* A new member of that user, which counts. False if the user makes so many that there should be no
 * more of them now; then there is none. */
bool share_join(struct shares *shares, struct share_member *member, uint32_t uid, nanoseconds now);
/* Nothing if it is nowhere. */
void share_leave(struct shares *shares, struct share_member *member, nanoseconds now);

/* Whether there is a rate for it. */
bool share_is_limited(const struct shares *shares, const struct share *share);
/* Whether a member of a limited share has to put off what it would do: it is too early, or others
 * came before. */
bool share_must_wait(const struct shares *shares, const struct share *share, nanoseconds now);
/* For `n` requests, and for `more` nanoseconds of work that these do not pay for. */
void share_charge(const struct shares *shares, struct share *share, uint32_t n, nanoseconds more,
    nanoseconds now);

/* At the end of its user's queue. It must not be in it. */
void shares_put_off(struct shares *shares, struct share_member *member, nanoseconds now);
/* Nothing if it is not queued. */
void shares_withdraw(struct shares *shares, struct share_member *member);
/* Takes out who is next: of each user in turn, one. NULL: none before shares_due(). */
struct share_member *shares_next(struct shares *shares, nanoseconds now);
/* When shares_next() has something to do: 0 is at once, NEVER if there is nothing. */
nanoseconds shares_due(const struct shares *shares);

#endif
