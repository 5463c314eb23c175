#include "admission/fair_queue.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>

#define BURST (FAIR_BURST_MS * NANOSECONDS_PER_MILLISECOND)
#define MAX_DEBT (FAIR_DEBT_MS * NANOSECONDS_PER_MILLISECOND)
#define UNIT (FAIR_UNIT_US * INT64_C(1000))

void fair_queue_init(struct fair_queue *fair_queue, uint32_t own_uid)
{
    *fair_queue =
        (struct fair_queue){.by_uid = TABLE_INIT, .resting = SORTED_SET_INIT, .own_uid = own_uid};
    TAILQ_INIT(&fair_queue->ring);
    LIST_INIT(&fair_queue->all);
}

static struct fair_user *fair_user_of(struct sorted_set_node *node)
{
    return container_of(node, struct fair_user, rest);
}

/* `until`: of who rests. */
static void move_to(struct fair_queue *fair_queue, struct fair_user *fair_user,
    enum fair_place place, nanoseconds until)
{
    if (fair_user->place == FAIR_IN_RING) {
        TAILQ_REMOVE(&fair_queue->ring, fair_user, ring_link);
    } else if (fair_user->place == FAIR_RESTING) {
        sorted_set_remove(&fair_queue->resting, &fair_user->rest);
    }
    if (place == FAIR_IN_RING) {
        TAILQ_INSERT_TAIL(&fair_queue->ring, fair_user, ring_link);
    } else if (place == FAIR_RESTING) {
        sorted_set_insert(&fair_queue->resting, &fair_user->rest, (uint64_t)until, fair_user->uid);
    }
    fair_user->place = place;
}

static void fair_queue_forget(struct fair_queue *fair_queue, struct fair_user *fair_user)
{
    assert(fair_user->n_members == 0 && fair_user->place != FAIR_IN_RING);
    move_to(fair_queue, fair_user, FAIR_NOWHERE, 0);
    table_remove(&fair_queue->by_uid, &fair_user->node);
    LIST_REMOVE(fair_user, link);
    free(fair_user);
}

void fair_queue_deinit(struct fair_queue *fair_queue)
{
    struct sorted_set_node *node;
    while ((node = sorted_set_first(&fair_queue->resting))) {
        fair_queue_forget(fair_queue, fair_user_of(node));
    }
    table_deinit(&fair_queue->by_uid);
}

/* ---- members ---- */

static struct fair_user *fair_queue_find(const struct fair_queue *fair_queue, uint32_t uid)
{
    struct table_node *node = table_find_number(&fair_queue->by_uid, uid);
    return node ? container_of(node, struct fair_user, node) : NULL;
}

static struct fair_user *make(struct fair_queue *fair_queue, uint32_t uid)
{
    struct fair_user *fair_user = memory_new(sizeof *fair_user);
    fair_user->uid = uid;
    fair_user->is_exempt = uid == 0 || uid == fair_queue->own_uid;
    TAILQ_INIT(&fair_user->queue);
    table_insert(&fair_queue->by_uid, &fair_user->node, hash_number(uid));
    LIST_INSERT_HEAD(&fair_queue->all, fair_user, link);
    return fair_user;
}

bool fair_user_join(
    struct fair_queue *fair_queue, struct fair_member *member, uint32_t uid, nanoseconds now)
{
    struct fair_user *fair_user = fair_queue_find(fair_queue, uid);
    fair_user = fair_user ? fair_user : make(fair_queue, uid);
    if (fair_user_is_limited(fair_queue, fair_user)) {
        if (fair_user->came_until > now + FAIR_CROWD * fair_queue->interval) {
            return false;
        }
        fair_user->came_until = later(fair_user->came_until, now) + fair_queue->interval;
    }
    fair_user->n_members++;
    *member = (struct fair_member){.fair_user = fair_user};
    return true;
}

void fair_user_leave(struct fair_queue *fair_queue, struct fair_member *member, nanoseconds now)
{
    struct fair_user *fair_user = member->fair_user;
    if (!fair_user) {
        return;
    }
    fair_queue_withdraw(fair_queue, member);
    member->fair_user = NULL;
    if (--fair_user->n_members > 0) {
        return;
    }
    nanoseconds owes_until = later(fair_user->paid_until, fair_user->came_until);
    if (fair_user_is_limited(fair_queue, fair_user) && owes_until > now) {
        move_to(fair_queue, fair_user, FAIR_RESTING, owes_until); /* who comes back owes still */
    } else {
        fair_queue_forget(fair_queue, fair_user);
    }
}

/* ---- the rate ---- */

static bool is_too_early(
    const struct fair_queue *fair_queue, const struct fair_user *fair_user, nanoseconds now)
{
    return fair_user_is_limited(fair_queue, fair_user) && fair_user->paid_until > now + BURST;
}

