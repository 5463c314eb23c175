#include "record/state_writer.h"

#include "base/memory.h"
#include "record/journal_log.h"
#include "wire/protocol.h"

#include <assert.h>
#include <stdlib.h>

enum { CHANGE_BYTES = LINE_BYTES }; /* more than one request can add */

/* ---- in the pool, or in the thread of the last write ---- */

static void do_job(struct state_writer *writer)
{
    const struct state *state = writer->state;
    if (writer->job == STATE_JOB_WRITE) {
        writer->stored = state_image_store(&writer->image, state, &writer->error);
    } else {
        writer->error = state_make_room(state, writer->bytes);
    }
    uv_mutex_lock(&writer->mutex);
    writer->is_done = true;
    uv_cond_signal(&writer->done_cond);
    uv_mutex_unlock(&writer->mutex);
}

static void state_writer_on_work(uv_work_t *work)
{
    do_job(container_of(work, struct state_writer, work));
}

static void on_last_write(void *argument)
{
    do_job(argument);
}

/* ---- on the loop ---- */

static void settle_write(struct state_writer *writer)
{
    state_log_stored(writer->state, writer->stored, writer->error);
    state_image_settle(&writer->image, writer->state, writer->stored);
    text_deinit(&writer->image.text);
    writer->events->on_written(writer->context, writer->from, writer->up_to, writer->stored);
}

static void settle_room(struct state_writer *writer)
{
    writer->room = writer->error == 0 ? writer->bytes : 0;
    writer->answered = writer->up_to;
    writer->events->on_room(writer->context, writer->up_to, writer->error);
}

static void settle(struct state_writer *writer)
{
    enum state_job job = writer->job;
    writer->last_job = job;
    writer->job = STATE_JOB_NONE;
    if (job == STATE_JOB_WRITE) {
        settle_write(writer);
    } else {
        settle_room(writer);
    }
}

static void on_done(uv_work_t *work, int status)
{
    struct state_writer *writer = container_of(work, struct state_writer, work);
    (void)status;
    if (!writer->is_ended) { /* else the end has settled it, or given it up */
        settle(writer);
    }
}

static void begin(struct state_writer *writer, enum state_job job)
{
    writer->job = job;
    writer->is_done = false;
    int error = uv_queue_work(writer->loop, &writer->work, state_writer_on_work, on_done);
    assert(error == 0);
    (void)error;
}

/* The image uses up the allocated space. */
static void take_image(struct state_writer *writer)
{
    state_image_init(&writer->image, writer->state);
    writer->room = 0;
    writer->from = writer->imaged;
    writer->up_to = writer->imaged = writer->changed;
}

static void begin_room(struct state_writer *writer)
{
    uint64_t n = writer->requested - writer->answered;
    writer->up_to = writer->requested;
    writer->bytes = state_max_bytes(writer->state) + n * CHANGE_BYTES;
    begin(writer, STATE_JOB_ROOM);
}

/* Room first, so that the same image has what it is for; but not for ever. */
void state_writer_begin(struct state_writer *writer)
{
    bool has_changes = writer->changed > writer->imaged;
    bool wants_room = writer->requested > writer->answered;
    if (writer->job != STATE_JOB_NONE || writer->is_ended) {
        return;
    }
    if (wants_room && !(has_changes && writer->last_job == STATE_JOB_ROOM)) {
        begin_room(writer);
    } else if (has_changes) {
        take_image(writer);
        begin(writer, STATE_JOB_WRITE);
    }
}

uint64_t state_writer_change(struct state_writer *writer)
{
    return ++writer->changed;
}

uint64_t state_writer_request_room(struct state_writer *writer)
{
    return ++writer->requested;
}

bool state_writer_has_room(const struct state_writer *writer)
{
    return state_max_bytes(writer->state) + CHANGE_BYTES <= writer->room;
}

/* ---- life ---- */

void state_writer_init(struct state_writer *writer, uv_loop_t *loop, struct state *state,
    const struct state_writer_events *events, void *context)
{
    *writer = (struct state_writer){
        .loop = loop, .state = state, .events = events, .context = context};
    if (uv_mutex_init(&writer->mutex) < 0 || uv_cond_init(&writer->done_cond) < 0) {
        abort();
    }
}

/* Whether the job is over by `end`, in uv_hrtime(); it may not have begun. */
static bool wait_for_job(struct state_writer *writer, uint64_t end)
{
    uv_mutex_lock(&writer->mutex);
    for (uint64_t now = uv_hrtime(); !writer->is_done && now < end; now = uv_hrtime()) {
        uv_cond_timedwait(&writer->done_cond, &writer->mutex, end - now);
    }
    bool is_done = writer->is_done;
    uv_mutex_unlock(&writer->mutex);
    return is_done;
}

/* A job that no thread has begun is done again, or not at all. */
static void cancel(struct state_writer *writer)
{
    if (writer->job == STATE_JOB_WRITE) {
        text_deinit(&writer->image.text);
        writer->imaged = writer->from;
    }
    writer->job = STATE_JOB_NONE;
}

/* The thread may still go on, with the image and the file. */
static void give_up(struct state_writer *writer)
{
    if (writer->job == STATE_JOB_WRITE) {
        writer->events->on_written(writer->context, writer->from, writer->up_to, STORED_UNKNOWN);
    }
    if (writer->changed > writer->imaged) {
        writer->events->on_written(
            writer->context, writer->imaged, writer->changed, STORED_NOT);
    }
}

/* Not in the pool, whose threads may all be waiting for a name service. If no other thread can be
 * had, waits for the disk without a bound: a change that was answered is worth more. */
static bool write_rest(struct state_writer *writer, uint64_t end)
{
    if (writer->changed == writer->imaged) {
        return true;
    }
    take_image(writer);
    writer->job = STATE_JOB_WRITE;
    writer->is_done = false;
    if (uv_thread_create(&writer->last, on_last_write, writer) < 0) {
        do_job(writer);
    } else if (!wait_for_job(writer, end)) {
        give_up(writer);
        return false;
    } else {
        uv_thread_join(&writer->last);
    }
    settle(writer);
    return true;
}

bool state_writer_end(struct state_writer *writer, unsigned patience_ms)
{
    uint64_t end = uv_hrtime() + patience_ms * UINT64_C(1000000);
    writer->is_ended = true;
    if (writer->job != STATE_JOB_NONE && uv_cancel((uv_req_t *)&writer->work) == 0) {
        cancel(writer);
    } else if (writer->job != STATE_JOB_NONE && !wait_for_job(writer, end)) {
        give_up(writer);
        return false;
    } else if (writer->job != STATE_JOB_NONE) {
        settle(writer);
    }
    return write_rest(writer, end);
}

void state_writer_deinit(struct state_writer *writer)
{
    uv_cond_destroy(&writer->done_cond);
    uv_mutex_destroy(&writer->mutex);
}
