/* on_lost.h - what to do with a job whose lease is lost: the values of on-lost. */
#pragma once

enum on_lost { /* stricter is larger */
    ON_LOST_WARN, /* the job is left alone, and its user is told */
    ON_LOST_TERM, /* the job gets a signal */
    ON_LOST_KILL, /* and SIGKILL, if the signal does not end it */
    N_ON_LOST,
    ON_LOST_NOT_SAID = N_ON_LOST /* the resource's rule applies */
};

extern const char *const on_lost_words[N_ON_LOST + 1]; /* ends with NULL */
