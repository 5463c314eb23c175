/* session_internal.h - the struct behind session.h, for the session's own files alone.
 *
 * Two kinds of things are remembered here, and each is in exactly one list, which is its state:
 * entries (one for each lease that the database knows, or will be asked for) and calls in flight.
 * At most one call that names an entry is in flight at any time, and no entry is freed while one
 * is. */
#ifndef BERTH_FLEET_SESSION_INTERNAL_H
#define BERTH_FLEET_SESSION_INTERNAL_H

#include "base/memory.h"
#include "base/table.h"
#include "core/fleet.h"
#include "core/timing.h"
#include "fleet/session.h"
#include "fleet/session_text.h"

#include <sys/queue.h>

enum {
    MAX_IN_FLIGHT = 256, /* more waits here: the server has enough to do */
    MAX_REQUESTS = 1000, /* of operators */
    MAX_NOTICES = 16,
    MAX_HELLOS_AT_ONCE = 3, /* begun without one being ended; then not that fast */
    MAX_UNKNOWN_AT_ONCE = 8, /* see ask_again() */
};

#define MAX_SNAPSHOT_BYTES ((size_t)8 << 20)
/* A Redis that is started anew, or a connection that broke, is no reason to refuse anybody. */
#define DOWN_PATIENCE NANOSECONDS_PER_SECOND
/* How far the database was goes to the state directory so often: it is only needed if the journal is
 * lost, and fsynced. */
#define STORE_EVERY (600 * NANOSECONDS_PER_SECOND)
#define SHORTEST_TTL NANOSECONDS_PER_SECOND
#define LONGEST_TTL (86400 * NANOSECONDS_PER_SECOND)

/* ---- leases ---- */

enum entry_state {
    ENTRY_UNLISTED, /* the next hello lists it */
    ENTRY_UNSENT, /* to be asked for, in the order of session_ask() */
    ENTRY_LATER, /* to be asked for, or given back, after the next good renewal */
    ENTRY_KNOWN, /* the database has it: it waits or holds there */
    ENTRY_GIFT, /* KNOWN; the listing says that it is granted: taken once that has ended */
    ENTRY_ENDING, /* to be given back */
    ENTRY_LISTING, /* in flight, as the others that follow */
    ENTRY_ASKED,
    ENTRY_RELEASING,
    N_ENTRY_STATES
};

struct entry {
    struct table_node by_id;
    TAILQ_ENTRY(entry) link; /* in session.leases.entries[state] */
    struct lease *lease; /* NULL: it has ended, or must not be granted at present */
    uint64_t id;
    uint64_t serial; /* in the order of session_ask() */
    uint32_t weight; /* of its last lease */
    uint64_t after; /* LATER: the renewal has a larger tag */
    uint64_t ticket; /* GIFT */
    char *claims; /* GIFT; owned */
    uint8_t state; /* enum entry_state; only entry_move() writes it */
    bool is_there; /* the database may know it */
    bool may_return; /* it was given back alive: it may be asked for once more, with the same id */
    uint8_t n_unknown; /* answers in a row that the database lacks a definition of the file */
    bool must_release; /* whatever the call in flight says; then to be asked for again, if there is
                          a lease */
};

TAILQ_HEAD(entry_list, entry);

/* ---- calls ---- */

enum call_kind {
    CALL_BEGIN,
    CALL_NEWS,
    CALL_CHANGE,
    CALL_DEFINE,
    CALL_LIST,
    CALL_END,
    CALL_RENEW,
    CALL_ACQUIRE,
    CALL_RELEASE,
    CALL_ADMIN,
    CALL_SNAPSHOT,
    N_CALL_KINDS
};

struct flight {
    struct table_node by_tag;
    TAILQ_ENTRY(flight) link; /* in session.calls.in_flight, oldest first */
    uint64_t tag;
    nanoseconds sent_at;
    enum call_kind kind;
    struct inquiry *request; /* CALL_ADMIN, CALL_SNAPSHOT */
    uint32_t weight; /* of its entries */
    size_t n;
    struct entry *entries[];
};

TAILQ_HEAD(flight_list, flight);

/* ---- definitions, changes ---- */

enum verdict { VERDICT_NONE, VERDICT_SAME, VERDICT_NEWER, VERDICT_LIMIT, VERDICT_DIFFERS };

struct known_definition {
    struct table_node by_name;
    TAILQ_ENTRY(known_definition) link; /* in session.definitions.all, in the order of the file */
    TAILQ_ENTRY(known_definition) tell_link; /* in session.definitions.untold */
    char *name, *json;
    uint64_t generation;
    enum verdict verdict;
    uint64_t told_by; /* tag of the last call that told it as it is now; 0: none has */
    bool is_untold;
    bool is_missing; /* an acquire needs it: it is told without waiting for other answers */
    bool is_defined; /* false while session_define() has not seen it again */
};

