/* holding.h - the lease while the job runs: what berthd says about it, and giving it back. */
#ifndef BERTH_CLIENT_HOLDING_H
#define BERTH_CLIENT_HOLDING_H

#include "client/connection.h"
#include "wire/text.h"

struct holding {
    struct connection *connection;
    char lease[LEASE_ID_SIZE]; /* "": none, or lost */
};

/* The connection must stay. */
void holding_init(struct holding *holding, struct connection *connection, const char *lease);

/* The connection is readable, or may have lines left. */
void holding_read(struct holding *holding);
void holding_take_lines(struct holding *holding);

/* Gives the lease back: the job has ended, and is reaped. */
void holding_release(struct holding *holding);

#endif
