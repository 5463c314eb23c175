/* tell.h - what has become of a lease, as an event line for its client, if there is one. */
#ifndef BERTH_DAEMON_TELL_H
#define BERTH_DAEMON_TELL_H

#include "core/effects.h"

struct server;

void tell_client(struct server *server, const struct effect *effect);
/* A lease that is over, or must be; in fleet scope with what its database has to do with it. */
void tell_over(struct server *server, const struct effect *effect);
/* Only a database gives out a place that is not known at once. */
void tell_place(struct server *server, const struct effect *effect);

#endif