TAILQ_HEAD(known_definition_list, known_definition);

struct known_change {
    struct table_node by_name;
    TAILQ_ENTRY(known_change) link; /* in session.changes.all, oldest first */
    TAILQ_ENTRY(known_change) tell_link; /* in session.changes.untold */
    char *name, *json;
    uint64_t version;
    bool is_untold; /* the database may not know it */
};

TAILQ_HEAD(known_change_list, known_change);

/* ---- requests ---- */

TAILQ_HEAD(inquiry_list, inquiry);

struct inquiry {
    TAILQ_ENTRY(inquiry) link; /* in a list of session.requests */
    enum call_kind kind;
    uint64_t serial; /* in the order in which they came */
    char **words; /* its arguments but for the cursor; owned */
    size_t n_words;
    char *cursor; /* of a snapshot: what comes next; owned */
    struct session_result result;
};

/* ---- all of it, by what it belongs to ---- */

enum listing_step { STEP_BEGIN, STEP_NEWS, STEP_LIST, STEP_END };

/* The way there, as the link tells. */
struct session_link {
    bool is_connected;
    bool is_resetting; /* it is being given up: nothing more is sent */
    bool wants_reset; /* session_wants_reset() has not been asked yet */
    bool is_given_up; /* DOWN for so long that whoever has no place is refused */
    nanoseconds give_up_at; /* if it is still DOWN then; NEVER */
    char why[200]; /* of DOWN, or of the reset */
};

/* What operators are to hear. */
struct session_notices {
    char *lines[MAX_NOTICES]; /* owned */
    size_t n;
    uint64_t last_hash; /* of a line that is not said again before something else, or all is well */
    char *taken; /* the one last taken; owned */
    char trouble[160]; /* the last error of the server, until a renewal is good; or "" */
};

/* What outlives the daemon: session_write(). */
struct session_tenure {
    bool is_changed; /* since it was written */
    nanoseconds ttl;
    nanoseconds told_ttl; /* the last that the database told; 0: none since the start */
    nanoseconds good_until; /* 0: never was */
    uint64_t incarnation;
    uint64_t highest_token, highest_ticket; /* seen so far */
    char *kept; /* what a later version has written besides, to be written again: words, each behind
                   a space; or NULL; owned */
};

/* What the database has got to, as far as is known: one that has not got so far is an older one
 * that has come back. No larger numbers are written down than `written_...`. */
struct session_reached {
    uint64_t sequence, written_sequence; /* of the last call that was answered */
    uint64_t event, written_event; /* of the session */
};

struct session_renewal {
    nanoseconds renewed_at; /* t0 of the last good one, or of a hello that may become one */
    nanoseconds next_at;
    nanoseconds not_before; /* after one has failed */
    nanoseconds due_at; /* this session has to call then, if anybody waits; NEVER */
    nanoseconds hello_at; /* a grace has begun: it renews then, to be told so; NEVER */
    bool is_wanted; /* at once */
    bool is_in_flight;
};

/* Events of leases as they were may still be under way until a renewal has brought all that was
 * sent after call `unsafe_tag`: until then nothing is asked for that may have had any. */
struct session_events {
    uint64_t last; /* taken in order */
    uint64_t acknowledged; /* of these */
    uint64_t newest_at_begin; /* events up to this one were before the hello */
    uint64_t unsafe_tag;
    uint64_t renewed_tag; /* of the last renewal that brought all */
};

struct session_hello {
    enum listing_step step;
    char *cursor; /* of `end`; owned */
    nanoseconds not_before;
    uint32_t n_begun; /* since one was ended */
    bool is_in_flight; /* a call of it is */
    bool is_held; /* more leases may have to be listed */
    bool is_new; /* the database had nothing of this session when it began */
};

struct session_leases {
    struct entry_list entries[N_ENTRY_STATES];
    struct table by_id;
    uint64_t last_serial;
};

struct session_calls {
    struct flight_list in_flight;
    struct table by_tag;
    size_t n_in_flight;
    uint64_t last_tag;
    uint64_t n_sent;
    struct arguments arguments; /* scratch */
    struct claims claims; /* scratch */
};

struct session_definitions {
    struct known_definition_list all, untold;
    struct table by_name;
    bool is_in_flight; /* a `define` outside of a hello is */
};

/* Operators' changes. */
struct session_changes {
    struct known_change_list all, untold;
    struct table by_name;
    uint64_t floor; /* what is not newer, and not among them, was taken back */
    uint64_t foreign_place; /* all changes are from that database; 0: from this one */
    bool is_unwritten; /* they, or how far the database was, are to be stored */
    nanoseconds store_at;
};

