#include "web/recorder.h"

#include "base/clock.h"
#include "base/memory.h"
#include "log/log.h"
#include "web/berthd_request.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TICK_MS = 5000,
    LIMIT_MS = 30000, /* of an answer to `history` */
    SLACK_MS = 10000, /* asked for twice: clocks are set, and what is there already is ignored */
};

struct recorder {
    struct web *web;
    struct live_watcher watcher;
    uv_timer_t timer;
    uint64_t connection; /* of the follower: the one that is recorded */
    bool is_filled; /* what has ended before it has been added */
    uint64_t covered; /* then: until when the store is whole */
    struct berthd_request *talk;
    struct past past; /* the answer, as far as it has come */
};

static uint64_t wall_now(void)
{
    return milliseconds(clock_wall_now());
}

/* ---- what ends now ---- */

static void on_ended(void *context, const struct past_lease *lease)
{
    struct recorder *recorder = context;
    store_add(recorder->web->store, lease);
}

/* ---- what has ended before ---- */

/* Since when nothing is missing: `before`, until when the store was whole (0: never), or when the
 * oldest lease ended that berthd still knows, which none does of before the boot. A berthd that
 * knows of none has lost none. */
static uint64_t covered_from(const struct past *past, uint64_t before, uint64_t now)
{
    uint64_t up = milliseconds(clock_now()), booted = now > up ? now - up : 0;
    const struct optional *since = &past->sources[0].since;
    uint64_t oldest = since->is_given ? since->number : booted;
    uint64_t from = before > oldest ? before : oldest > booted ? oldest : booted;
    return from > 0 && from < now ? from : now;
}

/* berthd has followed on since before it was asked: nothing is between. */
static void recorder_on_end(void *context, const char *why)
{
    struct recorder *recorder = context;
    struct store *store = recorder->web->store;
    struct past *past = &recorder->past;
    recorder->talk = NULL;
    if (why) {
        log_debug("what has ended is not known: %s", why);
        past_deinit(past);
        return; /* the next tick asks again */
    }
    for (size_t i = 0; i < past->n; i++) {
        store_add(store, &past->leases[i]);
    }
    uint64_t now = wall_now();
    store_covers(store, covered_from(past, store_covered_until(store), now), now);
    recorder->covered = now;
    recorder->is_filled = true;
    past_deinit(past);
}

static void fill(struct recorder *recorder)
{
    const struct request_callbacks talker = {
        past_take, &recorder->past, recorder_on_end, recorder};
    struct web *web = recorder->web;
    uint64_t covered = store_covered_until(web->store), now = wall_now();
    char request[64] = "history\n";
    if (covered > 0) {
        uint64_t span = (now > covered ? now - covered : 0) + SLACK_MS;
        snprintf(request, sizeof request, "history since=%" PRIu64 "\n", span);
    }
    past_deinit(&recorder->past);
    recorder->talk = berthd_request_begin(
        web->loop, &web->follower.link.endpoint, request, LIMIT_MS, &talker);
}

static void stop_filling(struct recorder *recorder)
{
    berthd_request_stop(recorder->talk);
    recorder->talk = NULL;
    recorder->is_filled = false;
}

static void on_missed(void *context)
{
    struct recorder *recorder = context;
    stop_filling(recorder);
    fill(recorder);
}

/* ---- the connection ---- */

static void cover(struct recorder *recorder)
{
    uint64_t now = wall_now();
    if (recorder->is_filled && now > recorder->covered) {
        store_covers(recorder->web->store, recorder->covered, now);
        recorder->covered = now;
    }
}

void recorder_note(struct recorder *recorder)
{
    const struct follower *follower = &recorder->web->follower;
    if (!follower->link.is_kept) {
        cover(recorder);
        stop_filling(recorder);
    } else if (recorder->connection != follower->link.connections) {
        recorder->connection = follower->link.connections;
        stop_filling(recorder);
        fill(recorder);
    }
}

static void on_tick(uv_timer_t *timer)
{
    struct recorder *recorder = container_of(timer, struct recorder, timer);
    cover(recorder);
    if (recorder->web->follower.link.is_kept && !recorder->is_filled && !recorder->talk) {
        fill(recorder);
    }
}

struct recorder *recorder_new(struct web *web)
{
    struct recorder *recorder = memory_new(sizeof *recorder);
    *recorder = (struct recorder){.web = web};
    recorder->watcher = (struct live_watcher){
        .context = recorder, .ended = on_ended, .missed = on_missed};
    live_watch(&web->follower.link.live, &recorder->watcher);
    uv_timer_init(web->loop, &recorder->timer);
    uv_timer_start(&recorder->timer, on_tick, TICK_MS, TICK_MS);
    return recorder;
}

static void recorder_on_closed(uv_handle_t *handle)
{
    free(container_of(handle, struct recorder, timer));
}

void recorder_free(struct recorder *recorder)
{
    cover(recorder);
    stop_filling(recorder);
    past_deinit(&recorder->past);
    uv_close((uv_handle_t *)&recorder->timer, recorder_on_closed);
}
