/* same_server.h - where INFO is not allowed: does a message that is published on one connection
 * arrive on the other one? Nothing else would notice that one name leads to two servers. Pure. */
#pragma once

#include "base/text.h"
#include "fleet/resp_value.h"
#include "redis/one_line.h"

#include <stdbool.h>
#include <stdint.h>

struct same_server {
    bool is_asked; /* and not settled yet */
    bool is_answered, has_arrived;
    char message[24];
    char why[ONE_LINE_BYTES]; /* of SAME_FAILED */
};

enum same_result { SAME_MORE, SAME_YES, SAME_FAILED };

/* Appends what to send on the connection for commands. The other one has subscribed to the channel;
 * nobody else has. */
void same_server_ask(
    struct same_server *same, const char *channel, uint64_t random, struct text *out);
/* The reply on the connection for commands. */
enum same_result same_server_reply(struct same_server *same, const struct resp *reply);
/* Whatever comes on the other one. Messages of others are for a session that says hello when the
 * link is up, and hears of it then. */
enum same_result same_server_message(struct same_server *same, const struct resp *reply);
