/* ready_internal.h - shared by ready.c (the stages, and what is always sent), ready_cluster.c
 * (which node it has to be) and ready_questions.c (what is asked of a server that is not known
 * yet). */
#ifndef BERTH_REDIS_READY_INTERNAL_H
#define BERTH_REDIS_READY_INTERNAL_H

#include "redis/ready.h"

enum { MAX_WORDS = 1 + N_SCRIPT_KEYS }; /* of a command */

struct ready_kind {
    enum ability ability; /* that the command is */
    /* Fills argv, returns argc. `number` has room for one number. */
    size_t (*make)(
        const struct ready *ready, size_t index, const char *argv[MAX_WORDS], char number[16]);
    /* False: `why` says what is wrong. Error replies never get here. */
    bool (*check)(struct ready *ready, size_t index, const struct resp *reply);
    /* Error replies may repeat the secret that was sent. */
    bool is_secret;
};

/* Sets .why; returns false. */
bool ready_fail(struct ready *ready, const char *what);
/* One more reply, to what the stage sends last. */
void ready_expect(struct ready *ready, const struct ready_kind *kind, size_t index);
/* Adds a step to the stage. */
void ready_add(
    struct ready *ready, const struct ready_kind *kind, size_t index, struct text *out);

extern const struct ready_kind ready_hello, ready_rights;
/* With .cluster: which node has our keys? An error reply leads to ready_is_redirected(). */
void ready_find_slot(struct ready *ready, struct text *out);
/* The last step of its stage. */
void ready_subscribe_to_slot(struct ready *ready, struct text *out);
/* True: the node has told us to ask another one, or the same one later. */
bool ready_is_redirected(struct ready *ready, const struct resp *reply);
/* CONFIG GET, for what INFO has not said. */
void ready_add_settings(struct ready *ready, struct text *out);

#endif
