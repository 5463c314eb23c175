/* apply_effects.h - carries out what the core wants done: first writes it down, then tells the
 * clients. */
#ifndef BERTH_DAEMON_APPLY_EFFECTS_H
#define BERTH_DAEMON_APPLY_EFFECTS_H

struct turn;

/* What apply_effects() calls, for a server's turn: carries out all of its effects, and clears
 * them. */
void apply_effects_of_server(struct turn *turn);

#endif
