/* ready.h - makes a new connection ready: which commands are sent, and what their replies must be.
 * Pure.
 *
 * What is sent comes in stages: the next one begins when every command of the one before has its
 * reply, and so can depend on them. Each command is an ability of the server (abilities.def). Where
 * that is not REQUIRED, an error reply is an answer, which is noted. */
#ifndef BERTH_REDIS_READY_H
#define BERTH_REDIS_READY_H

#include "base/text.h"
#include "redis/abilities.h"
#include "redis/guard.h"
#include "redis/key_names.h"
#include "redis/resp.h"

#include <stdint.h>

enum { SHA_BYTES = 40, MAX_READY_STEPS = 8 + N_SCRIPTS };

/* What the connection is for, and to whom. All pointers but the secret ones must be good until it
 * is ready. */
struct ready_wish {
    const char *user, *password; /* or NULL; used before ready_commands() or _messages() returns */
    const char *client_name; /* what the server is to call the connection; or NULL */
    uint32_t db;
    bool may_fail_over; /* as in guard.h */
    const struct keys *keys;
};

struct ready_step {
    const struct ready_kind *kind;
    size_t index; /* which script, which channel */
};

struct ready;
/* Adds the steps of a stage; none: the next one begins at once. False: the connection must not be
 * used; .why is set. */
typedef bool ready_stage(struct ready *ready, struct text *out);

struct ready {
    ready_stage *const *stages; /* to come; ends with NULL */
    struct ready_step steps[MAX_READY_STEPS]; /* of this stage */
    size_t n, next;
    struct ready_wish wish; /* without what is secret */
    char run_id[sizeof((struct guard *)0)->run_id]; /* the one that it must have; "": any */

    struct guard guard; /* of the connection for commands, once INFO has answered */
    struct abilities abilities; /* of the server, as found out so far */
    char shas[N_SCRIPTS][SHA_BYTES + 1];
    char why[SAY_BYTES]; /* of READY_FAILED */
    bool refused; /* the server is there, but must not or cannot be used */
};

/* For the connection for commands: AUTH, SELECT, INFO, and whatever is asked for on top; if the
 * answers are good, SCRIPT LOAD (a server that wants a password hangs up on a client that sends so
 * much without one). Appends what to send first. */
void ready_commands(struct ready *ready, const struct ready_wish *wish, struct text *out);
/* For the connection for messages, to the server that `commands` has reached: AUTH, INFO,
 * SUBSCRIBE. Both may be one and the same struct. */
void ready_messages(struct ready *ready, const struct ready_wish *wish,
    const struct ready *commands, struct text *out);

enum ready_result { READY_MORE, READY_DONE, READY_FAILED };
/* Takes the next reply, and appends what to send after it. */
enum ready_result ready_reply(struct ready *ready, const struct resp *reply, struct text *out);

#endif
