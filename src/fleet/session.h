/* session.h - this daemon's liveness in one database, and what the two owe each other: which calls
 * to send, and what their answers mean for the core's leases. Pure: time is passed in,
 * session_next_call() hands out calls, leases change through core/fleet.h. doc/redis.md has the
 * calls.
 *
 * Each function that may change a lease takes the caller's effects. */
#pragma once

#include "base/actor.h"
#include "base/text.h"
#include "core/core.h"
#include "core/database.h"
#include "fleet/latency.h"
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
    const char *version; /* of berthd, shown to operators of all hosts; copied; or NULL */
    const struct script_bounds *bounds; /* must outlive the session */
    struct layouts layouts; /* that the caller has scripts for */
    uint64_t seed; /* for jitter */
    nanoseconds wall_offset; /* from CLOCK_BOOTTIME to the wall clock: for operators' eyes */
};

struct session *session_new(const struct session_options *options);
/* Call it while the leases with an entry still exist: they lose it. Returns NULL. */
struct session *session_free(struct session *session);

/* Start and reload: skips definitions of other databases and of none. They must outlive the next
 * call. */
void session_define(struct session *session, const struct definition *definitions, size_t n);
/* Why an acquire by that definition is refused at present: OUTCOME_DIFFERS; or OUTCOME_OK. */
enum outcome session_may_use(const struct session *session, const struct definition *definition);

const char *session_id(const struct session *session);
/* Another daemon has this one's name, and nothing is left of what this one had under it. Then give
 * it a new one, and a new link, which subscribes to that. */
bool session_needs_name(const struct session *session);
void session_rename(struct session *session, const char *id);

/* ---- the link ---- */

/* Before session_connected(): whether its user there may keep what has ended. */
void session_allow_history(struct session *session, bool may_keep);
void session_connected(struct session *session, nanoseconds now);
/* Forgets all calls in flight: their outcome is unknown until the next hello. */
void session_disconnected(struct session *session, const char *why, nanoseconds now);
/* The next call to send, good until the next call of a function of the session; false if there is
 * none. After each other function, call it until it
 * returns false. Read `now` before the kernel gets the bytes: deadlines count from it. */
bool session_next_call(struct session *session, nanoseconds now, struct script_call *call);
void session_reply(struct session *session, uint64_t tag, const struct resp *reply, nanoseconds now,
    struct effects *effects);
/* A message from pub/sub. */
void session_message(struct session *session, const char *text, size_t length, nanoseconds now,
    struct effects *effects);
/* Over how long this daemon and all others that use the database should come back to it when they
 * have lost it: 0 for few. As long as there is time until the first job is asked to end. */
nanoseconds session_spread(const struct session *session, nanoseconds now);
/* The call with which a daemon leaves, so that its host does not count as gone: the last one, whose
 * answer is not awaited. False: there is no use in it. */
bool session_leave(struct session *session, nanoseconds now, struct script_call *call);
/* Why the link must be given up now (such as a call without an answer in time), or NULL; then
 * forgets it. Ask after each other function. */
const char *session_wants_reset(struct session *session);

void session_tick(struct session *session, nanoseconds now, struct effects *effects);
nanoseconds session_next_deadline(const struct session *session);

/* ---- leases: the core's EFFECT_ASK and EFFECT_GIVE_BACK ---- */

void session_ask(
    struct session *session, struct lease *lease, nanoseconds now, struct effects *effects);
/* The lease has ended (it is freed after this), or still waits but must not be granted at present
 * (a drain). */
void session_give_back(struct session *session, struct lease *lease);
/* A lease of an earlier run, or a reclaimed one: to be listed. */
void session_restore(struct session *session, struct lease *lease);
/* While it is true the listing does not end, as more leases may have to be listed. */
void session_hold_listing(struct session *session, bool hold);

/* ---- requests of operators ---- */

