#include "record/state_wait.h"

#include "base/memory.h"
#include "journal/state.h"

#include <assert.h>

enum { LOOK_AGAIN_MS = 1000 };

static void state_wait_look(uv_timer_t *timer);

static void state_wait_on_work(uv_work_t *work)
{
    struct state_wait *wait = container_of(work, struct state_wait, work);
    wait->is_readable = state_can_be_read(wait->state);
}

static void on_looked(uv_work_t *work, int status)
{
    struct state_wait *wait = container_of(work, struct state_wait, work);
    wait->is_looking = false;
    if (status != 0 || uv_is_closing((uv_handle_t *)&wait->timer)) {
        return; /* berthd ends */
    } else if (!wait->is_readable || !wait->readable(wait)) {
        uv_timer_start(&wait->timer, state_wait_look, LOOK_AGAIN_MS, 0);
    }
}

static void state_wait_look(uv_timer_t *timer)
{
    struct state_wait *wait = container_of(timer, struct state_wait, timer);
    wait->is_looking = true;
    int error = uv_queue_work(timer->loop, &wait->work, state_wait_on_work, on_looked);
    assert(error == 0);
    (void)error;
}

void state_wait_begin(struct state_wait *wait, const struct state *state,
    bool (*readable)(struct state_wait *wait))
{
    wait->state = state;
    wait->readable = readable;
    if (state->found == STATE_UNREADABLE) {
        uv_timer_start(&wait->timer, state_wait_look, LOOK_AGAIN_MS, 0);
    }
}
