/* state_writer.h - writes the file in the state directory while the daemon serves: a disk may take
 * seconds, so libuv's thread pool makes room, writes and fsyncs, and reports to the loop.
 *
 * One job at a time. The next job stores all that changes meanwhile at once: each change has a
 * serial number, and an image of the state has every change up to one of these. */
#pragma once

#include "journal/state.h"

#include <stdbool.h>
#include <uv.h>

enum state_job {
    STATE_JOB_NONE,
    STATE_JOB_ROOM,
    STATE_JOB_WRITE,
};

/* Called on the loop. */
struct state_writer_events {
    /* The requests for room up to that one: there is room, or there is none because of `error`. */
    void (*on_room)(void *context, uint64_t request, int error);
    /* The result for the changes behind `from`, up to `to`. */
    void (*on_written)(void *context, uint64_t from, uint64_t to, enum stored stored);
};

struct state_writer {
    uv_loop_t *loop;
    struct state *state;
    const struct state_writer_events *events;
    void *context;
    uint64_t changed; /* the newest change */
    uint64_t imaged; /* the newest one given to the disk */
    uint64_t requested, answered; /* requests for room */
    size_t room; /* bytes that the next image is certain to have; 0: not known */
    enum state_job job, last_job;
    bool is_ended;
    uv_work_t work;
    /* The job's, from its beginning to its end: */
    struct state_image image;
    uint64_t up_to; /* the change, or the request */
    uint64_t from;
    size_t bytes; /* of room */
    enum stored stored;
    int error;
    /* For a caller that cannot wait for the loop: */
    uv_mutex_t mutex;
    uv_cond_t done_cond;
    bool is_done;
    uv_thread_t last; /* writes what is left at the end */
};

void state_writer_init(struct state_writer *writer, uv_loop_t *loop, struct state *state,
    const struct state_writer_events *events, void *context);
/* After state_writer_end(), and when the loop is gone. */
void state_writer_deinit(struct state_writer *writer);

/* The state has changed: returns the number of that change. Written from state_writer_begin()
 * on. */
uint64_t state_writer_change(struct state_writer *writer);
/* Asks for room for a change of up to so many bytes; returns the request's number. */
uint64_t state_writer_request_room(struct state_writer *writer);
/* Whether there is certainly room for such a change now. The caller makes it at once. */
bool state_writer_has_room(const struct state_writer *writer);
/* At the end of a turn: begins what there is to do, unless a job is under way. */
void state_writer_begin(struct state_writer *writer);

/* The end: waits for the job under way, then writes what is not on disk yet, all within
 * `patience_ms`. Only thread-directed faults may be unblocked: a separate thread writes, and
 * inherits the mask. False: the disk has not answered (on_written() says STORED_UNKNOWN); do not
 * wait for the thread that waits for it. */
bool state_writer_end(struct state_writer *writer, unsigned patience_ms);
