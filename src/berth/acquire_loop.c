#include "berth/acquire_loop.h"

#include "client/exit_status.h"
#include "client/message.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

bool acquiring_init(struct acquiring *acquiring, const struct options *options)
{
    *acquiring = (struct acquiring){.connection = CONNECTION_INIT};
    if (!endpoint_choose(&acquiring->endpoint, options->socket)) {
        message("the socket's path is empty or too long");
        acquiring->status = STATUS_USAGE;
        return false;
    }
    if (!signals_init(&acquiring->signals) || !alarm_init(&acquiring->alarm)) {
        message("cannot start: %s", strerror(errno));
        acquiring->status = STATUS_CANNOT_EXECUTE;
        return false;
    }
    return true;
}

void acquiring_begin(
    struct acquiring *acquiring, const struct options *options, pid_t pid, nanoseconds now)
{
    asking_init(
        &acquiring->asking, options, &acquiring->endpoint, &acquiring->connection, pid, now);
}

/* True if a child has changed. */
static bool take_signals(struct acquiring *acquiring)
{
    bool had_child = false;
    int signal;
    while (acquiring->signal == 0 && (signal = signals_next(&acquiring->signals)) != 0) {
        if (signal == SIGCHLD) {
            had_child = true;
        } else if (signal_ends(signal)) {
            acquiring->status = STATUS_SIGNAL + signal;
            acquiring->signal = signal;
        } else if (signal == SIGTSTP) {
            signal_stop(signal, false);
        }
    }
    return had_child;
}

enum acquiring_result acquiring_wait(struct acquiring *acquiring)
{
    static const enum acquiring_result results[] = {
        [ASKING_GRANTED] = ACQUIRING_GRANTED,
        [ASKING_UNLEASED] = ACQUIRING_UNLEASED,
        [ASKING_REFUSED] = ACQUIRING_OVER,
    };
    struct asking *asking = &acquiring->asking;
    bool readable = false;
    enum asking_result result;
    while ((result = asking_step(asking, readable, clock_now())) == ASKING_GOES_ON) {
        enum { SIGNALS, CONNECTION, ALARM, N_POLLED };
        int alarm = alarm_set(&acquiring->alarm, asking_deadline(asking));
        struct pollfd polled[N_POLLED] = {
            [SIGNALS] = {.fd = acquiring->signals.fd, .events = POLLIN},
            [CONNECTION] = {.fd = acquiring->connection.fd, .events = POLLIN},
            [ALARM] = {.fd = alarm, .events = POLLIN},
        };
        poll(polled, N_POLLED, -1);
        /* First: who sends a signal while the grant arrives wants no job. */
        bool had_child = polled[SIGNALS].revents && take_signals(acquiring);
        if (acquiring->signal != 0) {
            asking_give_up(asking);
            return ACQUIRING_OVER;
        }
        if (had_child) {
            return ACQUIRING_CHILD;
        }
        readable = polled[CONNECTION].revents != 0;
    }
    if (result == ASKING_REFUSED) {
        acquiring->status = asking->status;
    }
    return results[result];
}

void acquiring_end(struct acquiring *acquiring)
{
    connection_close(&acquiring->connection);
}
