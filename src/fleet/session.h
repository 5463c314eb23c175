/* session.h - this daemon's liveness in one database, and what it owes and is owed there: which
 * calls are to be sent, what their answers mean for the core's leases. Pure: time is passed in,
 * calls are handed out by session_next_call(), leases change through core/fleet.h. The calls:
 * doc/fleet.md.
 *
 * Each function that may change a lease takes the caller's effects. */
#ifndef BERTH_FLEET_SESSION_H
#define BERTH_FLEET_SESSION_H

#include "base/text.h"
#include "core/core.h"
#include "core/database.h"
#include "fleet/resp_value.h"
#include "fleet/script.h"

struct session;

enum { SESSION_ID_SIZE = 17 };

struct session_options {
    struct core *core;
    uint8_t database; /* as in definition.database */
    const struct database *settings; /* must outlive the session */
    const char *id; /* SESSION_ID_SIZE - 1 hex digits; copied */
    const char *host; /* copied */
    const struct script_bounds *bounds; /* must outlive the session */
    uint64_t seed; /* of jitter */
    nanoseconds
        wall_offset; /* of the wall clock from CLOCK_BOOTTIME: for what operators are shown */
};

struct session *session_new(const struct session_options *options);
/* Before the leases that still have an entry in it are: they keep none. Returns NULL. */
struct session *session_free(struct session *session);

/* Start and reload: those of other databases, and of none, are passed over. They must outlive the
 * next call. */
void session_define(
    struct session *session, const struct definition *definitions, size_t n, nanoseconds now);
/* Why an acquire of that definition is refused at present: OUTCOME_DIFFERS, or OUTCOME_OK. */
enum outcome session_may_use(const struct session *session, const struct definition *definition);

const char *session_id(const struct session *session);

/* ---- the link ---- */

void session_connected(struct session *session, nanoseconds now);
/* All calls in flight are forgotten: their outcome is unknown until the next hello. */
void session_disconnected(struct session *session, const char *why, nanoseconds now);
struct session_call {
    enum script script;
    size_t argc;
    const char *const *argv; /* good until the next call of a function of the session */
    const size_t *lengths;
    uint64_t tag;
};
/* What is to be sent now: false if nothing is. Called until false after each other function.
 * `now` must be read before the bytes are given to the kernel: deadlines count from it. */
bool session_next_call(struct session *session, nanoseconds now, struct session_call *call);
void session_reply(struct session *session, uint64_t tag, const struct resp *reply, nanoseconds now,
    struct effects *effects);
/* From pub/sub. */
void session_message(struct session *session, const char *text, size_t length, nanoseconds now,
    struct effects *effects);
/* Why the link is to be given up now (a call has had no answer in time, ...), or NULL; asked after
 * each other function. Forgets it. */
const char *session_wants_reset(struct session *session);

void session_tick(struct session *session, nanoseconds now, struct effects *effects);
nanoseconds session_next_deadline(const struct session *session);

/* ---- leases: the core's EFFECT_ASK and EFFECT_GIVE_BACK ---- */

void session_ask(
    struct session *session, struct lease *lease, nanoseconds now, struct effects *effects);
/* Of a lease that has ended (it is freed after this), or that still waits but must not be granted
 * at present (a drain). */
void session_give_back(struct session *session, struct lease *lease, nanoseconds now);
/* A lease of an earlier run, or one that was reclaimed: to be listed. */
void session_restore(struct session *session, struct lease *lease);
/* Until it is false again: more leases may have to be listed, so the listing is not ended. */
void session_hold_listing(struct session *session, bool hold);

/* ---- requests of operators ---- */

/* What is said when it is over, one way or the other; in the order of session_results(). */
struct session_result {
    void *context; /* the asker's; NULL: it has gone meanwhile */
    enum outcome outcome; /* OUTCOME_OK, OUTCOME_DOWN, ... */
    char about[160]; /* what it is about, or says; or "" */
    struct text
        rows; /* of a snapshot: each row's fields end with a NUL, each row with LF; the taker's */
};
void session_admin(
    struct session *session, void *context, size_t argc, const char *const argv[], nanoseconds now);
/* `n` = 0: everything. */
void session_snapshot(
    struct session *session, void *context, size_t n, const char *const names[], nanoseconds now);
/* The asker is gone: nobody is to be told. */
void session_forget(struct session *session, const void *context);
/* False: there is none. */
bool session_take_result(struct session *session, struct session_result *result);

/* ---- what must outlive the daemon ---- */

/* A line of text that session_restore_tenure() takes in after a restart: until when the leases are
 * good, the incarnation, the highest token and ticket seen. session_is_changed(): it has changed
 * since session_write() was called last. Words of a later version are written again as they were. */
bool session_is_changed(const struct session *session);
void session_write(struct session *session, struct text *out);
bool session_restore_tenure(struct session *session, const char *text, size_t length,
    nanoseconds now, struct effects *effects);
/* Operators' changes of the whole database, as lines "NAME VERSION JSON\n": kept on disk by the
 * caller, listed again should Redis lose them; and how far the database was. session_changes_changed() as above. */
bool session_changes_changed(const struct session *session);
void session_write_changes(struct session *session, struct text *out);
void session_restore_changes(struct session *session, const char *text, size_t length);

/* ---- looking ---- */

enum session_state {
    SESSION_DOWN, /* no link, or one that must not be used */
    SESSION_LISTING, /* connected; says hello */
    SESSION_UP,
    SESSION_REPLACED, /* another daemon has this identity */
};

struct session_view {
    enum session_state state;
    const char *why; /* it is of no use, or what the server has refused since the last good renewal; "" */
    nanoseconds ttl; /* the database's */
    nanoseconds good_until; /* 0: never was */
    nanoseconds grace_until; /* the database's; NEVER: none */
    uint64_t incarnation;
    uint32_t n_differing; /* definitions of ours that the database has otherwise */
    uint64_t n_calls; /* sent so far */
};
void session_look(const struct session *session, struct session_view *view);
/* Something that an operator should hear of, for the log, once; or NULL. Good until the next call
 * of a function of the session; asked after each other function, until it is NULL. */
const char *session_take_notice(struct session *session);

#endif
