/* ready.h - makes a new connection ready: which commands are sent, and what their replies must be.
 * Pure. */
#ifndef BERTH_REDIS_READY_H
#define BERTH_REDIS_READY_H

#include "base/text.h"
#include "redis/guard.h"
#include "redis/key_names.h"
#include "redis/resp.h"

#include <stdint.h>

enum { SHA_BYTES = 40 };

struct ready_wish {
    const char *user, *password; /* or NULL */
    uint32_t db;
    bool may_fail_over; /* as in guard.h */
    const struct keys *keys;
};

struct ready_step {
    const struct ready_kind *kind;
    size_t index; /* which script, which channel */
};

struct ready {
    struct ready_step steps[3 + N_SCRIPTS];
    size_t n, next;
    char run_id[sizeof((struct guard *)0)->run_id]; /* the one that it must have; "": any */
    const struct keys *keys;
    bool may_fail_over;

    struct guard guard; /* of the connection for commands, once INFO has answered */
    char shas[N_SCRIPTS][SHA_BYTES + 1];
    char why[SAY_BYTES]; /* of READY_FAILED */
    bool refused; /* by guard.h */
};

/* For the connection for commands: AUTH, SELECT, INFO; if the answer is good, SCRIPT LOAD (a server
 * that wants a password hangs up on a client that sends so much without one). Appends what to send
 * first. */
void ready_commands(struct ready *ready, const struct ready_wish *wish, struct text *out);
/* For the connection for messages, to the server with this run_id: AUTH, INFO, SUBSCRIBE. */
void ready_messages(
    struct ready *ready, const struct ready_wish *wish, const char *run_id, struct text *out);

enum ready_result { READY_MORE, READY_DONE, READY_FAILED };
/* Takes the next reply, and appends what to send after it. */
enum ready_result ready_reply(struct ready *ready, const struct resp *reply, struct text *out);

#endif
