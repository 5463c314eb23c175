#include "berth/terminal.h"

#include "berth/signals.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

/* A job inside vfork() whose child has stopped stops only when that child goes on: nobody would see
 * that it has been asked to. */
#define STOPS_WITHIN NANOSECONDS_PER_SECOND

void terminal_init(struct terminal *terminal)
{
    /* Fails unless stdin is a terminal, and our controlling one. */
    bool is_ours = tcgetpgrp(STDIN_FILENO) >= 0;
    *terminal = (struct terminal){
        .fd = is_ours ? STDIN_FILENO : -1,
        .is_wanted = is_ours,
    };
}

/* Works even where stdin is something else, as in a pipeline. */
static bool terminal_find(struct terminal *terminal)
{
    if (terminal->fd < 0) {
        terminal->fd = open("/dev/tty", O_RDWR | O_CLOEXEC);
    }
    return terminal->fd >= 0;
}

void terminal_give(struct terminal *terminal, const struct child *job)
{
    if (terminal->is_wanted && tcgetpgrp(terminal->fd) == getpgrp()) {
        terminal->is_given = tcsetpgrp(terminal->fd, job->pid) == 0;
    }
}

void terminal_take_back(struct terminal *terminal)
{
    if (terminal->is_given) {
        tcsetpgrp(terminal->fd, getpgrp()); /* SIGTTOU is blocked */
        terminal->is_given = false;
    }
}

void terminal_ask_stop(struct terminal *terminal, const struct child *job, nanoseconds now)
{
    terminal->stop_was_asked = true;
    terminal->stop_at = now + STOPS_WITHIN;
    terminal->is_continued = false;
    child_signal(job, SIGTSTP);
}

nanoseconds terminal_deadline(const struct terminal *terminal)
{
    return terminal->stop_was_asked ? terminal->stop_at : NEVER;
}

void terminal_is_due(struct terminal *terminal, const struct child *job)
{
    terminal->stop_at = NEVER;
    if (child_is_stuck(job)) {
        terminal_job_stopped(terminal, job, SIGTSTP);
    }
}

/* For a job that reads stdin from elsewhere, but then wants the terminal itself: a pager in a
 * pipeline. */
static bool terminal_give_on_demand(struct terminal *terminal, const struct child *job, int signal)
{
    if ((signal != SIGTTIN && signal != SIGTTOU) || terminal->is_given) {
        return false;
    }
    terminal->is_wanted = true;
    terminal_give(terminal, job);
    return terminal->is_given;
}

void terminal_job_stopped(struct terminal *terminal, const struct child *job, int signal)
{
    bool was_asked = terminal->stop_was_asked;
    if (terminal->is_continued) {
        return; /* that stop was before: the job is continued with us */
    }
    terminal->stop_was_asked = false;
    /* Without a terminal there is no job control: whoever stopped the job will continue the job,
     * and would leave us stopped. */
    if (!was_asked && !terminal_find(terminal)) {
        return;
    }
    if (terminal_give_on_demand(terminal, job, signal)) {
        child_signal(job, SIGCONT);
        return;
    }
    terminal_take_back(terminal);
    /* Our group has missed the signal that the job's group got, for ^Z or for reading in the
     * background. The rest of our pipeline, and a script above us, must stop too for the shell to
     * see it. */
    int own = signal == SIGSTOP ? SIGTSTP : signal;
    terminal->is_continued = signal_stop(own, !was_asked);
    if (!terminal->is_continued && signal == SIGTSTP) {
        /* Nobody could continue us, so the kernel dropped our stop, as it would have dropped the
         * job's stop without us in between. */
        terminal_continue(terminal, job);
    }
}

void terminal_continue(struct terminal *terminal, const struct child *job)
{
    terminal->is_given = false; /* a shell may have taken it while we were stopped */
    terminal->stop_was_asked = false;
    terminal->is_continued = false;
    terminal_give(terminal, job);
    child_signal(job, SIGCONT);
}
