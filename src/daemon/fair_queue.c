#include "daemon/fair_queue.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>

#define MILLISECONDS(n) ((n)*INT64_C(1000000))
#define BURST MILLISECONDS(SHARE_BURST_MS)
#define MOST_DEBT MILLISECONDS(SHARE_DEBT_MS)
#define UNIT (SHARE_UNIT_US * INT64_C(1000))

void shares_init(struct shares *shares, uint32_t own_uid)
{
    *shares = (struct shares){.by_uid = TABLE_INIT, .resting = ORDER_INIT, .own_uid = own_uid};
    TAILQ_INIT(&shares->ring);
    LIST_INIT(&shares->all);
}

static struct share *share_of(struct order_node *node)
{
    return container_of(node, struct share, rest);
}

static void stop_resting(struct shares *shares, struct share *share)
{
    if (order_contains(&share->rest)) {
        order_remove(&shares->resting, &share->rest);
    }
}

static void forget(struct shares *shares, struct share *share)
{
    assert(share->n_members == 0 && !share->is_in_ring);
    stop_resting(shares, share);
    table_remove(&shares->by_uid, &share->node);
    LIST_REMOVE(share, link);
    free(share);
}

void shares_deinit(struct shares *shares)
{
    struct order_node *node;
    while ((node = order_first(&shares->resting))) {
        forget(shares, share_of(node));
    }
    table_deinit(&shares->by_uid);
}

/* ---- members ---- */

static struct share *find(const struct shares *shares, uint32_t uid)
{
    struct table_node *node = table_find(&shares->by_uid, hash_number(uid));
    while (node && container_of(node, struct share, node)->uid != uid) {
        node = table_find_next(node);
    }
    return node ? container_of(node, struct share, node) : NULL;
}

static struct share *make(struct shares *shares, uint32_t uid)
{
    struct share *share = memory_new(sizeof *share);
    share->uid = uid;
    share->is_exempt = uid == 0 || uid == shares->own_uid;
    TAILQ_INIT(&share->queue);
    table_insert(&shares->by_uid, &share->node, hash_number(uid));
    LIST_INSERT_HEAD(&shares->all, share, link);
    return share;
}

bool share_is_limited(const struct shares *shares, const struct share *share)
{
    return shares->interval != 0 && !share->is_exempt;
}

static nanoseconds later_of(nanoseconds a, nanoseconds b)
{
    return a > b ? a : b;
}

bool share_join(struct shares *shares, struct share_member *member, uint32_t uid, nanoseconds now)
{
    struct share *share = find(shares, uid);
    share = share ? share : make(shares, uid);
    if (share_is_limited(shares, share)) {
        if (share->came_until > now + SHARE_CROWD * shares->interval) {
            return false;
        }
        share->came_until = later_of(share->came_until, now) + shares->interval;
    }
    share->n_members++;
    *member = (struct share_member){.share = share};
    return true;
}

static void rest_until(struct shares *shares, struct share *share, nanoseconds until)
{
    stop_resting(shares, share);
    order_insert(&shares->resting, &share->rest, (uint64_t)until, share->uid);
}

void share_leave(struct shares *shares, struct share_member *member, nanoseconds now)
{
    struct share *share = member->share;
    if (!share) {
        return;
    }
    shares_withdraw(shares, member);
    member->share = NULL;
    if (--share->n_members > 0) {
        return;
    }
    nanoseconds owes_until = later_of(share->paid_until, share->came_until);
    if (share_is_limited(shares, share) && owes_until > now) {
        rest_until(shares, share, owes_until); /* who comes back owes still */
    } else {
        forget(shares, share);
    }
}

/* ---- the rate ---- */

static bool is_too_early(const struct shares *shares, const struct share *share, nanoseconds now)
{
    return share_is_limited(shares, share) && share->paid_until > now + BURST;
}

bool share_must_wait(const struct shares *shares, const struct share *share, nanoseconds now)
{
    return share_is_limited(shares, share) &&
        (!TAILQ_EMPTY(&share->queue) || is_too_early(shares, share, now));
}

