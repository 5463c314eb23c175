#include "admission/followers.h"

#include "base/clock.h"
#include "base/memory.h"
#include "core/news.h"
#include "record/loop_iteration.h"

#include <stdlib.h>

/* Of a pass, in one turn of the loop, and one more batch. */
#define LONGEST (NANOSECONDS_PER_MILLISECOND / 4)
#define PAUSE (5 * NANOSECONDS_PER_MILLISECOND) /* at least, between two passes */

enum {
    REST = 2, /* how many times as long as the pass the pause is */
    REST_OF_PASS_MS = 1, /* until a pass that was put off goes on */
};

/* ---- passes ---- */

/* Whether it is to have a batch now. */
static bool is_due(const struct followed *followed)
{
    return follower_has_news(&followed->follower) &&
        followed->followers->ops.may_begin(followed->conn);
}

static void followers_on_timer(uv_timer_t *timer);

static void arm(struct followers *followers)
{
    uint64_t in_ms = milliseconds_until(followers->rest_until, clock_now());
    if (!uv_is_active((uv_handle_t *)&followers->timer)) {
        uv_timer_start(&followers->timer, followers_on_timer, in_ms, 0);
    }
}

/* False: it has lasted long, and the others wait. */
static bool pass(struct followers *followers, nanoseconds began)
{
    nanoseconds now = began;
    while (followers->next && now - began < LONGEST) {
        struct followed *followed = followers->next;
        followers->next = TAILQ_NEXT(followed, link);
        if (is_due(followed)) {
            followers->ops.begin(followed->conn, &followed->follower.answer);
        }
        now = clock_now();
    }
    return !followers->next;
}

static void followers_on_timer(uv_timer_t *timer)
{
    struct followers *followers = container_of(timer, struct followers, timer);
    const struct follow_source *source = &followers->source;
    nanoseconds began = clock_now();
    if (!followers->next) {
        followers->next = TAILQ_FIRST(&followers->list);
        followers->busy = 0;
        followers->news_end = news_end(core_news(source->walked.core));
        followers->ended_end = source->ended_end(source->walked.context);
    }
    followers->is_passing = true;
    bool is_over = pass(followers, began);
    followers->is_passing = false;
    nanoseconds now = clock_now();
    followers->busy += now - began;
    if (is_over) {
        followers->rest_until = now + later(REST * followers->busy, PAUSE);
    } else {
        uv_timer_start(timer, followers_on_timer, REST_OF_PASS_MS, 0);
    }
    loop_iteration_end(followers->turn);
}

void followers_look(struct followed *followed)
{
    if (!followed->followers->is_passing && is_due(followed)) {
        arm(followed->followers);
    }
}

void followers_end_turn(struct followers *followers)
{
    const struct follow_source *source = &followers->source;
    if (followers->news_end != news_end(core_news(source->walked.core)) ||
        followers->ended_end != source->ended_end(source->walked.context)) {
        arm(followers);
    }
}

/* ---- who follows ---- */

void followers_begin(struct followers *followers, struct followers_ops ops,
    const struct follow_source *source, struct loop_iteration *turn)
{
    followers->ops = ops;
    followers->source = *source;
    followers->turn = turn;
    TAILQ_INIT(&followers->list);
}

struct followed *followers_enter(struct followers *followers, struct conn *conn, bool wants_ended)
{
    struct followed *followed = memory_new(sizeof *followed);
    follower_init(&followed->follower, &followers->source, wants_ended);
    followed->followers = followers;
    followed->conn = conn;
    TAILQ_INSERT_TAIL(&followers->list, followed, link);
    followers->n++;
    return followed;
}

struct followed *followers_leave(struct followed *followed)
{
    if (followed) {
        struct followers *followers = followed->followers;
        if (followers->next == followed) {
            followers->next = TAILQ_NEXT(followed, link);
        }
        TAILQ_REMOVE(&followers->list, followed, link);
        followers->n--;
        follower_deinit(&followed->follower);
        free(followed);
    }
    return NULL;
}
