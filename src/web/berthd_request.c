#include "web/berthd_request.h"

#include "base/memory.h"
#include "client/connection.h"

#include <stdlib.h>
#include <string.h>

const char request_is_late[] = "no answer in time";

struct berthd_request {
    struct connection connection;
    struct request_callbacks talker;
    uv_poll_t poll;
    uv_timer_t timer;
    unsigned n_open;
};

static void berthd_request_on_closed(uv_handle_t *handle)
{
    struct berthd_request *talk = handle->data;
    if (--talk->n_open == 0) {
        free(talk);
    }
}

void berthd_request_stop(struct berthd_request *talk)
{
    if (talk) {
        uv_close((uv_handle_t *)&talk->poll, berthd_request_on_closed);
        uv_close((uv_handle_t *)&talk->timer, berthd_request_on_closed);
        connection_close(&talk->connection);
    }
}

static void finish(struct berthd_request *talk, const char *why)
{
    const struct request_callbacks talker = talk->talker;
    berthd_request_stop(talk);
    talker.end(talker.context, why);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct berthd_request *talk = container_of(poll, struct berthd_request, poll);
    (void)status, (void)events;
    switch (connection_take(&talk->connection, talk->talker.take, talk->talker.object)) {
    case TAKEN_MORE:
        break;
    case TAKEN_ALL:
        finish(talk, NULL);
        break;
    case TAKEN_NONSENSE:
        finish(talk, "what it says is not the protocol of berthd");
        break;
    case TAKEN_CLOSED:
        finish(talk, "it has ended the connection");
    }
}

static void on_limit(uv_timer_t *timer)
{
    finish(container_of(timer, struct berthd_request, timer), request_is_late);
}

struct berthd_request *berthd_request_begin(uv_loop_t *loop, const struct endpoint *endpoint,
    const char *request, uint64_t limit, const struct request_callbacks *talker)
{
    struct berthd_request *talk = memory_new(sizeof *talk);
    *talk = (struct berthd_request){.connection = CONNECTION_INIT, .talker = *talker, .n_open = 2};
    if (connection_open(&talk->connection, endpoint) != 0) {
        free(talk);
        return NULL;
    }
    if (uv_poll_init(loop, &talk->poll, talk->connection.fd) != 0) {
        abort(); /* a socket can be polled */
    }
    uv_timer_init(loop, &talk->timer);
    talk->poll.data = talk->timer.data = talk;
    uv_poll_start(&talk->poll, UV_READABLE, on_readable);
    uv_timer_start(&talk->timer, on_limit, limit, 0);
    /* If it cannot be sent, the end of the connection is there to be read. */
    connection_send(&talk->connection, request, strlen(request));
    return talk;
}
