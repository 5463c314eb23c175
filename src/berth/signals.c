#include "berth/signals.h"

#include "client/exit_status.h"

#include <stddef.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

struct signal_row {
    int signal;
    bool is_forwarded;
    bool ends; /* while waiting: leaves the queue and dies by it */
    bool even_if_ignored; /* also needed for something other than forwarding */
};

static const struct signal_row signal_table[] = {
    {.signal = SIGTERM, .is_forwarded = true, .ends = true},
    {.signal = SIGINT, .is_forwarded = true, .ends = true},
    {.signal = SIGHUP, .is_forwarded = true, .ends = true},
    {.signal = SIGQUIT, .is_forwarded = true, .ends = true},
    {.signal = SIGUSR1, .is_forwarded = true, .ends = true},
    {.signal = SIGUSR2, .is_forwarded = true, .ends = true},
    {.signal = SIGWINCH, .is_forwarded = true},
    {.signal = SIGCONT, .is_forwarded = true, .even_if_ignored = true},
    {.signal = SIGTSTP}, /* stops the job, and berth when the job has stopped */
    {.signal = SIGCHLD, .even_if_ignored = true},
};

/* Blocked, never read: taking the terminal back from the background, and writing to a job or a
 * terminal that is gone, must not stop or end the wrapper. */
static const int only_blocked[] = {SIGTTOU, SIGPIPE};

enum {
    N_SIGNALS = sizeof signal_table / sizeof signal_table[0],
    N_ONLY_BLOCKED = sizeof only_blocked / sizeof only_blocked[0],
};

static bool is_ignored(int signal)
{
    struct sigaction action;
    return sigaction(signal, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

bool signals_init(struct signals *signals)
{
    sigset_t handled, blocked;
    sigemptyset(&handled);
    for (size_t i = 0; i < N_SIGNALS; i++) {
        if (signal_table[i].even_if_ignored || !is_ignored(signal_table[i].signal)) {
            sigaddset(&handled, signal_table[i].signal);
        }
    }
    blocked = handled;
    for (size_t i = 0; i < N_ONLY_BLOCKED; i++) {
        sigaddset(&blocked, only_blocked[i]);
    }
    sigprocmask(SIG_BLOCK, &blocked, &signals->original);

    signals->child_was_ignored = is_ignored(SIGCHLD);
    if (signals->child_was_ignored) {
        signal(SIGCHLD, SIG_DFL);
    }
    signals->fd = signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK);
    return signals->fd >= 0;
}

void signals_restore(const struct signals *signals)
{
    if (signals->child_was_ignored) {
        signal(SIGCHLD, SIG_IGN);
    }
    sigprocmask(SIG_SETMASK, &signals->original, NULL);
}

int signals_next(const struct signals *signals)
{
    struct signalfd_siginfo info;
    return read(signals->fd, &info, sizeof info) == sizeof info ? (int)info.ssi_signo : 0;
}

static const struct signal_row *find_row(int signal)
{
    static const struct signal_row none;
    for (size_t i = 0; i < N_SIGNALS; i++) {
        if (signal_table[i].signal == signal) {
            return &signal_table[i];
        }
    }
    return &none;
}

bool signal_is_forwarded(int signal)
{
    return find_row(signal)->is_forwarded;
}

bool signal_ends(int signal)
{
    return find_row(signal)->ends;
}

static void send_to_self(int signal, bool whole_group)
{
    kill(whole_group ? 0 : getpid(), signal);
}

void signal_die(int signal_number, bool whole_group)
{
    /* A core is for the job to dump. Where cores are piped to a program, the limit does not
     * apply. */
    setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
    prctl(PR_SET_DUMPABLE, 0);
    signal(signal_number, SIG_DFL);
    send_to_self(signal_number, whole_group);

    sigset_t only;
    sigemptyset(&only);
    sigaddset(&only, signal_number);
    sigprocmask(SIG_UNBLOCK, &only, NULL);
    _exit(STATUS_SIGNAL + signal_number); /* PID 1 of a container does not die by it */
}

bool signal_stop(int signal_number, bool whole_group)
{
    sigset_t mask, pending;
    sigprocmask(SIG_SETMASK, NULL, &mask);
    sigset_t open = mask;
    sigdelset(&open, signal_number);
    send_to_self(signal_number, whole_group);
    sigprocmask(SIG_SETMASK, &open, NULL); /* berth stops here */
    sigprocmask(SIG_SETMASK, &mask, NULL);
    /* SIGCONT is blocked: if it ended a stop, it is still pending. */
    return sigpending(&pending) == 0 && sigismember(&pending, SIGCONT) == 1;
}