bool fair_user_must_wait(
    const struct fair_queue *fair_queue, const struct fair_user *fair_user, nanoseconds now)
{
    return fair_user_is_limited(fair_queue, fair_user) &&
        (!TAILQ_EMPTY(&fair_user->queue) || is_too_early(fair_queue, fair_user, now));
}

void fair_user_charge(const struct fair_queue *fair_queue, struct fair_user *fair_user, uint32_t n,
    nanoseconds more, nanoseconds now)
{
    if (!fair_user_is_limited(fair_queue, fair_user)) {
        return;
    }
    nanoseconds units = earlier(n + (more > 0 ? more / UNIT : 0),
        (BURST + MAX_DEBT) / fair_queue->interval + 1); /* more is no dearer */
    nanoseconds until = later(fair_user->paid_until, now) + units * fair_queue->interval;
    fair_user->paid_until = earlier(until, now + BURST + MAX_DEBT);
}

/* ---- the ring ---- */

/* It has a queue: where it belongs. */
static void line_up(struct fair_queue *fair_queue, struct fair_user *fair_user, nanoseconds now)
{
    if (is_too_early(fair_queue, fair_user, now)) {
        move_to(fair_queue, fair_user, FAIR_RESTING, fair_user->paid_until - BURST);
    } else {
        move_to(fair_queue, fair_user, FAIR_IN_RING, 0);
    }
}

/* Its time has come, or the rate is another one. */
static void end_rest(struct fair_queue *fair_queue, struct fair_user *fair_user)
{
    if (fair_user->n_members == 0) {
        fair_queue_forget(fair_queue, fair_user);
    } else {
        /* Nothing put off: it came back to a debt that is paid by now. */
        bool has_queue = !TAILQ_EMPTY(&fair_user->queue);
        move_to(fair_queue, fair_user, has_queue ? FAIR_IN_RING : FAIR_NOWHERE, 0);
    }
}

void fair_queue_put_off(struct fair_queue *fair_queue, struct fair_member *member, nanoseconds now)
{
    struct fair_user *fair_user = member->fair_user;
    assert(!fair_user_is_queued(member));
    bool was_empty = TAILQ_EMPTY(&fair_user->queue);
    TAILQ_INSERT_TAIL(&fair_user->queue, member, link);
    if (was_empty) {
        line_up(fair_queue, fair_user, now);
    }
}

static void take_out(struct fair_user *fair_user, struct fair_member *member)
{
    TAILQ_REMOVE(&fair_user->queue, member, link);
    member->link.tqe_prev = NULL;
}

void fair_queue_withdraw(struct fair_queue *fair_queue, struct fair_member *member)
{
    struct fair_user *fair_user = member->fair_user;
    if (!fair_user || !fair_user_is_queued(member)) {
        return;
    }
    take_out(fair_user, member);
    if (TAILQ_EMPTY(&fair_user->queue)) {
        move_to(fair_queue, fair_user, FAIR_NOWHERE, 0);
    }
}

void fair_queue_set_rate(struct fair_queue *fair_queue, uint32_t per_second)
{
    fair_queue->interval = per_second == UNBOUNDED ? 0 : NANOSECONDS_PER_SECOND / per_second;
    struct fair_user *each;
    LIST_FOREACH (each, &fair_queue->all, link) {
        each->came_until = 0; /* it may be half an hour ahead, but what is paid is not */
    }
    struct sorted_set_node *node;
    while ((node = sorted_set_first(&fair_queue->resting))) {
        end_rest(fair_queue, fair_user_of(node));
    }
}

static void wake_rested(struct fair_queue *fair_queue, nanoseconds now)
{
    struct sorted_set_node *node;
    while ((node = sorted_set_first(&fair_queue->resting)) && node->major <= (uint64_t)now) {
        end_rest(fair_queue, fair_user_of(node));
    }
}

struct fair_member *fair_queue_next(struct fair_queue *fair_queue, nanoseconds now)
{
    struct fair_user *fair_user;
    wake_rested(fair_queue, now);
    while ((fair_user = TAILQ_FIRST(&fair_queue->ring))) {
        if (is_too_early(fair_queue, fair_user, now)) {
            line_up(fair_queue, fair_user, now);
            continue;
        }
        struct fair_member *member = TAILQ_FIRST(&fair_user->queue);
        take_out(fair_user, member);
        bool has_more = !TAILQ_EMPTY(&fair_user->queue);
        move_to(fair_queue, fair_user, has_more ? FAIR_IN_RING : FAIR_NOWHERE, 0);
        return member;
    }
    return NULL;
}

nanoseconds fair_queue_due(const struct fair_queue *fair_queue)
{
    if (!TAILQ_EMPTY(&fair_queue->ring)) {
        return 0;
    }
    const struct sorted_set_node *node = sorted_set_first(&fair_queue->resting);
    return node ? (nanoseconds)node->major : NEVER;
}
