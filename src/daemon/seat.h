/* seat.h - room for one more connection. Some places are kept for operators: whoever administers
 * the daemon gets one when all others are taken, or when the user has as many as one may have. They
 * are good for operators' requests alone: root's jobs would take them all otherwise. */
#ifndef BERTH_DAEMON_SEAT_H
#define BERTH_DAEMON_SEAT_H

#include "wire/protocol.h"

#include <stdbool.h>
#include <stdint.h>

struct conn;
struct peer;
struct server;

enum { OPERATORS_SEATS = 8 }; /* fewer where the limit of open files is very low */

/* What a connection may have, before anything is spent on it. */
struct seat {
    const char *why_not; /* as the client is told; NULL: there is room */
    bool is_operators;
};

/* Why there is no room is logged, here and below. */
struct seat seat_find(const struct server *server, int fd, const struct peer *peer);
/* Begins conn->client and conn->member. NULL, or why not: then they have not begun. */
const char *seat_take(const struct seat *seat, struct conn *conn, int fd, const struct peer *peer);
void seat_give_back(struct conn *conn);

/* On a place that is kept for operators: what takes or keeps a lease is not. */
bool seat_is_for(const struct conn *conn, enum command_index command);

#endif
