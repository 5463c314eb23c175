#include "web/follow_berthd.h"

#include "base/clock.h"
#include "base/memory.h"
#include "log/log.h"

#include <stdlib.h>
#include <string.h>

static void follow_berthd_on_timer(uv_timer_t *timer);
static void on_readable(uv_poll_t *poll, int status, int events);

static void on_poll_closed(uv_handle_t *poll)
{
    free(poll);
}

static void end_poll(struct follower *follower)
{
    if (follower->poll) {
        uv_close((uv_handle_t *)follower->poll, on_poll_closed);
        follower->poll = NULL;
    }
}

static void begin_poll(struct follower *follower)
{
    follower->poll = memory_new(sizeof *follower->poll);
    follower->poll->data = follower;
    if (uv_poll_init(follower->loop, follower->poll, follower->link.connection.fd) != 0) {
        abort(); /* a socket can be polled */
    }
    uv_poll_start(follower->poll, UV_READABLE, on_readable);
}

/* Each reason is said once, however often it is tried again. */
static void follow_berthd_say(struct follower *follower)
{
    const struct live_link *link = &follower->link;
    bool is_same = link->is_kept == follower->was_kept &&
        (link->is_kept || strcmp(follower->said_why, link->why.bytes) == 0);
    if (is_same) {
        return;
    }
    follower->was_kept = link->is_kept;
    follower->events++;
    free(follower->said_why);
    follower->said_why = memory_string(link->why.bytes);
    if (link->is_kept) {
        log_info("following the berthd at %s", link->endpoint.path);
    } else if (link->loss == LIVE_REFUSED) {
        log_warning("berthd refuses to be followed: %s", link->why.bytes);
    } else {
        log_warning("%s", link->why.bytes);
    }
}

/* After each call of the link. */
static void follow_berthd_go_on(struct follower *follower)
{
    struct live_link *link = &follower->link;
    nanoseconds due = link->due;
    if (link->connection.fd < 0) {
        end_poll(follower);
    } else if (!follower->poll) {
        begin_poll(follower);
    }
    if (due == NEVER) {
        uv_timer_stop(&follower->timer);
    } else {
        uint64_t left = milliseconds(later(due - clock_now(), 0));
        uv_timer_start(&follower->timer, follow_berthd_on_timer, left + 1, 0);
    }
    if (link->has_changed) {
        link->has_changed = false;
        follow_berthd_say(follower);
        follower->changed(follower->context);
    }
}

static void follow_berthd_on_timer(uv_timer_t *timer)
{
    struct follower *follower = container_of(timer, struct follower, timer);
    live_link_act(&follower->link, clock_now());
    follow_berthd_go_on(follower);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct follower *follower = poll->data;
    (void)status, (void)events;
    live_link_read(&follower->link, clock_now());
    follow_berthd_go_on(follower);
}

void follower_init(struct follower *follower, uv_loop_t *loop, const struct endpoint *endpoint,
    void (*changed)(void *context), void *context)
{
    *follower = (struct follower){.loop = loop, .changed = changed, .context = context};
    live_link_init(&follower->link, endpoint, "watch\n");
    text_add(&follower->link.why, "berthd has not answered yet");
    follower->said_why = memory_string(follower->link.why.bytes);
    uv_timer_init(loop, &follower->timer);
}

void follower_start(struct follower *follower)
{
    live_link_act(&follower->link, clock_now());
    follow_berthd_go_on(follower);
}

void follower_stop(struct follower *follower)
{
    end_poll(follower);
    live_link_close(&follower->link);
    uv_close((uv_handle_t *)&follower->timer, NULL);
}

void follower_deinit(struct follower *follower)
{
    live_link_deinit(&follower->link);
    free(follower->said_why);
}
