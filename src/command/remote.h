/* remote.h - requests about leases that another host may have: their databases know. The connection
 * is parked until they have answered. */
#ifndef BERTH_COMMAND_REMOTE_H
#define BERTH_COMMAND_REMOTE_H

#include "conn/command_call.h"

struct session_result;

/* Whether `key` is SESSION/ID of this host: its *idp. */
bool remote_is_here(const struct server *server, const char *key, uint64_t *idp);
/* `revoke` and `drop` of SESSION/ID: for admins of the daemon. */
void remote_revoke_or_drop(struct call *call);
/* `release NAME` by an identity or an item (the other is NULL), which no lease on this host
 * matches. NAME is of fleet scope. */
void remote_release(struct call *call, const char *holder, const char *item);

/* Makes the answer from a database's answer to an operator's request. */
void remote_answer(struct conn *conn, uint8_t database, const struct session_result *result);
/* parked_ops.abandon where a database is asked on behalf of the connection. */
void remote_abandon(struct conn *conn);
/* The database has not answered in time. */
void remote_answer_late(struct conn *conn, uint8_t database);

#endif