/* What is stored for all. */
struct session_news {
    uint64_t followed; /* number of the newest that was fetched since the hello */
    uint64_t floor_there; /* of the database, as it last said */
    nanoseconds follow_at; /* NEVER: nothing is known to be newer */
    bool is_in_flight; /* a call of it is */
    bool is_of_all; /* from the first on, not only what was added */
};

/* Of operators. */
struct session_requests {
    struct inquiry_list unsent;
    struct inquiry_list asked; /* in flight */
    struct inquiry_list results; /* over */
    size_t n; /* in all three */
};

/* The snapshot that is being made. */
struct session_look {
    struct inquiry *request; /* in flight or between two pages; or NULL */
    nanoseconds since;
    nanoseconds not_before;
};

struct session {
    struct core *core;
    const struct database *settings;
    const struct script_bounds *bounds;
    char *host;
    char id[SESSION_ID_SIZE];
    uint64_t random;
    nanoseconds wall_offset;
    uint8_t database;
    enum session_state state;
    nanoseconds grace_until; /* the database's; NEVER: none */
    struct session_link link;
    struct session_notices notices;
    struct session_tenure tenure;
    struct session_reached reached;
    struct session_renewal renewal;
    struct session_events events;
    struct session_hello hello;
    struct session_leases leases;
    struct session_calls calls;
    struct session_definitions definitions;
    struct session_changes changes;
    struct session_news news;
    struct session_requests requests;
    struct session_look look;
};

/* ---- session.c ---- */

/* Says it to an operator. */
__attribute__((format(printf, 2, 3))) void session_say(
    struct session *session, const char *format, ...);
/* The link is of no use. */
__attribute__((format(printf, 2, 3))) void session_reset(
    struct session *session, const char *format, ...);
/* It must not be used at present, though the link is there: nothing more is sent. */
void session_set_useless(
    struct session *session, enum session_state state, nanoseconds now, struct effects *effects);
/* Below the span. */
nanoseconds session_random(struct session *session, nanoseconds span);
/* From session->renewed_at on. */
void session_set_good(struct session *session, nanoseconds now, struct effects *effects);
/* Numbers that the database has given out. */
void session_saw(struct session *session, uint64_t token, uint64_t ticket);
void session_saw_event(struct session *session, uint64_t number);
/* Even right after a renewal there would not be enough time to stop its job. */
bool session_is_hopeless(const struct session *session, const struct lease *lease);
/* Nothing can be asked at present, nor soon. */
bool session_is_away(const struct session *session);

/* ---- session_calls.c: what is in flight ---- */

struct flight *flight_new(enum call_kind kind, size_t n_entries);
/* Adds an entry, unless they become more than `most` or too much work for one call. */
bool flight_takes(struct flight *call, struct entry *entry, size_t most);
/* Clears session->arguments but for what every call begins with; the rest is the caller's. */
struct arguments *flight_arguments(struct session *session);
/* With session->arguments. */
void flight_send(
    struct session *session, struct flight *call, nanoseconds now, struct session_call *out);
/* Their answers are not waited for any more. */
void flights_forget(struct session *session);
enum script flight_script(const struct flight *call);

/* What comes of a call: see kind_table. The call is in no list any more, and freed afterwards. */
typedef const char *call_is_answered(struct session *session, struct flight *call,
    const struct answer *answer, nanoseconds now, struct effects *effects);
typedef void call_has_failed(struct session *session, struct flight *call,
    const struct answer *answer, nanoseconds now, struct effects *effects);
typedef void call_is_undone(struct session *session, struct flight *call);

/* ---- session_listing.c: hello ---- */

/* Everything is listed anew, once the calls in flight are over. */
void listing_begin(struct session *session);
bool listing_next_call(struct session *session, nanoseconds now, struct session_call *out);
nanoseconds listing_deadline(const struct session *session);
call_is_answered begin_is_answered, list_is_answered, end_is_answered;
call_has_failed hello_has_failed;
call_is_undone hello_is_undone;

/* ---- session_definitions.c ---- */

bool definitions_next_call(struct session *session, nanoseconds now, struct session_call *out);
/* All of them are to be told (again). */
void definitions_untell(struct session *session);
void definitions_deinit(struct session *session);
/* When call `tag` asked for the lease, the database lacked what governs that resource. False: so does
 * the file. Else the lease's definitions are told first, unless they have been told since. */
bool definitions_are_missing(
    struct session *session, const struct lease *lease, const char *resource, uint64_t tag);
/* Somebody has stored one of that name, or has had it forgotten: ours is told again, and compared. */
void definition_is_news(struct session *session, const char *name);
call_is_answered define_is_answered;

/* ---- session_entries.c ---- */

