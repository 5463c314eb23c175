#include "redis/link_internal.h"

void link_heartbeat_begin(struct link *link)
{
    link->is_pinged = false;
    stream_set_timer(link->messages, link->timeout * 2);
}

void link_heartbeat_tick(struct link *link)
{
    struct text out = TEXT_INIT;
    if (link->is_pinged) {
        link_fail(link, "no answer to PING on the connection for messages", false);
        return;
    }
    resp_add_command(&out, (const char *const[]){"PING", NULL});
    stream_send_text(link->messages, &out);
    link->is_pinged = true;
    link_ask_for_slot(link);
    link_sweep_libraries(link);
    stream_set_timer(link->messages, link->timeout);
}

/* Whether the reply is a push of n strings, the first one `word`. */
static bool is_push(const struct resp *reply, const char *word, size_t n)
{
    bool good = reply->type == RESP_ARRAY && reply->n == n;
    for (size_t i = 0; good && i < n; i++) {
        good = reply->elements[i].type == RESP_STRING;
    }
    return good && resp_is(&reply->elements[0], word);
}

/* A node says so of each channel of a slot that is another one's from then on. */
static bool is_lost_channel(const struct resp *reply)
{
    return reply->type == RESP_ARRAY && reply->n == 3 &&
        resp_is(&reply->elements[0], "sunsubscribe");
}

static bool is_ours(const struct link *link, const struct resp *channel)
{
    for (size_t i = 0; i < N_CHANNELS; i++) {
        if (resp_is(channel, link->keys.channels[i])) {
            return true;
        }
    }
    return false;
}

void link_take_message(struct link *link, const struct resp *reply)
{
    bool is_message = is_push(reply, "message", 3) || is_push(reply, "smessage", 3);
    if (is_message && is_ours(link, &reply->elements[1])) {
        const struct resp *payload = &reply->elements[2];
        if (link->is_pinged) { /* it is not silent: the answer comes behind them */
            stream_set_timer(link->messages, link->timeout);
        }
        link->events->on_message(link->context, payload->text, payload->length);
    } else if (link->is_pinged && is_push(reply, "pong", 2)) {
        link_heartbeat_begin(link);
    } else if (link->database->is_cluster && is_lost_channel(reply)) {
        link_fail(link, "its slot has left this node", false);
    } else if (reply->type == RESP_ERROR) {
        link_fail(link, reply->text, false);
    } else {
        link_fail(link, "a message from a channel that was not subscribed to", false);
    }
}
