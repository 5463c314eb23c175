#include "redis/same_server.h"

#include "redis/resp.h"

#include <inttypes.h>
#include <stdio.h>

void same_server_ask(
    struct same_server *same, const char *channel, uint64_t random, struct text *out)
{
    *same = (struct same_server){.is_asked = true};
    snprintf(same->message, sizeof same->message, "proof %016" PRIx64, random);
    resp_add_command(out, (const char *const[]){"PUBLISH", channel, same->message, NULL});
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
    same->has_arrived |= payload && resp_is(payload, same->message);
    return settled(same);
}
