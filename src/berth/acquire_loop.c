#include "berth/acquire_loop.h"

#include "berth/explain.h"
#include "client/exit_status.h"
#include "client/live_line.h"
#include "client/message.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/timerfd.h>
#include <sysexits.h>
#include <unistd.h>

static bool alarm_init(struct alarm *alarm)
{
    alarm->at = NEVER;
    alarm->fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    return alarm->fd >= 0;
}

/* Call it for each wait. Returns the descriptor to poll, or -1 for NEVER. */
static int alarm_set(struct alarm *alarm, nanoseconds at)
{
    if (at == NEVER) {
        return -1;
    }
    if (at != alarm->at) {
        nanoseconds some = at > 0 ? at : 1; /* 0 would disarm it */
        struct itimerspec when = {
            .it_value = {some / NANOSECONDS_PER_SECOND, some % NANOSECONDS_PER_SECOND}};
        timerfd_settime(alarm->fd, TFD_TIMER_ABSTIME, &when, NULL);
        alarm->at = at;
    }
    return alarm->fd;
}

bool acquire_loop_init(struct acquire_loop *acquire_loop, const struct options *options)
{
    acquire_loop->connection.fd = -1;
    if (!endpoint_choose(&acquire_loop->endpoint, options->socket)) {
        message("the socket path is empty or too long");
        acquire_loop->status = STATUS_USAGE;
        return false;
    }
    if (!signals_init(&acquire_loop->signals) || !alarm_init(&acquire_loop->alarm)) {
        message("cannot start: %s", strerror(errno));
        acquire_loop->status = options->file_lock ? EX_OSERR : STATUS_CANNOT_EXECUTE;
        return false;
    }
    return true;
}

struct acquire_loop_ready acquire_loop_poll(struct acquire_loop *acquire_loop, nanoseconds at)
{
    enum { SIGNALS, CONNECTION, ALARM, N_POLLED };
    struct pollfd polled[N_POLLED] = {
        [SIGNALS] = {.fd = acquire_loop->signals.fd, .events = POLLIN},
        [CONNECTION] = {.fd = acquire_loop->connection.fd, .events = POLLIN},
        [ALARM] = {.fd = alarm_set(&acquire_loop->alarm, at), .events = POLLIN},
    };
    poll(polled, N_POLLED, -1);
    return (struct acquire_loop_ready){
        .signals = polled[SIGNALS].revents, .connection = polled[CONNECTION].revents};
}

/* True if a child has changed. */
static bool take_signals(struct acquire_loop *acquire_loop)
{
    bool had_child = false;
    int signal;
    while (acquire_loop->signal == 0 && (signal = signals_next(&acquire_loop->signals)) != 0) {
        if (signal == SIGCHLD) {
            had_child = true;
        } else if (signal_ends(signal)) {
            acquire_loop->status = STATUS_SIGNAL + signal;
            acquire_loop->signal = signal;
        } else if (signal == SIGTSTP) {
            acquisition_step_aside(&acquire_loop->acquisition, clock_now());
        } else if (signal == SIGCONT) {
            acquisition_continue(&acquire_loop->acquisition, clock_now());
        }
    }
    return had_child;
}

static void stop_if_wanted(struct acquisition *acquisition)
{
    if (acquisition_may_stop(acquisition, clock_now())) {
        live_line_clear(); /* the shell writes next */
        signal_stop(SIGTSTP, false);
        acquisition_continue(acquisition, clock_now());
    }
}

static enum acquisition_result acquire_loop_go_on(struct acquire_loop *acquire_loop)
{
    struct acquisition *acquisition = &acquire_loop->acquisition;
    bool readable = false;
    enum acquisition_result result;
    while ((result = acquisition_step(acquisition, readable, clock_now())) == ACQUISITION_GOES_ON) {
        stop_if_wanted(acquisition);
        struct acquire_loop_ready ready =
            acquire_loop_poll(acquire_loop, acquisition_deadline(acquisition));
        /* Signals first: a user who sends one while the grant arrives wants no job. */
        bool had_child = ready.signals && take_signals(acquire_loop);
        if (acquire_loop->signal != 0) {
            acquisition_give_up(acquisition);
            return ACQUISITION_REFUSED;
        }
        if (had_child) {
            return ACQUISITION_GOES_ON;
        }
        readable = ready.connection;
    }
    if (result == ACQUISITION_REFUSED) {
        acquire_loop->status = acquisition->status;
    } else if (acquisition->stops_by != NEVER) {
        kill(getpid(), SIGTSTP); /* the grant came first: berth stops with its job */
    }
    return result;
}

enum acquisition_result acquire_loop_wait(struct acquire_loop *acquire_loop)
{
    enum acquisition_result result = acquire_loop_go_on(acquire_loop);
    live_line_clear(); /* the job writes next, or the shell */
    return result;
}

bool acquire_loop_fill(const struct acquire_loop *acquire_loop, const struct options *options,
    struct environment *environment)
{
    char socket_path[PATH_MAX];
    const struct grant *grant = &acquire_loop->acquisition.grant;
    endpoint_absolute(&acquire_loop->endpoint, socket_path);
    nanoseconds waited = clock_now() - acquire_loop->acquisition.started_at;
    bool is_told = !options->file_lock;
    if (is_told &&
        (!environment_fill(environment, grant, options, socket_path) ||
            !environment_fill_waited(environment, waited))) {
        message("the lease does not fit into the environment");
        return false;
    }
    if (options->verbose) {
        say_granted(grant);
    }
    return true;
}

static int wait_and_use(
    struct acquire_loop *acquire_loop, const struct options *options, use_lease *use)
{
    enum acquisition_result result;
    do {
        result = acquire_loop_wait(acquire_loop);
    } while (result == ACQUISITION_GOES_ON); /* a child that was there before our exec */
    return result == ACQUISITION_REFUSED
        ? acquire_loop->status
        : use(acquire_loop, options, result == ACQUISITION_GRANTED);
}

int acquire_loop_run(const struct options *options, pid_t pid, use_lease *use)
{
    static struct acquire_loop acquire_loop; /* large */
    nanoseconds now = clock_now();
    if (!acquire_loop_init(&acquire_loop, options)) {
        return acquire_loop.status;
    }
    acquisition_init(&acquire_loop.acquisition, options, &acquire_loop.endpoint,
        &acquire_loop.connection, pid, now);
    int status = wait_and_use(&acquire_loop, options, use);
    connection_close(&acquire_loop.connection); /* leaves the queue, or ends the lease */
    if (acquire_loop.signal != 0) {
        signal_die(acquire_loop.signal, false);
    }
    return status;
}
