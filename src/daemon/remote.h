/* remote.h - requests about leases that another host may have: their databases tell it. The
 * connection is parked until they have. */
#ifndef BERTH_DAEMON_REMOTE_H
#define BERTH_DAEMON_REMOTE_H

#include "daemon/command_call.h"

struct session_result;

/* The first argument is SESSION/ID of this host itself: its *idp. */
bool remote_is_here(const struct call *call, uint64_t *idp);
/* `revoke` and `drop` of SESSION/ID: for admins of the daemon. */
void remote_take_away(struct call *call);
/* `release NAME holder=` and `release NAME item=`, which nobody on this host has. NAME is of fleet
 * scope. */
void remote_release(struct call *call);

/* What a database has said to an operator's request, as the answer. */
void remote_answer(struct conn *conn, uint8_t database, const struct session_result *result);
/* parked_ops.abandon where a database is asked on behalf of the connection. */
void remote_abandon(struct conn *conn);
/* It has not said anything in time. */
void remote_answer_late(struct conn *conn, uint8_t database);

#endif
