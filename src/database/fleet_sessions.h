/* fleet_sessions.h - between the daemon and the databases of fleet scope: each [redis] section has
 * a session (what to say, what the answers mean) and a link (the way there). Hands the core's
 * effects to the session of the lease's database, and the session's calls to the link. */
#pragma once

#include "core/core.h"
#include "fleet/session.h"
#include "redis/link.h"

struct fleet;
struct load_view;
struct server;
struct tls_context;

/* Makes a session for each database, whose name is made from the socket's. Before recovery; nothing
 * is connected yet. */
struct fleet *fleet_new(struct server *server, const char *socket_path);
/* After recovery: makes the links. */
void fleet_start(struct fleet *fleet);
/* Before fleet_stop(), unless another berthd follows at once: tells databases that this one
 * leaves. */
void fleet_leave(struct fleet *fleet);
/* From here on we send databases nothing, so that the leases live on there for the next berthd. The
 * loop closes the rest. */
void fleet_stop(struct fleet *fleet);
struct fleet *fleet_free(struct fleet *fleet); /* returns NULL */

/* After a reload (also at the start): gives each database its definitions. */
void fleet_define(struct fleet *fleet, const struct definition definitions[], size_t n);
/* The database's new connections use these certificates; those that are there stay. */
void fleet_use_tls(struct fleet *fleet, uint8_t database, struct tls_context *tls);
/* For a definition of fleet scope: OUTCOME_OK, OUTCOME_DIFFERS or OUTCOME_DOWN (not reachable). */
enum outcome fleet_may_use(const struct fleet *fleet, const struct definition *definition);

/* EFFECT_ASK, EFFECT_GIVE_BACK. */
void fleet_apply_effect(struct fleet *fleet, const struct effect *effect);
/* At the end of each turn, before anything is sent: hands out the calls and results of sessions to
 * which something has happened. */
void fleet_end_turn(struct fleet *fleet);
nanoseconds fleet_next_deadline(const struct fleet *fleet);
void fleet_tick(struct fleet *fleet, nanoseconds now);

/* For requests that a database answers (session.h), whose `done` is called once, from
 * fleet_end_turn(); and for leases that recovery or a reclaim has made again. */
struct session *fleet_session(struct fleet *fleet, uint8_t database);
/* No `done` will be called for that context. */
void fleet_forget(struct fleet *fleet, const void *context);

/* ---- looking ---- */

/* Adds its `database` line; `load` is NULL if it was not asked. */
void fleet_write_line(const struct fleet *fleet, uint8_t database, const struct load_view *load,
    struct text *out);
struct session_view fleet_look(const struct fleet *fleet, uint8_t database);
/* Why a request for `name` (NULL: none) in that database is refused, or a lease there is over. */
void fleet_why(char *out, size_t size, const struct fleet *fleet, uint8_t database,
    const char *name, enum outcome why);
/* Whether it cannot be reached, or refuses us, and that was logged. */
bool fleet_is_down(const struct fleet *fleet, uint8_t database);
/* This daemon's session there: SESSION in the keys of its leases. */
const char *fleet_session_id(const struct fleet *fleet, uint8_t database);
/* The server, as the link has last heard; NULL: never connected. */
const struct link_info *fleet_server_info(const struct fleet *fleet, uint8_t database);
