/* client_events.h - writes the event lines that tell a lease's client, if it has one, what happened
 * to the lease. */
#pragma once

#include "core/effects.h"
#include "wire/protocol.h"

struct conn_list;
struct core;
struct idle_waiter;
struct server;

void client_events_granted(struct server *server, const struct effect *effect);
/* For a lease that is over, or must be; in fleet scope it names the database's part. */
void client_events_over(struct server *server, const struct effect *effect);
/* Only a database gives a place that is not known at once. */
void client_events_place(struct server *server, const struct effect *effect);
/* A database was reached: tells every client that holds a lease there until when it is good. */
void client_events_deadlines(struct core *core, uint8_t database);
/* Nothing is held of what its `wait` has named. */
void client_events_idle(struct idle_waiter *waiter);
/* Those who sent "drain wait=1" hear how it ended: drained or undrained. */
void client_events_to_drainers(const struct conn_list *conns, enum event event);