struct entry *entry_new(struct session *session, uint64_t id, enum entry_state state);
void entry_free(struct session *session, struct entry *entry);
void entries_deinit(struct session *session);
struct entry *entry_find(const struct session *session, uint64_t id);
void entry_move(struct session *session, struct entry *entry, enum entry_state state);
bool entry_is_in_flight(const struct entry *entry);
/* It is held, or has a ticket. */
bool lease_has_place(const struct lease *lease);
void entry_attach(struct entry *entry, struct lease *lease);
void entry_detach(struct entry *entry);
/* The database may know it, and must not. */
void entry_end(struct session *session, struct entry *entry);
/* One that nobody here has: it is given back. */
void entry_disown(struct session *session, uint64_t id);
void entry_wait_for_renewal(struct session *session, struct entry *entry);
/* Its lease is denied, and detached. */
void entry_refuse(struct session *session, struct entry *entry, enum outcome why, nanoseconds now,
    struct effects *effects);
/* The call in flight that named it is over: what the database says of it now is that it is there.
 * Gives it back if need be; else true. */
bool entry_is_known(struct session *session, struct entry *entry);
/* The call has done nothing; a hello follows, which sees to the rest. */
void entry_is_undone(struct session *session, struct entry *entry);
/* Before a hello: sorts them into what is to be listed, and what needs not be. No call that names
 * one is in flight. */
void entries_unlist(struct session *session);
/* The same, and what has no place in line is refused, as nobody can be asked; with `waiters`, so is
 * all that waits. */
void entries_refuse(
    struct session *session, bool waiters, nanoseconds now, struct effects *effects);

/* ---- session_leases.c ---- */

bool leases_next_call(struct session *session, nanoseconds now, struct session_call *out);
/* A hello is over, of which call `tag` was the last. */
void entries_are_listed(struct session *session, uint64_t tag);
/* Those that waited for a renewal that was sent as call `tag`. */
void entries_renewed(struct session *session, uint64_t tag);
call_is_answered release_is_answered;
call_has_failed release_has_failed;
call_is_undone release_is_undone;

/* ---- session_grants.c ---- */

/* The database says that it is granted. */
void entry_granted(struct session *session, struct entry *entry, uint64_t ticket,
    const char *claims, nanoseconds now, struct effects *effects);
/* The database says that it is not there any more. */
void entry_lost(
    struct session *session, struct entry *entry, nanoseconds now, struct effects *effects);
call_is_answered acquire_is_answered;
call_has_failed acquire_has_failed;
call_is_undone acquire_is_undone;

/* ---- session_events.c: renewals, and what they bring ---- */

bool renewal_next_call(struct session *session, nanoseconds now, struct session_call *out);
nanoseconds renewal_deadline(const struct session *session);
call_is_answered renewal_is_answered;
call_has_failed renewal_has_failed;
call_is_undone renewal_is_undone;

/* ---- session_admin.c ---- */

bool requests_next_call(struct session *session, nanoseconds now, struct session_call *out);
nanoseconds requests_deadline(const struct session *session);
void requests_fail(struct session *session, const char *why);
void requests_deinit(struct session *session);
call_is_answered admin_is_answered, snapshot_is_answered;
call_has_failed request_has_failed;
call_is_undone request_is_undone;

/* ---- session_news.c: what is stored for all ---- */

/* All of it is to be fetched, and what is kept is to be told. */
void news_begin(struct session *session);
/* A renewal has said that there are newer ones. */
void news_are_newer(struct session *session, nanoseconds now);
/* False: it is no message about news. */
bool news_message(struct session *session, const char *text, nanoseconds now);
bool news_next_call(struct session *session, nanoseconds now, struct session_call *out);
nanoseconds news_deadline(const struct session *session);
call_is_answered news_are_answered, change_is_answered;

/* ---- session_record.c ---- */

/* Which database something that was written down is about: its address and its keys, as one number. */
void place_write(const struct session *session, struct text *out);
bool place_is_ours(const struct session *session, const char *text);
/* A line that says how far the database was, for the state directory. False: it is no such line. */
void reached_write(const struct session *session, struct text *out);
bool reached_restore(struct session *session, char *line);

/* ---- session_changes.c ---- */

void changes_deinit(struct session *session);
/* The database may have none of them. */
void changes_untell(struct session *session);
/* This database has answered for the first time. Those of another one are told to it only in a grace:
 * that database may have moved here. */
void changes_arrive(struct session *session, bool is_grace);
/* The database has it so. */
void change_hear(struct session *session, const char *name, uint64_t version, const char *json);
/* All that the database has was heard. */
void changes_are_heard(struct session *session);
/* NAME VERSION JSON of each, a chunk of them. */
void changes_tell_some(struct session *session, struct arguments *arguments);

#endif
