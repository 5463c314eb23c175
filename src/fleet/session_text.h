/* session_text.h - turns leases and definitions into the scripts' arguments, and replies into typed
 * values. Pure text, both ways; session.h has the meaning, doc/redis.md the arguments and answers.
 *
 * A reply is untrusted: whatever is malformed is reported as an error, never by an assert. */
#pragma once

#include "base/text.h"
#include "core/core.h"
#include "fleet/resp_value.h"

enum {
    MAX_ASKED = 32, /* leases that one call requests */
    MAX_DEFINED = 25, /* definitions in one call */
    CHUNK = 100, /* things listed or released by one call */
    MAX_WEIGHT = 100, /* of one call's leases, unless there is only one */
    CALL_HEAD = 4, /* arguments that every script takes first */
};

#define MAX_DATABASE_NUMBER                                                                        \
    ((UINT64_C(1) << 53) - 1) /* tokens, tickets, versions: Lua's doubles                          \
                               */

/* The largest number that a database believes from a caller. */
#define MAX_CREDIBLE_NUMBER (MAX_DATABASE_NUMBER / 2)

/* ---- arguments ---- */

/* ARGV of one call, built from left to right; reused for the next. */
struct arguments {
    struct text bytes; /* each with a final NUL */
    size_t *ends; /* where each one's NUL is */
    const char **argv;
    size_t *lengths;
    size_t n, size;
};

void arguments_deinit(struct arguments *arguments);
void arguments_clear(struct arguments *arguments);
void arguments_add(struct arguments *arguments, const char *text);
void arguments_add_number(struct arguments *arguments, uint64_t number);
/* "FIRST-SECOND-..." */
void arguments_add_numbers(struct arguments *arguments, size_t n, const uint64_t numbers[]);
/* argv and lengths are good from then on, until the next change. */
void arguments_finish(struct arguments *arguments);

/* ID NOWAIT PRIORITY TICKET UID SHAREDUID HOLDER INFO ABOVE N {NAME DEFINITION COUNT LIMIT}*N, see
 * doc/redis.md. Adding `wall_offset` turns an instant into wall-clock time. */
void call_add_acquire(struct arguments *arguments, struct core *core, const struct lease *lease,
    nanoseconds wall_offset);
/* The same with STATE in place of NOWAIT, TOKEN UNITS behind each LIMIT, and HELDFOR at the end. */
void call_add_listed(struct arguments *arguments, struct core *core, const struct lease *lease,
    nanoseconds wall_offset, nanoseconds now);
/* Of one that is given back. `ending`: how it ended, that long ago, for the history; NULL: it has
 * not, or that is not kept. */
void call_add_release(
    struct arguments *arguments, uint64_t id, const char *ending, nanoseconds ago);

/* The canonical JSON of a definition. */
void definition_write(struct text *out, const struct definition *definition);
/* "pid=1 program=x reason=y at=MILLISECONDS": since 1970. */
void info_write(struct text *out, const struct lease *lease, nanoseconds wall_offset);

/* ---- answers ---- */

enum reply_status {
    REPLY_OK,
    REPLY_REFUSED, /* for a client or an operator */
    REPLY_HELLO, /* the session must list its leases (again) */
    REPLY_STALE, /* a newer incarnation exists */
    REPLY_LAYOUT, /* the data have another layout */
    REPLY_ERROR, /* the server's, not the script's */
};

struct answer {
    enum reply_status kind;
    nanoseconds due; /* until something is due in the database; NEVER: nothing */
    nanoseconds grace; /* what is left of the database's; 0: none */
    uint64_t sequence; /* the call's number among all calls of the database */
    const char *text; /* the reason, the layout, or the error's line */
    const struct resp *fields; /* the script's own */
    size_t n;
};

/* These return NULL, or what is wrong with the reply (static text). Texts point into the reply. */
const char *answer_read(const struct resp *reply, struct answer *answer);

/* Reads field i: false if there is none, or it is of another type. Numbers come as integers or as
 * decimals. */
bool answer_text(const struct answer *answer, size_t i, const char **textp);
bool answer_number(const struct answer *answer, size_t i, uint64_t max, uint64_t *numberp);

/* Copies the next word of *textp, which goes on behind it. False: there is none, or no room for
 * it. */
bool word_take(const char **textp, char *word, size_t size);

/* Whether an error of the server says that this connection, or this server, is of no use at
 * present; else it takes no writes at present, or the script failed. */
bool error_needs_reset(const char *text);

/* The outcome for a word of wire/codes.def; OUTCOME_DOWN for a word that no refusal has. */
enum outcome refusal_outcome(const char *word);

/* Memory for the claims that claims_read() makes; reused. */
struct claims {
    struct text bytes;
    struct saved_unit *units;
    size_t size_units;
    uint32_t room; /* left on a line for slots */
    struct saved_claim list[MAX_RESOURCES_PER_LEASE];
};

void claims_deinit(struct claims *claims);
/* Reads `text` as granted to `lease`: the same resources and counts, in the lease's order, each
 * with a token and as many units. The core judges which units. */
const char *claims_read(struct claims *claims, const char *text, const struct lease *lease);
/* The largest token in the text; 0 if it cannot be read. */
uint64_t claims_highest_token(const char *text);

/* ---- events ---- */

enum event_kind {
    FLEET_GRANTED,
    FLEET_LOST,
    FLEET_REVOKE,
    FLEET_WITHDRAW,
    FLEET_DROP,
    FLEET_RELEASE,
    FLEET_MOVED,
    FLEET_CIRCLE,
    FLEET_REPLACED,
    N_FLEET_EVENTS,
    FLEET_UNKNOWN = N_FLEET_EVENTS, /* a newer berthd's: taken and ignored */
};

struct fleet_event {
    enum event_kind kind;
    uint64_t id; /* the lease's */
    uint64_t ticket; /* GRANTED, MOVED */
    /* GRANTED: the claims. MOVED: the position. CIRCLE: the resource. REPLACED: by which lease.
     * REVOKE, WITHDRAW, DROP, RELEASE: "BY|REASON", who wants that, and their words, encoded;
     * either may be "". */
    const char *text;
};

const char *fleet_event_read(const char *text, struct fleet_event *event);
/* Parses "NNNNNNNNNNNN TEXT", a message from a channel. */
const char *message_read(const char *text, uint64_t *numberp, const char **textp);
