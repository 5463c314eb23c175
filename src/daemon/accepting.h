/* accepting.h - who connects: a few in each turn of the loop, and no more than refusing is worth. */
#ifndef BERTH_DAEMON_ACCEPTING_H
#define BERTH_DAEMON_ACCEPTING_H

#include "base/time.h"

#include <uv.h>

struct server;

struct accepting {
    struct server *server;
    int fd; /* listens; -1: not yet, or not any more */
    uv_poll_t poll; /* of fd */
    uv_timer_t timer; /* runs when nobody can be accepted for the moment */
    uv_check_t check; /* accepts, at the end of a turn */
    nanoseconds refused_until; /* what refusing has cost is paid for until then */
};

void accepting_init(struct accepting *accepting, struct server *server);
void accepting_begin(struct accepting *accepting, int fd);
/* Before the descriptor is closed. */
void accepting_end(struct accepting *accepting);

#endif
