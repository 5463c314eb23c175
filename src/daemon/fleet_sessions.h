/* fleet_sessions.h - between the server and the databases of fleet scope: for each [redis] section a session
 * (what to say, what the answers mean) and a link (the way there). Hands the core's effects to the
 * session of the lease's database, and the session's calls to the link. */
#ifndef BERTH_DAEMON_FLEET_SESSIONS_H
#define BERTH_DAEMON_FLEET_SESSIONS_H

#include "core/core.h"
#include "fleet/session.h"
#include "redis/link.h"

struct conn;
struct server;
struct fleet;

/* One for each of server->databases. Before recovery;
 * nothing is connected yet. */
void fleet_init(struct server *server, const char *socket_path);
/* After recovery: links are made. */
void fleet_start(struct server *server);
/* From here on no database hears anything of us, so that the leases live on there for the next
 * berthd. The loop closes the rest. */
void fleet_stop(struct server *server);
void fleet_deinit(struct server *server);

/* After a reload (also at the start): the databases' definitions. */
void fleet_define(struct server *server);
/* OUTCOME_OK, OUTCOME_DIFFERS or OUTCOME_DOWN (not reachable): of a definition of fleet scope. */
enum outcome fleet_may_use(const struct server *server, const struct definition *definition);

/* EFFECT_ASK, EFFECT_GIVE_BACK. */
void fleet_carry_out(struct server *server, const struct effect *effect);
/* A lease that recovery or a reclaim has made again: it is listed at the next hello. */
void fleet_restore(struct server *server, struct lease *lease);
/* At the end of each turn, before anything is sent: hands out calls and results. */
void fleet_end_turn(struct server *server);
nanoseconds fleet_next_deadline(const struct server *server);
void fleet_tick(struct server *server, nanoseconds now);

/* ---- requests that a database answers: the connection is parked until `done` ---- */

/* Called once, from fleet_end_turn() or when the connection closes (result NULL, say nothing). The
 * result's rows are freed afterwards. */
typedef void fleet_done(struct conn *conn, struct session_result *result);

void fleet_admin(struct server *server, uint8_t database, struct conn *conn, size_t argc,
    const char *const argv[], fleet_done *done);
void fleet_snapshot(struct server *server, uint8_t database, struct conn *conn, size_t n,
    const char *const names[], fleet_done *done);
/* The connection closes: `done` is not called any more. */
void fleet_forget(struct server *server, struct conn *conn);

/* ---- looking ---- */

void fleet_look(const struct server *server, uint8_t database, struct session_view *view);
/* Why a request for `name` of that database is refused, or a lease of it is over (`name` as it has
 * it there; NULL: none). */
void fleet_why(char *out, size_t size, const struct server *server, uint8_t database,
    const char *name, enum outcome why);
/* It cannot be reached, or refuses us; and that was logged. */
bool fleet_is_down(const struct fleet *fleet, uint8_t database);
/* This daemon's session there: SESSION of the keys of its leases. */
const char *fleet_session_id(const struct server *server, uint8_t database);
/* Of the server, as the link has last heard it; NULL: never connected. */
struct session *fleet_session(const struct server *server, uint8_t database);
const struct link_info *fleet_server_info(const struct server *server, uint8_t database);

/* ---- what outlives the daemon (fleet_journal.c) ---- */

/* recovery.c has found such a record ("database NAME ...") in the journal. */
void fleet_restore_tenure(
    struct server *server, uint32_t record, const char *text, size_t length, nanoseconds now);

#endif
