/* carry_out.h - what the core wants done: first it is written down, then those hear of it whom it is
 * about. */
#ifndef BERTH_DAEMON_CARRY_OUT_H
#define BERTH_DAEMON_CARRY_OUT_H

struct server;

/* All of server->effects, which are clear then. */
void effects_carry_out(struct server *server);

#endif
