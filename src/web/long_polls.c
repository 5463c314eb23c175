#include "web/web.h"

#include "base/clock.h"
#include "base/memory.h"

#include <stdlib.h>

enum {
    LONGEST_POLL_MS = 25000,
    READ_MS = 60000,
    MOST_WAITING = 400, /* of more, the one that has waited longest is answered */
    COST = 10, /* making answers takes at most one part of so many of the time */
};

/* Two answers to one reader are at least so far apart. */
static const nanoseconds shortest_pause = 200 * NANOSECONDS_PER_MILLISECOND;
/* So long an answer that was made is given to others who ask for the same. */
static const nanoseconds longest_kept = NANOSECONDS_PER_SECOND;

struct long_poll {
    struct http_request *request;
    struct feed_serial after;
    nanoseconds until;
    TAILQ_ENTRY(long_poll) entry;
};

/* ---- answers ---- */

/* What is said beside the copy, now. */
static struct feed_around web_around(const struct web *web)
{
    return (struct feed_around){
        .is_connected = web->follower.link.is_kept,
        .why = web->follower.link.why.bytes,
        .host = web->host,
        .hosts = web->fleet_look.json.bytes,
        .gone = web->fleet_look.gone.bytes,
        .events = 1 + web->follower.events + web->fleet_look.events,
        .wall = milliseconds(clock_wall_now()),
    };
}

static bool is_same(const struct feed_serial *a, const struct feed_serial *b)
{
    return a->instance == b->instance && a->live == b->live && a->events == b->events;
}

static void make(struct long_polls *polls, struct made *made, const struct feed_around *around,
    const struct feed_serial *after, nanoseconds now)
{
    struct web *web = polls->web;
    struct text text = TEXT_INIT;
    nanoseconds began = clock_now();
    feed_print(&web->feed, around, after, now, &text);
    http_bytes_drop(made->bytes);
    *made = (struct made){
        .bytes = http_bytes_of(web->http, &text),
        .after = after ? *after : (struct feed_serial){0},
        .serial = {web->feed.instance, web->follower.link.live.serial, around->events},
        .at = now,
    };
    nanoseconds pause = COST * (clock_now() - began);
    made->again_at = now + pause;
    polls->next_at = now + later(pause, shortest_pause);
}

/* Whether it is what would be made now. One that took long is good for a while: its reader hears
 * of the rest by the serial in it. */
static bool is_fresh(const struct made *made, const struct feed_serial *serial, nanoseconds now)
{
    return made->bytes &&
        (now < made->again_at ||
            (is_same(&made->serial, serial) && now - made->at < longest_kept));
}

/* `after` NULL: all. */
static void long_polls_answer(struct long_polls *polls, struct http_request *request,
    const struct feed_serial *after, nanoseconds now)
{
    const struct feed_around around = web_around(polls->web);
    struct made *made = after ? &polls->changes : &polls->full;
    const struct feed_serial serial = {
        polls->web->feed.instance, polls->web->follower.link.live.serial, around.events};
    if (!is_fresh(made, &serial, now) || (after && !is_same(&made->after, after))) {
        make(polls, made, &around, after, now);
    }
    http_answer(request, HTTP_OK, HTTP_JSON, made->bytes, NULL);
}

static void end_poll(struct long_polls *polls, struct long_poll *poll, nanoseconds now)
{
    TAILQ_REMOVE(&polls->waiting, poll, entry);
    polls->n_waiting--;
    long_polls_answer(polls, poll->request, &poll->after, now);
    free(poll);
}

/* ---- time ---- */

static void long_polls_on_timer(uv_timer_t *timer);

static void long_polls_set_timer(struct long_polls *polls, nanoseconds now)
{
    const struct long_poll *first = TAILQ_FIRST(&polls->waiting);
    const struct feed_around around = web_around(polls->web);
    nanoseconds due = first ? first->until : NEVER;
    const struct long_poll *poll;
    TAILQ_FOREACH (poll, &polls->waiting, entry) {
        if (feed_is_behind(&polls->web->feed, &around, &poll->after)) {
            due = earlier(due, polls->next_at);
            break;
        }
    }
    if (due == NEVER) {
        uv_timer_stop(&polls->timer);
    } else {
        uv_timer_start(&polls->timer, long_polls_on_timer, milliseconds(due - now) + 1, 0);
    }
}

static void turn(struct long_polls *polls)
{
    nanoseconds now = clock_now();
    const struct feed_around around = web_around(polls->web);
    bool may_answer = now >= polls->next_at;
    struct long_poll *poll = TAILQ_FIRST(&polls->waiting);
    for (struct long_poll *next; poll; poll = next) {
        next = TAILQ_NEXT(poll, entry);
        if (now >= poll->until ||
            (may_answer && feed_is_behind(&polls->web->feed, &around, &poll->after))) {
            end_poll(polls, poll, now);
        }
    }
    long_polls_set_timer(polls, now);
}

static void long_polls_on_timer(uv_timer_t *timer)
{
    turn(container_of(timer, struct long_polls, timer));
}

void long_polls_note(struct long_polls *polls)
{
    feed_note(&polls->web->feed);
    if (polls->n_waiting > 0) {
        turn(polls);
    }
}

/* ---- requests ---- */

void long_polls_take(struct long_polls *polls, struct http_request *request)
{
    const char *word = http_query(request, "after");
    struct feed_serial after;
    nanoseconds now = clock_now();
    const struct feed_around around = web_around(polls->web);
    polls->read_at = now;
    if (!word || !feed_serial_parse(word, &after)) {
        long_polls_answer(polls, request, NULL, now);
        return;
    }
    if (feed_is_behind(&polls->web->feed, &around, &after) && now >= polls->next_at) {
        long_polls_answer(polls, request, &after, now);
        return;
    }
    struct long_poll *poll = memory_new(sizeof *poll);
    *poll = (struct long_poll){.request = request,
        .after = after,
        .until = now + LONGEST_POLL_MS * NANOSECONDS_PER_MILLISECOND};
    TAILQ_INSERT_TAIL(&polls->waiting, poll, entry);
    polls->n_waiting++;
    if (polls->n_waiting > MOST_WAITING) {
        end_poll(polls, TAILQ_FIRST(&polls->waiting), now);
    }
    long_polls_set_timer(polls, now);
}

bool long_polls_are_read(const struct long_polls *polls)
{
    return polls->n_waiting > 0 ||
        (polls->read_at > 0 &&
            clock_now() - polls->read_at < READ_MS * NANOSECONDS_PER_MILLISECOND);
}

void long_polls_init(struct long_polls *polls, struct web *web)
{
    polls->web = web;
    TAILQ_INIT(&polls->waiting);
    uv_timer_init(web->loop, &polls->timer);
}

void long_polls_deinit(struct long_polls *polls)
{
    nanoseconds now = clock_now();
    while (!TAILQ_EMPTY(&polls->waiting)) {
        end_poll(polls, TAILQ_FIRST(&polls->waiting), now);
    }
    http_bytes_drop(polls->full.bytes);
    http_bytes_drop(polls->changes.bytes);
    uv_close((uv_handle_t *)&polls->timer, NULL);
}
