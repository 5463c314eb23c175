#include "daemon/pool.h"

#include <assert.h>
#include <signal.h>
#include <stddef.h>

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
