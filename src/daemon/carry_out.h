/* carry_out.h - carries out what the core wants done: first writes it down, then tells the
 * clients. */
#ifndef BERTH_DAEMON_CARRY_OUT_H
#define BERTH_DAEMON_CARRY_OUT_H

struct server;

/* Carries out all of server->effects, and clears them. */
void effects_carry_out(struct server *server);

#endif
