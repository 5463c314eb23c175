/* remote.h - requests that a database carries out: the connection is parked until it has answered.
 * Among them those about leases that another host may have. */
#pragma once

#include "command/asking.h"
#include "conn/command_call.h"
#include "fleet/session.h"

struct remote;
struct session_result;

/* Makes the answer from the database's, whose rows are freed afterwards. False: it has asked
 * again. */
typedef bool remote_done(
    struct conn *conn, struct remote *remote, struct session_result *result);

enum { MAX_REMOTE_WORDS = 6 };

/* What the request keeps until it has its answer. */
struct remote {
    struct conn *conn;
    uint8_t database; /* the one being asked */
    remote_done *done;
    unsigned number; /* the caller's */
    char *why; /* the caller's; owned */
    struct request_log *log; /* until the answer is known; owned, or NULL */
    size_t n_words;
    char *words[MAX_REMOTE_WORDS]; /* of the call; owned */
};

/* Parks the connection, and sends the request to the database's admin.lua, with who asks and why:
 * about that resource or lease, or (empty) the whole database. */
struct remote *remote_ask(
    struct call *call, uint8_t database, const char *name, remote_done *done);
/* What `remote_done` as a rule does. Returns true. */
bool remote_answer(struct conn *conn, uint8_t database, const struct session_result *result);
/* definition.database of the key `database`; without it `usual`, unless that is 0, or else the only
 * database of the file. 0: there is none; the request has been answered. */
uint8_t remote_named_database(struct call *call, uint8_t usual);

/* Whether `key` is SESSION/ID of this host: its *idp. */
bool remote_is_local(const struct server *server, const char *key, uint64_t *idp);
/* Whether `word` is a lease of this host: ID, or SESSION/ID. */
bool remote_parse_own(const struct server *server, const char *word, uint64_t *idp);
/* Whether it is SESSION/ID of another host. */
bool remote_is_elsewhere(const struct server *server, const char *word);

/* ---- a lease of another host, which the databases are asked for ---- */

/* What they have said. */
struct elsewhere {
    struct asking asking;
    char key[SESSION_ID_SIZE + LEASE_ID_SIZE]; /* SESSION/ID */
    const char *id; /* in .key */
    uint8_t database; /* that lists it; 0: none does */
    char host[REASON_BYTES + 1]; /* whose session it is; "": none of them knows it */
    void (*answer)(struct conn *conn, const struct elsewhere *elsewhere, struct text *out);
};

/* Parks the connection until all databases have said whether they list the lease, and whose it is.
 * Then .answer adds the answer, perhaps again, when users whom it names are known; unless a
 * database does not answer, and no other one lists it. */
void remote_look_up(struct call *call, const char *key,
    void (*answer)(struct conn *conn, const struct elsewhere *elsewhere, struct text *out));

/* `revoke`, `drop` and `move` of SESSION/ID: for admins of the daemon. */
void remote_take(struct call *call);
/* `move` of a lease of this host in fleet scope. */
void remote_move_own(struct call *call, const struct lease *lease);
/* The refusal of a `move`. */
void answer_held(struct text *out, const char *lease);
/* `release NAME` by an identity or an item (the other is NULL), which no lease on this host
 * matches. NAME is of fleet scope. */
void remote_release(struct call *call, const char *holder, const char *item);
