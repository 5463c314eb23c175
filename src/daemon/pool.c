#include "daemon/pool.h"

#include "core/types.h"

#include <assert.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* Signals to jobs are sent from the pool too (group.h), and must not wait for a disk or a name
 * service that hangs. So it has a thread for everything that may hang at once, and one more:
 *
 *   - a look-up of a user's name, a reload, a write of the state file, a look whether that can be
 *     read, and for each database a reading of its TLS files: each of them begins again only when
 *     it is over;
 *   - look-ups of hosts, one for each try to connect: libuv gives them (n + 1) / 2 of n threads at
 *     most. */
enum {
    N_SIGNALLERS = 1,
    N_THAT_MAY_HANG = 4 + MAX_DATABASES,
    N_THREADS = 2 * (N_THAT_MAY_HANG + N_SIGNALLERS),
};

static_assert(N_THREADS - (N_THREADS + 1) / 2 >= N_THAT_MAY_HANG + N_SIGNALLERS, "too few threads");
static_assert(N_THREADS + 2 <= 32, "TasksMax in the unit: the loop's, and that of the last write");

static void do_nothing(uv_work_t *work)
{
    (void)work;
}

/* The first work starts all threads, which inherit the signal mask. A fault in a thread must still
 * reach it. */
void pool_start(uv_loop_t *loop)
{
    static const int faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL};
    static uv_work_t first;
    sigset_t all, before;
    char number[16];
    snprintf(number, sizeof number, "%d", N_THREADS);
    setenv("UV_THREADPOOL_SIZE", number, 1);
    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        sigdelset(&all, faults[i]);
    }
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int error = uv_queue_work(loop, &first, do_nothing, NULL);
    assert(error == 0);
    (void)error;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}
