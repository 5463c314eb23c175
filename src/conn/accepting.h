/* accepting.h - accepts connections: a few in each turn of the loop, and with a bound on the time
 * that refusing may take. */
#pragma once

#include "base/time.h"

#include <uv.h>

struct server;

struct accepting {
    struct server *server;
    int fd; /* listens; -1: not yet, or not any more */
    uv_poll_t poll; /* of fd */
    uv_timer_t timer; /* runs while nothing can be accepted */
    uv_check_t check; /* accepts, at the end of a turn */
    nanoseconds refused_until; /* no refusing before then, to pay for the last */
};

void accepting_init(struct accepting *accepting, struct server *server);
void accepting_begin(struct accepting *accepting, int fd);
/* Before the descriptor is closed. */
void accepting_end(struct accepting *accepting);
