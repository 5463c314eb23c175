/* terminal.h - job control: who has the terminal in the foreground, the job or berth.
 *
 * The job has a process group of its own, so the shell's commands (^Z, fg, bg) reach berth's group
 * alone or the job's alone; this file makes both follow. */
#ifndef BERTH_BERTH_TERMINAL_H
#define BERTH_BERTH_TERMINAL_H

#include "base/clock.h"
#include "berth/child.h"

#include <stdbool.h>

struct terminal {
    int fd; /* the controlling terminal; -1: none, or not looked for yet */
    bool is_wanted; /* stdin is the terminal, or the job has asked for it */
    bool is_given; /* to the job's group */
    bool stop_was_asked; /* SIGTSTP came to us, not from the terminal to the job */
    nanoseconds stop_at; /* asked: if the job has not said by then that it has stopped */
    bool is_continued; /* we have been, and SIGCONT is yet to be taken */
};

void terminal_init(struct terminal *terminal);

/* Puts the job into the foreground if it wants that and berth is there. */
void terminal_give(struct terminal *terminal, const struct child *job);
void terminal_take_back(struct terminal *terminal);

/* SIGTSTP to berth while the job runs. */
void terminal_ask_stop(struct terminal *terminal, const struct child *job, nanoseconds now);
/* When a job that was asked to stop has been waited for long enough; NEVER: none is. */
nanoseconds terminal_deadline(const struct terminal *terminal);
void terminal_is_due(struct terminal *terminal, const struct child *job);
/* The job has stopped by `signal`. */
void terminal_job_stopped(struct terminal *terminal, const struct child *job, int signal);
/* SIGCONT to berth while the job runs. */
void terminal_continue(struct terminal *terminal, const struct child *job);

#endif
