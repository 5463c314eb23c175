/* session_struct.h - the struct behind session.h, for the session's own files alone.
 *
 * The session remembers entries (one for each lease that the database knows, or will be asked for)
 * and calls in flight. Each is in exactly one list, which is its state. At most one call that names
 * an entry is in flight at any time, and no entry is freed while one is. */
#pragma once

#include "base/memory.h"
#include "base/metrics.h"
#include "base/table.h"
#include "core/fleet.h"
#include "core/timing.h"
#include "fleet/session.h"
#include "fleet/session_text.h"

#include <sys/queue.h>

enum {
    MAX_REQUESTS = 1000, /* of operators */
    MAX_NOTICES = 16,
    MAX_HELLOS_AT_ONCE = 3, /* hellos begun and not ended; after these, less fast */
    MAX_UNKNOWN_AT_ONCE = 8, /* see ask_again() */
};

/* Some 120 000 leases. */
#define MAX_SNAPSHOT_BYTES ((size_t)32 << 20)
/* A Redis that restarts, or a connection that broke, is no reason for a refusal. */
#define DOWN_PATIENCE NANOSECONDS_PER_SECOND
/* How often the state directory stores how far the database was: only needed if the journal is
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
    ENTRY_GRANT_LISTED, /* KNOWN; the listing says that it is granted: taken when the listing has
                           ended */
    ENTRY_ENDING, /* to be given back */
    ENTRY_LISTING, /* in flight, as are the others below */
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
    uint64_t ticket; /* GRANT_LISTED */
    char *claims; /* GRANT_LISTED; owned */
    char *ending; /* how its last lease ended, for the history there; owned; or NULL */
    nanoseconds ended_at; /* if there is an .ending */
    uint8_t state; /* enum entry_state; only entry_move() writes it */
    bool is_there; /* the database may know it */
    bool may_return; /* given back alive: it may be requested again, with the same id */
    uint8_t n_unknown; /* answers in a row that the database lacks a definition of the file */
    bool must_release; /* whatever the call in flight says; then to be requested again, if there
                          is a lease */
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
    CALL_LEAVE,
    CALL_ACQUIRE,
    CALL_RELEASE,
    CALL_ADMIN,
    CALL_SNAPSHOT,
    N_CALL_KINDS,
    FIRST_REQUEST = CALL_ACQUIRE, /* of a job or an operator, as those below: few are in flight */
};

struct inflight_call;

/* The outcome of a call, which is in no list any more and is freed afterwards. The first returns
 * NULL, or what is wrong with the answer. */
typedef const char *call_is_answered(
    struct session *session, struct inflight_call *call, const struct answer *answer);
/* The server returned an error, but the link goes on: whether the call took effect is unknown. */
typedef void call_has_failed(
    struct session *session, struct inflight_call *call, const struct answer *answer);

struct call_row {
    enum call_kind kind;
    enum script script;
    const char *phase; /* of hello: its first argument; else NULL */
    call_is_answered *answered;
    call_has_failed *failed;
};

struct inflight_call {
    TAILQ_ENTRY(inflight_call) link; /* in session.calls.in_flight, oldest first */
    uint64_t tag;
    nanoseconds sent_at;
    const struct call_row *row;
    struct arguments *arguments; /* the session's: until the next call is made */
    struct admin_request *request; /* CALL_ADMIN, CALL_SNAPSHOT */
    bool is_of_hello; /* sent after it has begun */
    uint32_t weight; /* of its entries */
    size_t n;
    struct entry *entries[];
};

TAILQ_HEAD(inflight_call_list, inflight_call);

/* ---- definitions, changes ---- */

enum verdict { VERDICT_NONE, VERDICT_SAME, VERDICT_NEWER, VERDICT_LIMIT, VERDICT_DIFFERS };

/* What this daemon and the database each have under a name: a definition, or an operator's
 * change. */
struct session_known {
    struct table_node by_name;
    TAILQ_ENTRY(session_known) link; /* in session_known_set.all */
    TAILQ_ENTRY(session_known) unsent_link; /* in session_known_set.unsent */
    char *name, *json;
    uint64_t version; /* a definition's generation */
    bool is_unsent; /* the database may not know it */
    /* Of a definition: */
    enum verdict verdict;
    uint64_t sent_by; /* the last call that sent the present one; 0: none */
    bool is_missing; /* an acquire needs it: sent without waiting for other answers */
    bool is_defined; /* false until session_define() has seen it again */
};

TAILQ_HEAD(session_known_list, session_known);

struct session_known_set {
    struct session_known_list all; /* definitions as they came, changes from the oldest on */
    struct session_known_list unsent;
    struct table by_name;
};

/* ---- requests ---- */

TAILQ_HEAD(admin_request_list, admin_request);

enum request_state { REQUEST_UNSENT, REQUEST_IN_FLIGHT, REQUEST_OVER, N_REQUEST_STATES };

struct admin_request {
    TAILQ_ENTRY(admin_request) link; /* in session.requests.lists[state] */
    const struct call_row *row;
    uint64_t serial; /* in the order in which they came */
    char **words; /* its arguments but for the cursor; owned */
    size_t n_words;
    char *cursor; /* of a snapshot: what comes next; owned */
    bool is_repeated; /* as the database lacked a definition of the file */
    struct session_result result;
};

/* ---- the session, by subject ---- */

enum listing_step { STEP_BEGIN, STEP_NEWS, STEP_LIST, STEP_END };

