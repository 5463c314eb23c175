/* handshake_internal.h - shared by handshake.c (the stages, and what is always sent),
 * handshake_cluster.c (which node it has to be) and handshake_questions.c (what is asked of a
 * server that is not known yet). */
#pragma once

#include "redis/handshake.h"

struct handshake_kind {
    enum ability ability; /* that the command is */
    /* False: `why` says what is wrong. Error replies never get here. */
    bool (*check)(struct handshake *handshake, const struct resp *reply);
};

/* The index of the step that the reply is to. */
size_t handshake_index(const struct handshake *handshake);
/* The reply is "OK". */
bool handshake_check_status(struct handshake *handshake, const struct resp *reply);
/* Sets .why; returns false. */
bool handshake_fail(struct handshake *handshake, const char *what);
/* One more reply, to what the stage sends last. */
void handshake_expect(struct handshake *handshake, const struct handshake_kind *kind, size_t index);
/* Adds a step to the stage: a command, whose words end with NULL. */
void handshake_add(struct handshake *handshake, const struct handshake_kind *kind, size_t index,
    const char *const words[], struct text *out);

/* The reply to SUBSCRIBE or SSUBSCRIBE for the channel of that index. */
bool handshake_has_subscribed(
    const struct handshake *handshake, const struct resp *reply, const char *word);

void handshake_add_hello(struct handshake *handshake, struct text *out);
/* What may scripts do there? */
void handshake_add_rights(struct handshake *handshake, struct text *out);
/* With .cluster: which node has our keys? An error reply leads to handshake_is_redirected(). */
void handshake_find_slot(struct handshake *handshake, struct text *out);
/* The last step of its stage. */
void handshake_subscribe_to_slot(struct handshake *handshake, struct text *out);
/* True: the node has told us to ask another one, or the same one later. */
bool handshake_is_redirected(struct handshake *handshake, const struct resp *reply);
/* CONFIG GET, for what INFO has not said. */
void handshake_add_settings(struct handshake *handshake, struct text *out);
