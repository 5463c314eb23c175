/* terminal.h - job control: whether the job or berth has the terminal in the foreground.
 *
 * The job has its own process group, so the shell's commands (^Z, fg, bg) reach only berth's group
 * or only the job's; this file makes both follow. */
#pragma once

#include "base/clock.h"
#include "berth/child.h"

#include <stdbool.h>

struct terminal {
    int fd; /* the controlling terminal; -1: none, or not looked for yet */
    bool is_wanted; /* stdin is the terminal, or the job has asked for it */
    bool is_given; /* to the job's group */
    bool stop_was_asked; /* SIGTSTP came to berth itself, not from the terminal to the job */
    nanoseconds stop_at; /* after stop_was_asked: when to stop even if the job has not */
    bool is_continued; /* berth has been continued, and SIGCONT is still pending */
};

void terminal_init(struct terminal *terminal);

/* Puts the job into the foreground if it wants that and berth is there. */
void terminal_give(struct terminal *terminal, const struct child *job);
void terminal_take_back(struct terminal *terminal);

/* SIGTSTP came to berth while the job runs. */
void terminal_ask_stop(struct terminal *terminal, const struct child *job, nanoseconds now);
/* When a job that was asked to stop has had long enough; NEVER: none was. */
nanoseconds terminal_deadline(const struct terminal *terminal);
void terminal_is_due(struct terminal *terminal, const struct child *job);
/* The job has stopped by `signal`. */
void terminal_job_stopped(struct terminal *terminal, const struct child *job, int signal);
/* SIGCONT came to berth while the job runs. */
void terminal_continue(struct terminal *terminal, const struct child *job);
