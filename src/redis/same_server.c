#include "redis/same_server.h"

#include "redis/resp.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

void same_server_ask(
    struct same_server *same, const char *channel, uint64_t random, struct text *out)
{
    const char *const argv[] = {"PUBLISH", channel, same->message};
    size_t lengths[3], n;
    *same = (struct same_server){.is_asked = true};
    snprintf(same->message, sizeof same->message, "proof %016" PRIx64, random);
    for (size_t i = 0; i < 3; i++) {
        lengths[i] = strlen(argv[i]);
    }
    char *bytes = resp_command(3, argv, lengths, &n);
    text_add_bytes(out, bytes, n);
    free(bytes);
}

static enum same_result settled(struct same_server *same)
{
    same->is_asked = !same->is_answered || !same->has_arrived;
    return same->is_asked ? SAME_MORE : SAME_YES;
}

enum same_result same_server_reply(struct same_server *same, const struct resp *reply)
{
    if (reply->type != RESP_INTEGER || same->is_answered) {
        format_one_line(same->why, sizeof same->why, "PUBLISH: %s",
            reply->type == RESP_ERROR ? reply->text : RESP_UNEXPECTED);
        return SAME_FAILED;
    }
    same->is_answered = true;
    return settled(same);
}

enum same_result same_server_message(struct same_server *same, const struct resp *reply)
{
    if (reply->type == RESP_ERROR) {
        format_one_line(same->why, sizeof same->why, "%s", reply->text);
        return SAME_FAILED;
    }
    const struct resp *payload = reply->n == 3 ? &reply->elements[2] : NULL;
    if (payload && payload->type == RESP_STRING && strcmp(payload->text, same->message) == 0) {
        same->has_arrived = true;
    }
    return settled(same);
}
