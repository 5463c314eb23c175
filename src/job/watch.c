#include "job/watch.h"

#include "base/memory.h"
#include "job/process.h"
#include "log/log.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOOKS_PER_SECOND = 10, LOOK_MS = 1000 / LOOKS_PER_SECOND };

/* Lives until libuv has let go, which may be longer than its watch. */
struct pidfd {
    uv_poll_t poll;
    struct watches *watches;
    struct watch *watch;
    int fd;
};

struct watch {
    struct watches *watches;
    struct watch_queue *queue; /* the one that it is in */
    TAILQ_ENTRY(watch) link;
    struct pidfd *pidfd; /* or NULL */
    struct process process;
    watch_gone_function *gone;
    void *context;
};

static void move(struct watch *watch, struct watch_queue *queue)
{
    struct watches *watches = watch->watches;
    if (watch->queue) {
        TAILQ_REMOVE(watch->queue, watch, link);
        watches->n_looked_at -= watch->queue == &watches->looked_at;
    }
    if (queue) {
        TAILQ_INSERT_TAIL(queue, watch, link);
        watches->n_looked_at += queue == &watches->looked_at;
    }
    watch->queue = queue;
}

static void report(struct watch *watch)
{
    move(watch, &watch->watches->reported);
    watch->gone(watch->watches, watch->context); /* which may free it */
}

/* ---- the timer ---- */

static void watch_on_timer(uv_timer_t *timer);

static void watch_set_timer(struct watches *watches)
{
    if (!TAILQ_EMPTY(&watches->gone)) {
        uv_timer_start(&watches->timer, watch_on_timer, 0, 0);
    } else if (!TAILQ_EMPTY(&watches->looked_at) && !uv_is_active((uv_handle_t *)&watches->timer)) {
        uv_timer_start(&watches->timer, watch_on_timer, LOOK_MS, 0);
    }
}

/* ---- by pidfd ---- */

static void watch_on_closed(uv_handle_t *handle)
{
    struct pidfd *pidfd = container_of((uv_poll_t *)handle, struct pidfd, poll);
    close(pidfd->fd);
    pidfd->watches->n_pidfds--;
    free(pidfd);
}

static void drop_pidfd(struct watch *watch)
{
    if (watch->pidfd) {
        uv_close((uv_handle_t *)&watch->pidfd->poll, watch_on_closed);
        watch->pidfd = NULL;
    }
}

static void on_pidfd(uv_poll_t *poll, int status, int events)
{
    (void)events;
    struct watch *watch = container_of(poll, struct pidfd, poll)->watch;
    drop_pidfd(watch);
    if (status < 0) { /* the process has not ended; our poll has failed */
        move(watch, &watch->watches->looked_at);
        watch_set_timer(watch->watches);
        return;
    }
    report(watch);
}

/* 0, or an error number; ESRCH: the process is gone. */
static int watch_by_pidfd(struct watch *watch)
{
    struct watches *watches = watch->watches;
    if (watches->n_pidfds >= watches->max) {
        return EMFILE;
    }
    int fd = process_open(&watch->process);
    if (fd < 0) {
        return errno;
    }
    struct pidfd *pidfd = memory_new(sizeof *pidfd);
    int error = uv_poll_init(watches->loop, &pidfd->poll, fd);
    if (error < 0) {
        close(fd);
        free(pidfd);
        return -error;
    }
    pidfd->fd = fd;
    pidfd->watches = watches;
    pidfd->watch = watch;
    watch->pidfd = pidfd;
    watches->n_pidfds++;
    error = uv_poll_start(&pidfd->poll, UV_READABLE, on_pidfd);
    assert(error == 0);
    return 0;
}

/* ---- by looking ---- */

/* Takes a pidfd instead if one can be had by now. */
static int look(struct watch *watch)
{
    struct watches *watches = watch->watches;
    int error = watch_by_pidfd(watch);
    bool is_gone = error == ESRCH || (error != 0 && !process_is_alive(&watch->process));
    move(watch, is_gone ? &watches->gone : error == 0 ? &watches->with_pidfd : &watches->looked_at);
    return is_gone ? 0 : error;
}

/* A part each time, so that thousands do not hold up the loop. It does not get smaller within a
 * second: those at the end still have their turn in time if all before them are gone. */
static uint32_t next_part(struct watches *watches)
{
    uint32_t part = (watches->n_looked_at + LOOKS_PER_SECOND - 1) / LOOKS_PER_SECOND;
    if (watches->looks_left == 0) {
        watches->looks_left = LOOKS_PER_SECOND;
        watches->part = 0;
    }
    watches->looks_left--;
    watches->part = part > watches->part ? part : watches->part;
    return watches->part < watches->n_looked_at ? watches->part : watches->n_looked_at;
}

static void watch_on_timer(uv_timer_t *timer)
{
    struct watches *watches = container_of(timer, struct watches, timer);
    for (uint32_t n = next_part(watches); n > 0; n--) {
        look(TAILQ_FIRST(&watches->looked_at));
    }
    struct watch *watch;
    while ((watch = TAILQ_FIRST(&watches->gone))) {
        report(watch);
    }
    watch_set_timer(watches);
}

/* ---- watches ---- */

struct watch *watch_new(struct watches *watches, const struct process *process,
    watch_gone_function *gone, void *context)
{
    struct watch *watch = memory_new(sizeof *watch);
    *watch = (struct watch){
        .watches = watches,
        .process = *process,
        .gone = gone,
        .context = context,
    };
    int error = look(watch);
    if (error != 0) {
        log_ratelimited(
            "process %d: no pidfd (%s); polling it instead", (int)process->pid, strerror(error));
    }
    watch_set_timer(watches);
    return watch;
}

struct watch *watch_free(struct watch *watch)
{
    if (watch) {
        drop_pidfd(watch);
        move(watch, NULL);
        free(watch);
    }
    return NULL;
}

bool watch_signal(struct watch *watch, int signal)
{
    if (watch->pidfd) {
        return process_signal(watch->pidfd->fd, &watch->process, signal);
    }
    int fd = process_open(&watch->process);
    bool is_sent = fd >= 0 && process_signal(fd, &watch->process, signal);
    int error = errno;
    if (fd >= 0) {
        close(fd);
    }
    errno = error;
    return is_sent;
}

void watches_init(struct watches *watches, uv_loop_t *loop, uint32_t max)
{
    *watches = (struct watches){.loop = loop, .max = max};
    TAILQ_INIT(&watches->with_pidfd);
    TAILQ_INIT(&watches->looked_at);
    TAILQ_INIT(&watches->gone);
    TAILQ_INIT(&watches->reported);
    uv_timer_init(loop, &watches->timer);
}

void watches_deinit(struct watches *watches)
{
    assert(TAILQ_EMPTY(&watches->with_pidfd) && TAILQ_EMPTY(&watches->looked_at));
    assert(TAILQ_EMPTY(&watches->gone) && TAILQ_EMPTY(&watches->reported));
}
