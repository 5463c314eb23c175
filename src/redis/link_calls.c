/* link_calls.c - a link that is up: calls and their replies, and messages. */
#include "base/clock.h"
#include "base/memory.h"
#include "redis/link_internal.h"
#include "redis/loading.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_LOADS = 5, /* for one call: somebody may flush them at the wrong moment, again and again */
    FIRST_AGAIN = 10, /* ms, before calls that were not carried out are sent again */
    MAX_DOUBLED = 6, /* that pause */
    SWEEP_EVERY = 3600 * 1000, /* ms */
};

/* ---- what has been sent and not been answered yet, in the order of the answers ---- */

/* Takes over call->bytes. */
static void calls_add(struct link_calls *calls, const struct link_call *call)
{
    struct link_call *copy = memory_new(sizeof *copy);
    *copy = *call;
    STAILQ_INSERT_TAIL(calls, copy, link);
}

/* The oldest call; NULL: there is none. The caller frees it. */
static struct link_call *calls_take(struct link_calls *calls)
{
    struct link_call *call = STAILQ_FIRST(calls);
    if (call) {
        STAILQ_REMOVE_HEAD(calls, link);
    }
    return call;
}

static void call_free(struct link_call *call)
{
    free(call->bytes);
    free(call);
}

void calls_clear(struct link_calls *calls)
{
    struct link_call *call;
    while ((call = calls_take(calls))) {
        call_free(call);
    }
}

/* ---- sending ---- */

/* Sends call->bytes. */
static void link_send(struct link *link, const struct link_call *call)
{
    stream_send(link->commands, call->bytes, call->n);
    calls_add(&link->calls, call);
}

static void send_words(struct link *link, const char *const words[], link_takes_reply *take,
    const struct script_set *set)
{
    struct text out = TEXT_INIT;
    resp_add_command(&out, words);
    link_send(
        link, &(struct link_call){.take = take, .set = set, .bytes = out.bytes, .n = out.length});
}

/* The reply to the call behind it says more. */
static void take_asking_reply(struct link *link, struct link_call *call, const struct resp *reply)
{
    (void)link, (void)call, (void)reply;
}

/* A node that has our keys ahead of their slot would else send us away. */
static void send_for_keys(struct link *link, const struct link_call *call)
{
    static const char *const asking[] = {"ASKING", NULL};
    if (link->route.is_asking) {
        send_words(link, asking, take_asking_reply, NULL);
    }
    link_send(link, call);
}

/* ---- the server has forgotten the library, or the script ---- */

static enum loading link_load_step(const struct link *link)
{
    return link->has_library ? LOADING_LIBRARY : LOADING_SCRIPT;
}

static void take_load_reply(struct link *link, struct link_call *call, const struct resp *reply)
{
    char why[ONE_LINE_BYTES];
    enum loading next = loading_next(link_load_step(link), call->set, reply);
    link->loading = NULL;
    if (next != LOADING_HAS_LIBRARY && next != LOADING_ASKS_AGAIN && next != LOADING_HAS_SCRIPT) {
        format_one_line(why, sizeof why, "%s LOAD: %s", link->has_library ? "FUNCTION" : "SCRIPT",
            reply->type == RESP_ERROR ? reply->text : "unexpected reply");
        link_fail(link, why);
    }
}

static void link_load(struct link *link, const struct script_set *set)
{
    const char *words[LOADING_WORDS];
    if (link->loading != set) {
        link->loading = set;
        loading_command(link_load_step(link), set, words);
        send_words(link, words, take_load_reply, set);
    }
}

/* Sends the call again, behind what it lacks. */
static void link_call_again(struct link *link, struct link_call *old)
{
    struct link_call call = *old;
    old->bytes = NULL;
    call.n_loads++;
    link_load(link, call.set);
    send_for_keys(link, &call);
}

/* ---- the node has not all of our keys, and has carried nothing out ---- */

/* The keys are at two nodes, until all have moved. */
static void postpone(struct link *link, struct link_call *call,
    const struct redirection *redirection, const char *error)
{
    struct link_call copy = *call;
    uint64_t now = uv_now(link->loop);
    link->postponed_since = link->n_postponed == 0 ? now : link->postponed_since;
    if ((now - link->postponed_since) * 1000000 >= (uint64_t)link->timeout / 4 * 3) {
        link_redirected(link, redirection, error); /* before the session gives the link up */
        return;
    }
    route_take(&link->route, redirection, clock_wall_now());
    call->bytes = NULL;
    calls_add(&link->postponed, &copy);
    link->n_postponed += link->n_postponed == 0;
    link_wake_after(link, (uint64_t)FIRST_AGAIN << (link->n_postponed - 1));
}

void link_send_postponed(struct link *link)
{
    struct link_calls calls = STAILQ_HEAD_INITIALIZER(calls);
    struct link_call *call;
    STAILQ_CONCAT(&calls, &link->postponed);
    link->n_postponed += link->n_postponed < MAX_DOUBLED;
    while ((call = calls_take(&calls))) {
        send_for_keys(link, call);
        free(call);
    }
}

static bool takes_redirection(struct link *link, struct link_call *call, const struct resp *reply)
{
    struct redirection redirection;
    const struct route *route = &link->route;
    if (!link->database->is_cluster || reply->type != RESP_ERROR) {
        return false;
    }
    bool makes_sense = redirection_read(&redirection, reply->text, route->slot, route->at.host);
    if (!makes_sense) {
        link_fail(link, reply->text);
    } else if (redirection.kind == REDIRECTION_TRY_AGAIN) {
        postpone(link, call, &redirection, reply->text);
    } else if (redirection.kind == REDIRECTION_MOVED || redirection.kind == REDIRECTION_ASK) {
        link_redirected(link, &redirection, reply->text);
    } else {
        return false;
    }
    return true;
}

