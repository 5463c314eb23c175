/* handshake.h - makes a new connection ready: which commands are sent, and what their replies must
 * be. Pure.
 *
 * What is sent comes in stages: the next one begins when every command of the one before has its
 * reply, and so can depend on them. Each command is an ability of the server (abilities.def). Where
 * that is not REQUIRED, an error reply is an answer, which is noted. */
#pragma once

#include "base/text.h"
#include "redis/abilities.h"
#include "redis/loading.h"
#include "redis/resp.h"
#include "redis/route.h"
#include "redis/server_check.h"

#include <stdint.h>

enum { MAX_HANDSHAKE_STEPS = 8 };

/* What connections have found out about a server. With a run id, most of that holds until it
 * restarts, and the next connection need not ask again. */
struct known_server {
    char run_id[sizeof((struct server_check *)0)->run_id]; /* "": unknown */
    struct abilities abilities;
    struct facts facts;
};

/* What the connection is for, and to whom. All pointers but the secret ones must be good until it
 * is ready. */
struct handshake_wish {
    const char *user,
        *password; /* or NULL; used before handshake_commands() or _messages() returns */
    const char *client_name; /* what the server is to call the connection; or NULL */
    uint32_t db;
    bool may_fail_over; /* as in server_check.h */
    fault_set acknowledged;
    const struct keys *keys;
    const struct known_server *known; /* from earlier connections; or NULL */
    const struct route *cluster; /* to the node that was dialed; NULL: it is no node of a cluster */
    const struct script_set *set; /* to be loaded */
};

struct handshake_step {
    enum ability ability; /* that the command is */
    size_t index; /* which step of loading, which channel, which server */
};

struct handshake;
/* Adds the steps of a stage; none: the next one begins at once. False: the connection must not be
 * used; .why is set. */
typedef bool handshake_stage(struct handshake *handshake, struct text *out);

struct handshake {
    handshake_stage *const *stages; /* to come; ends with NULL */
    struct handshake_step steps[MAX_HANDSHAKE_STEPS]; /* of this stage */
    size_t n, next;
    struct handshake_wish wish; /* without what is secret */

    struct server_check guard; /* of the connection for commands */
    struct known_server server; /* what was found out so far, and what was known */
    enum loading loading; /* how far it has come; once ready, which of the two it has */
    const char *unwritable; /* why it refuses writes; NULL: it does not, or was not asked */
    struct cluster_map map; /* of the cluster; .n is 0 if the node has not said it */
    /* of HANDSHAKE_FAILED: the node has none of the keys, or not all */
    struct redirection redirection;
    char why[ONE_LINE_BYTES]; /* of HANDSHAKE_FAILED */
    bool refused; /* the server is there, but must not or cannot be used */
};

/* For the connection for commands: AUTH, SELECT, INFO; of a server that is not known yet, what it
 * allows; if the answers are good, the commands of loading.h (a server that wants a password hangs
 * up on a client that sends so much without one). Appends what to send first. */
void handshake_commands(
    struct handshake *handshake, const struct handshake_wish *wish, struct text *out);
/* For the connection for messages, to the server that is wish.known: AUTH, INFO (if it is allowed:
 * else the caller must find out whether messages arrive), SUBSCRIBE. */
void handshake_messages(
    struct handshake *handshake, const struct handshake_wish *wish, struct text *out);

enum handshake_result { HANDSHAKE_MORE, HANDSHAKE_DONE, HANDSHAKE_FAILED };
/* Takes the next reply, and appends what to send after it. */
enum handshake_result handshake_reply(
    struct handshake *handshake, const struct resp *reply, struct text *out);
