/* serve_turn.h - how each turn of the loop ends, and when the next one is due: effects are carried
 * out, answers and calls are sent, and the timer is set. serve.c wires it up. */
#ifndef BERTH_DAEMON_SERVE_TURN_H
#define BERTH_DAEMON_SERVE_TURN_H

#include "daemon/serve.h"

/* Ends the turn of the server in a struct serving. */
void serve_end_turn(struct turn *turn);

/* Sets .deadline_fd for what is due next in the core or in a session. Aborts (logged) if the
 * kernel refuses. */
void serve_set_timer(struct serving *serving);
/* The callback of .deadline_poll: lets the core and the sessions do what is due. */
void serve_on_deadline(uv_poll_t *poll, int status, int events);

#endif