struct session_result;
typedef void session_done(void *context, struct session_result *result);
/* The result of a request: session_take_result(), whose caller calls `done`. */
struct session_result {
    session_done *done; /* the asker's */
    void *context; /* the same; NULL: the asker has gone */
    enum outcome outcome; /* OUTCOME_OK, OUTCOME_DOWN, ... */
    char detail[160]; /* what the result is about; or "" */
    /* of a snapshot: each row's fields end in NUL, each row in LF; the taker frees it */
    struct text rows;
};
void session_admin(struct session *session, session_done *done, void *context, size_t argc,
    const char *const argv[]);
/* `n` = 0: everything. */
void session_snapshot(struct session *session, session_done *done, void *context, size_t n,
    const char *const names[]);
/* The asker is gone: nobody waits for the result. */
void session_forget(struct session *session, const void *context);
/* False: there is no result. */
bool session_take_result(struct session *session, struct session_result *result);

/* ---- what must outlive the daemon ---- */

/* A line of text for session_restore_tenure() after a restart: until when the leases are good, the
 * incarnation, the highest token and ticket seen. session_is_changed(): the line has changed since
 * the last session_write(). Words of a later version are written again unchanged. */
bool session_is_changed(const struct session *session);
void session_write(struct session *session, struct text *out);
bool session_restore_tenure(struct session *session, const char *text, size_t length,
    nanoseconds now, struct effects *effects);
/* Operators' changes to the whole database, as lines "NAME VERSION JSON\n", which the caller keeps
 * on disk and the session lists again if Redis loses them; and how far the database was.
 * session_changes_changed() as above. */
bool session_changes_changed(const struct session *session);
void session_write_changes(struct session *session, struct text *out);
void session_restore_changes(struct session *session, const char *text, size_t length);

/* How somebody at another host takes away a lease of this one. */
struct session_taking {
    enum { SESSION_REVOKE, SESSION_WITHDRAW, SESSION_DROP, SESSION_RELEASE } verb;
    bool is_repeat; /* its job is being stopped already, and the stop is another's */
    struct actor by;
    const char *reason; /* the text, or NULL */
};

/* Called before that is done. WITHDRAW is what a newer request of its own user wants, not again if
 * its job is being stopped already. Returns whether it may be done. */
typedef bool session_taken(
    void *context, const struct lease *lease, const struct session_taking *taking);
void session_on_taken(struct session *session, session_taken *taken, void *context);

/* Where it is counted how often the session comes up, and the times of its renewals; NULL: nowhere.
 * Must outlive the session. */
void session_count(struct session *session, uint64_t *sessions, struct metric_histogram *renewals);

/* ---- looking ---- */

enum session_state {
    SESSION_DOWN, /* no link, or one that must not be used */
    SESSION_LISTING, /* connected; saying hello */
    SESSION_UP,
    SESSION_REPLACED, /* another daemon has this name */
};

struct session_view {
    enum session_state state;
    bool is_unreachable; /* new requests are refused */
    const char *why; /* why it is of no use, or the server's error since a good renewal; "" */
    unsigned layout; /* of the data, as far as known */
    nanoseconds ttl; /* the database's */
    nanoseconds good_until; /* 0: never */
    nanoseconds grace_until; /* the database's; NEVER: none */
    bool is_new; /* that grace is its first, and as far as known nobody has had leases there */
    uint64_t incarnation;
    bool is_slow; /* a renewal of the last ttl was slow, as operators were told */
    uint32_t n_differing; /* definitions of ours that differ from the database's */
    uint64_t n_calls; /* sent so far */
    nanoseconds answered_at; /* the last one that was; 0: none was */
    uint64_t call_rate; /* calls of all hosts in 1000 seconds, of late; 0: not known */
};
struct session_view session_look(const struct session *session);
/* How long its calls have taken, from when each was handed out until it was answered. */
struct latency_view session_latency(const struct session *session, nanoseconds now);
/* A message for the log, for operators, once; or NULL. Good until the next call of a function of
 * the session. After each other function, ask until it is NULL. */
const char *session_take_notice(struct session *session);