void share_charge(
    const struct shares *shares, struct share *share, uint32_t n, nanoseconds more, nanoseconds now)
{
    if (!share_is_limited(shares, share)) {
        return;
    }
    nanoseconds most = now + BURST + MOST_DEBT;
    nanoseconds units = n + (more > 0 ? more / UNIT : 0);
    nanoseconds most_units = (BURST + MOST_DEBT) / shares->interval + 1;
    units = units < most_units ? units : most_units;
    nanoseconds until = later_of(share->paid_until, now) + units * shares->interval;
    share->paid_until = until < most ? until : most;
}

/* ---- the ring ---- */

static void enter_ring(struct shares *shares, struct share *share)
{
    assert(!share->is_in_ring);
    stop_resting(shares, share);
    share->is_in_ring = true;
    TAILQ_INSERT_TAIL(&shares->ring, share, ring_link);
}

static void leave_ring(struct shares *shares, struct share *share)
{
    share->is_in_ring = false;
    TAILQ_REMOVE(&shares->ring, share, ring_link);
}

/* It has a queue: where it belongs. */
static void line_up(struct shares *shares, struct share *share, nanoseconds now)
{
    if (is_too_early(shares, share, now)) {
        rest_until(shares, share, share->paid_until - BURST);
    } else {
        enter_ring(shares, share);
    }
}

void shares_put_off(struct shares *shares, struct share_member *member, nanoseconds now)
{
    struct share *share = member->share;
    assert(!share_is_queued(member));
    bool was_empty = TAILQ_EMPTY(&share->queue);
    TAILQ_INSERT_TAIL(&share->queue, member, link);
    if (was_empty) {
        line_up(shares, share, now);
    }
}

static void take_out(struct share *share, struct share_member *member)
{
    TAILQ_REMOVE(&share->queue, member, link);
    member->link.tqe_prev = NULL;
}

void shares_withdraw(struct shares *shares, struct share_member *member)
{
    struct share *share = member->share;
    if (!share || !share_is_queued(member)) {
        return;
    }
    take_out(share, member);
    if (!TAILQ_EMPTY(&share->queue)) {
        return;
    }
    if (share->is_in_ring) {
        leave_ring(shares, share);
    }
    stop_resting(shares, share);
}

void shares_set_rate(struct shares *shares, uint32_t per_second)
{
    shares->interval = per_second == UNBOUNDED ? 0 : NANOSECONDS_PER_SECOND / per_second;
    struct share *each;
    LIST_FOREACH (each, &shares->all, link) {
        each->came_until = 0; /* it may be half an hour ahead: what is paid is not */
    }
    struct order_node *node;
    while ((node = order_first(&shares->resting))) { /* each is looked at anew */
        struct share *share = share_of(node);
        if (share->n_members == 0) {
            forget(shares, share);
        } else if (TAILQ_EMPTY(&share->queue)) {
            stop_resting(shares, share);
        } else {
            enter_ring(shares, share);
        }
    }
}

static void wake_rested(struct shares *shares, nanoseconds now)
{
    struct order_node *node;
    while ((node = order_first(&shares->resting)) && node->major <= (uint64_t)now) {
        struct share *share = share_of(node);
        if (share->n_members == 0) {
            forget(shares, share);
        } else if (TAILQ_EMPTY(&share->queue)) {
            stop_resting(shares, share); /* came back to a debt that is paid by now */
        } else {
            enter_ring(shares, share);
        }
    }
}

struct share_member *shares_next(struct shares *shares, nanoseconds now)
{
    struct share *share;
    wake_rested(shares, now);
    while ((share = TAILQ_FIRST(&shares->ring))) {
        leave_ring(shares, share);
        if (is_too_early(shares, share, now)) {
            rest_until(shares, share, share->paid_until - BURST);
            continue;
        }
        struct share_member *member = TAILQ_FIRST(&share->queue);
        take_out(share, member);
        if (!TAILQ_EMPTY(&share->queue)) {
            enter_ring(shares, share);
        }
        return member;
    }
    return NULL;
}

nanoseconds shares_due(const struct shares *shares)
{
    if (!TAILQ_EMPTY(&shares->ring)) {
        return 0;
    }
    const struct order_node *node = order_first(&shares->resting);
    return node ? (nanoseconds)node->major : NEVER;
}