struct session_renewal {
    nanoseconds renewed_at; /* t0 of the last good renewal, or of a hello that may become one */
    nanoseconds next_at;
    nanoseconds not_before; /* after one has failed */
    nanoseconds due_at; /* this session has to call then; NEVER */
    nanoseconds hello_at; /* a grace has begun: the session renews then, to be told so; NEVER */
    bool is_wanted; /* at once */
    struct metric_histogram *times; /* or NULL */
    bool is_slow; /* as was told to operators */
    nanoseconds slow_at; /* the last slow one was answered */
};

/* Events about earlier states of leases may be under way until a renewal has brought all that was
 * sent after call `unsafe_tag`: until then no lease is requested that may have had any. */
struct session_events {
    uint64_t last; /* taken in order */
    uint64_t acknowledged; /* of these */
    uint64_t newest_at_begin; /* events up to this one came before the hello */
    uint64_t unsafe_tag;
    uint64_t renewed_tag; /* of the last renewal that brought all events */
    session_taken *taken; /* or NULL */
    void *taken_context;
};

/* All daemons that use the database. */
struct session_crowd {
    uint64_t n; /* sessions, as last heard; 0: not known */
    uint64_t rate; /* calls of all in 1000 seconds; 0: not known */
    uint64_t counted; /* the number of a call, and when it was answered; 0: it does not count */
    nanoseconds counted_at;
    uint32_t bulk; /* how many requests one call may carry, as the times of calls show */
    nanoseconds halved_at; /* that number */
};

enum { PLACE_BYTES = MAX_HOSTS * 8 + 1 };

struct session {
    /* Of the function of session.h that was called last. */
    nanoseconds now;
    struct effects *effects; /* NULL: it must not change leases */
    struct core *core;
    const struct database *settings;
    const struct script_bounds *bounds;
    struct layouts layouts;
    /* One of these: the data's, as last answered. A database that has lost its data begins with
     * it; a new one with the oldest, for which no host is too old. */
    unsigned layout;
    char *host;
    char *version; /* or NULL */
    char id[SESSION_ID_SIZE];
    uint64_t random;
    nanoseconds wall_offset;
    uint8_t database;
    enum session_state state;
    nanoseconds grace_until; /* the database's; NEVER: none */
    bool is_new; /* as this hello ended: see struct session_view */
    bool has_no_history; /* it may not keep any there */
    /* The way there, as the link reports it. */
    struct {
        bool is_connected;
        bool is_resetting; /* being given up: nothing more is sent */
        bool wants_reset; /* session_wants_reset() has not been asked yet */
        bool is_given_up; /* DOWN for so long that leases without a place are refused */
        nanoseconds give_up_at; /* when is_given_up begins if it is still DOWN; NEVER */
        char why[200]; /* of DOWN, or of the reset */
    } link;
    /* Notices for operators. */
    struct {
        char *lines[MAX_NOTICES]; /* owned */
        size_t n;
        uint64_t last_hash; /* of a line that is not repeated until another comes, or all is well */
        char *taken; /* the one last taken; owned */
        char trouble[160]; /* the server's last error, until a renewal is good; or "" */
    } notices;
    /* What outlives the daemon: session_write(). */
    struct {
        bool is_changed; /* since it was written */
        nanoseconds ttl;
        nanoseconds database_ttl; /* the last one from the database; 0: none since the start */
        nanoseconds good_until; /* 0: never */
        uint64_t incarnation;
        uint64_t highest_token, highest_ticket; /* seen so far */
        char *kept; /* what a later version has written besides, to be written again: each word
                       preceded by a space; or NULL; owned */
    } tenure;
    /* How far the database has got, as far as known: a database that is behind this is an older one
     * that has come back. Numbers above `written_...` are not in the state directory. */
    struct {
        uint64_t sequence, written_sequence; /* the last answered call's */
        uint64_t event, written_event; /* the session's */
    } reached;
    struct session_renewal renewal;
    struct session_events events;
    struct session_crowd crowd;
    struct {
        enum listing_step step;
        char *cursor; /* of `end`; owned */
        nanoseconds not_before;
        uint32_t n_begun; /* since the last one that ended */
        uint64_t *n_up; /* counts those that ended; or NULL */
        bool is_held; /* more leases may have to be listed */
        bool is_new; /* the database had nothing for this session when it began */
    } hello;
    struct {
        struct entry_list entries[N_ENTRY_STATES];
        struct table by_id;
        uint64_t last_serial;
    } leases;
    struct {
        struct inflight_call_list in_flight;
        nanoseconds heard_at; /* the last answer */
        struct latency latency;
        uint64_t last_tag;
        uint64_t n_sent;
        struct arguments arguments; /* scratch */
        struct claims claims; /* scratch */
    } calls;
    struct session_known_set definitions; /* those of the file */
    /* Operators' changes. */
    struct {
        struct session_known_set known;
        uint64_t floor; /* what is not newer, and not in .known, was undone */
        char foreign_place[PLACE_BYTES]; /* the database that all changes come from; "": this one */
        struct text kept; /* lines that a later version has written, to be written again */
        bool is_unwritten; /* the changes, or how far the database was, have to be stored */
        nanoseconds store_at;
    } changes;
    /* What is stored for all. */
    struct {
        uint64_t followed; /* number of the newest fetched since the hello */
        uint64_t floor_there; /* the database's, as last reported */
        nanoseconds follow_at; /* NEVER: no newer news is known */
        bool is_of_all; /* everything from the first on, not only additions */
    } news;
    /* Operators' requests. */
    struct {
        struct admin_request_list lists[N_REQUEST_STATES];
        size_t n; /* in all three */
    } requests;
    /* The snapshot being made. */
    struct {
        struct admin_request *request; /* in flight or between two pages; or NULL */
        nanoseconds since;
        nanoseconds not_before;
    } look;
};
