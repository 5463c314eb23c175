#include "web/follow_berthd.h"

#include "base/clock.h"
#include "base/memory.h"
#include "client/answer.h"
#include "client/random.h"
#include "log/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const nanoseconds first_pause = 100 * NANOSECONDS_PER_MILLISECOND;
static const nanoseconds longest_pause = 5 * NANOSECONDS_PER_SECOND;

static void connect_now(struct follower *follower);

static void on_timer(uv_timer_t *timer)
{
    connect_now(container_of(timer, struct follower, timer));
}

/* Says it once. */
static void explain(struct follower *follower, const char *why)
{
    if (follower->is_connected || strcmp(follower->why, why) != 0) {
        snprintf(follower->why, sizeof follower->why, "%s", why);
        log_warning("%s", why);
        follower->is_connected = false;
        follower->events++;
        follower->changed(follower->context);
    }
}

static void again_later(struct follower *follower, const char *why)
{
    explain(follower, why);
    uint64_t pause = milliseconds(
        backoff_next(&follower->backoff, first_pause, longest_pause, random_bits()));
    uv_timer_start(&follower->timer, on_timer, pause > 0 ? pause : 1, 0);
}

/* ---- lines ---- */

/* The answer to a `watch` that is refused. */
static enum talk_result take_error(struct follower *follower, char *line)
{
    static struct answer answer;
    char why[sizeof follower->why];
    answer_parse(&answer, line);
    if (answer.code == CODE_UNKNOWN_COMMAND) {
        snprintf(why, sizeof why, "the berthd at %s is older than this berth-web: it does not "
            "know `watch`", follower->endpoint.path);
    } else {
        if (answer.text && !percent_decode(answer.text)) {
            answer.text = NULL;
        }
        snprintf(why, sizeof why, "berthd refuses to be followed: %s",
            answer.text ? answer.text : answer.code_word);
    }
    explain(follower, why);
    return TALK_DONE;
}

static enum talk_result on_line(void *context, char *line)
{
    struct follower *follower = context;
    if (!follower->is_connected && strncmp(line, "error ", 6) == 0) {
        return take_error(follower, line);
    }
    uint64_t serial = follower->live.serial;
    switch (live_take(&follower->live, line, clock_now())) {
    case LIVE_MALFORMED:
        return TALK_NONSENSE;
    case LIVE_MORE:
        return TALK_MORE;
    case LIVE_END:
        break;
    }
    if (!follower->is_connected) {
        follower->is_connected = true;
        follower->connections++;
        follower->events++;
        follower->why[0] = '\0';
        backoff_reset(&follower->backoff);
        log_info("following the berthd at %s", follower->endpoint.path);
        follower->changed(follower->context);
    } else if (follower->live.serial != serial) {
        follower->changed(follower->context);
    }
    return TALK_MORE;
}

/* ---- the connection ---- */

static void on_end(void *context, const char *why)
{
    struct follower *follower = context;
    follower->talk = NULL;
    again_later(follower, why ? why : follower->why);
}

static void connect_now(struct follower *follower)
{
    const struct talker talker = {on_line, on_end, follower};
    char why[sizeof follower->why];
    live_forget(&follower->live);
    follower->talk = talk_begin(follower->loop, &follower->endpoint, "watch ended=1\n", 0,
        &talker, why, sizeof why);
    if (!follower->talk) {
        again_later(follower, why);
    }
}

void follower_init(struct follower *follower, uv_loop_t *loop, const struct endpoint *endpoint,
    void (*changed)(void *context), void *context)
{
    *follower = (struct follower){
        .loop = loop, .endpoint = *endpoint, .changed = changed, .context = context};
    snprintf(follower->why, sizeof follower->why, "berthd has not answered yet");
    live_init(&follower->live);
    uv_timer_init(loop, &follower->timer);
}

void follower_start(struct follower *follower)
{
    connect_now(follower);
}

void follower_stop(struct follower *follower)
{
    talk_stop(follower->talk);
    follower->talk = NULL;
    uv_close((uv_handle_t *)&follower->timer, NULL);
}

void follower_deinit(struct follower *follower)
{
    live_deinit(&follower->live);
}