/* ---- replies ---- */

/* The rights have changed since they were tried. The next connection tries them again, and says
 * which one is missing. */
static bool has_lost_rights(const struct link *link, const struct resp *reply)
{
    return reply->type == RESP_ERROR &&
        link->known.abilities.states[ABILITY_script_commands] == ABILITY_THERE &&
        (strncmp(reply->text, "NOPERM ", 7) == 0 || strstr(reply->text, "can't run this command") ||
            strstr(reply->text, "ACL failure in script")); /* Redis 7.0; 7.2 and Valkey */
}

static void take_script_reply(struct link *link, struct link_call *call, const struct resp *reply)
{
    bool is_forgotten = loading_is_forgotten(reply);
    if (takes_redirection(link, call, reply)) {
        ; /* it is sent again, or its outcome is unknown to the session */
    } else if (is_forgotten && call->n_loads < MAX_LOADS) {
        link_call_again(link, call);
    } else if (is_forgotten) {
        link_fail(link, reply->text); /* the next connection looks for another way */
    } else if (has_lost_rights(link, reply)) {
        link->known.run_id[0] = '\0';
        link_fail(link, reply->text);
    } else {
        route_is_good(&link->route);
        link->n_postponed = 0;
        link->events->on_reply(link->context, call->tag, reply);
    }
}

/* The layout is one of script_layouts. */
static const struct script_set *script_set_of(unsigned layout)
{
    assert(layout - script_sets[0].layout < n_script_sets);
    return &script_sets[layout - script_sets[0].layout];
}

void link_call(struct link *link, const struct script_call *wanted)
{
    enum { N_OWN = 3 }; /* FCALL, the function, the number of keys */
    const struct script_set *set = script_set_of(wanted->layout);
    struct link_call call = {.take = take_script_reply, .set = set, .tag = wanted->tag};
    size_t n = 0, room = N_OWN + N_SCRIPT_KEYS + wanted->argc + 1;
    if (link->state != LINK_UP) {
        return; /* on_down is due, which covers this call */
    }
    link->set = set;
    const char **words = memory_resize(NULL, room, sizeof *words);
    size_t *sizes = memory_resize(NULL, room, sizeof *sizes);
    words[n++] = link->has_library ? "FCALL" : "EVALSHA";
    words[n++] = link->has_library ? set->functions[wanted->script] : set->sha;
    words[n++] = SCRIPT_KEYS_WORD;
    for (size_t i = 0; i < N_SCRIPT_KEYS; i++) {
        words[n++] = link->keys.keys[i];
    }
    for (size_t i = 0; i < n; i++) {
        sizes[i] = strlen(words[i]);
    }
    memcpy(words + n, wanted->argv, wanted->argc * sizeof *words);
    memcpy(sizes + n, wanted->lengths, wanted->argc * sizeof *sizes);
    n += wanted->argc;
    if (!link->has_library) {
        words[n] = script_words[wanted->script];
        sizes[n] = strlen(words[n]);
        n++;
    }
    call.bytes = resp_command(n, words, sizes, &call.n);
    free(words);
    free(sizes);
    send_for_keys(link, &call);
}

void link_take_reply(struct link *link, const struct resp *reply)
{
    struct link_call *call = calls_take(&link->calls);
    if (!call) {
        link_fail(link, "an unexpected reply");
        return;
    }
    call->take(link, call, reply);
    call_free(call);
}

/* ---- what is looked at from time to time ---- */

static void take_slot_reply(struct link *link, struct link_call *call, const struct resp *reply)
{
    (void)call;
    if (reply->type == RESP_INTEGER) {
        route_has_slot(&link->route);
    }
}

/* Where the keys are ahead of their slot: asks whether it has followed them. */
static void link_ask_for_slot(struct link *link)
{
    const char *const words[] = {"EXISTS", link->keys.keys[0], NULL};
    if (link->route.is_asking) {
        send_words(link, words, take_slot_reply, NULL);
    }
}

static void take_old_libraries_reply(
    struct link *link, struct link_call *call, const struct resp *reply)
{
    const char *words[OLD_LIBRARIES_WORDS];
    (void)call;
    if (old_libraries_next(&link->old_libraries, reply, words)) {
        send_words(link, words, take_old_libraries_reply, NULL);
    }
}

/* Once an hour: takes libraries that nobody calls any more off the server. */
static void link_sweep_libraries(struct link *link)
{
    const char *words[OLD_LIBRARIES_WORDS];
    uint64_t now = uv_now(link->loop);
    if (link->has_library && now >= link->sweeps_at) {
        link->sweeps_at = now + SWEEP_EVERY;
        old_libraries_begin(&link->old_libraries, words);
        send_words(link, words, take_old_libraries_reply, NULL);
    }
}

/* ---- messages ---- */

void link_heartbeat_begin(struct link *link)
{
    link->is_pinged = false;
    stream_set_timer(link->messages, link->timeout * 2);
}

void link_heartbeat_tick(struct link *link)
{
    struct text out = TEXT_INIT;
    if (link->is_pinged) {
        link_fail(link, "no answer to PING on the connection for messages");
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
        link_fail(link, "its slot has left this node");
    } else if (reply->type == RESP_ERROR) {
        link_fail(link, reply->text);
    } else {
        link_fail(link, "a message from a channel that was not subscribed to");
    }
}
