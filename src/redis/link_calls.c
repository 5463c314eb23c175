#include "base/clock.h"
#include "base/memory.h"
#include "redis/link_internal.h"
#include "redis/loading.h"

#include <stdlib.h>
#include <string.h>

enum {
    MAX_LOADS = 5, /* for one call: somebody may flush them at the wrong moment, again and again */
    FIRST_AGAIN = 10, /* ms, before calls that were not carried out are sent again */
    MAX_DOUBLED = 6, /* that pause */
    SWEEP_EVERY = 3600 * 1000, /* ms */
};

/* ---- sending ---- */

/* Sends call->bytes. */
static void link_send(struct link *link, const struct link_call *call)
{
    stream_send(link->commands, call->bytes, call->n);
    calls_add(&link->calls, call);
}

static void send_words(struct link *link, const char *const words[], enum link_call_kind kind,
    const struct script_set *set)
{
    struct text out = TEXT_INIT;
    resp_add_command(&out, words);
    link_send(link,
        &(struct link_call){.kind = kind, .set = set, .bytes = out.bytes, .n = out.length});
}

/* A node that has our keys ahead of their slot would else send us away. */
static void send_for_keys(struct link *link, const struct link_call *call)
{
    static const char *const asking[] = {"ASKING", NULL};
    if (link->route.is_asking) {
        send_words(link, asking, CALL_ASKING, NULL);
    }
    link_send(link, call);
}

void link_call(struct link *link, enum script script, unsigned layout, size_t argc,
    const char *const argv[], const size_t lengths[], uint64_t tag)
{
    enum { N_OWN = 3 }; /* FCALL, the function, the number of keys */
    const struct script_set *set = script_set_of(layout);
    struct link_call call = {.set = set, .tag = tag};
    if (link->state != LINK_UP) {
        return; /* on_down is due, which covers this call */
    }
    link->set = set;
    const char **words = memory_resize(NULL, N_OWN + N_SCRIPT_KEYS + argc + 1, sizeof *words);
    size_t *sizes = memory_resize(NULL, N_OWN + N_SCRIPT_KEYS + argc + 1, sizeof *sizes), n = 0;
    words[n++] = link->has_library ? "FCALL" : "EVALSHA";
    words[n++] = link->has_library ? set->functions[script] : set->sha;
    words[n++] = SCRIPT_KEYS_WORD;
    for (size_t i = 0; i < N_SCRIPT_KEYS; i++) {
        words[n++] = link->keys.keys[i];
    }
    for (size_t i = 0; i < n; i++) {
        sizes[i] = strlen(words[i]);
    }
    memcpy(words + n, argv, argc * sizeof *words);
    memcpy(sizes + n, lengths, argc * sizeof *sizes);
    n += argc;
    if (!link->has_library) {
        words[n] = script_words[script];
        sizes[n] = strlen(words[n]);
        n++;
    }
    call.bytes = resp_command(n, words, sizes, &call.n);
    free(words);
    free(sizes);
    send_for_keys(link, &call);
}

/* ---- the server has forgotten the library, or the script ---- */

static enum loading link_load_step(const struct link *link)
{
    return link->has_library ? LOADING_LIBRARY : LOADING_SCRIPT;
}

static void link_load(struct link *link, const struct script_set *set)
{
    const char *words[LOADING_WORDS];
    if (link->loading != set) {
        link->loading = set;
        loading_command(link_load_step(link), set, words);
        send_words(link, words, CALL_LOAD, set);
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
    struct calls calls;
    struct link_call *call;
    calls_init(&calls);
    STAILQ_CONCAT(&calls.list, &link->postponed.list);
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
        link_fail(link, reply->text, false);
    } else if (redirection.kind == REDIRECTION_TRY_AGAIN) {
        postpone(link, call, &redirection, reply->text);
    } else if (redirection.kind == REDIRECTION_MOVED || redirection.kind == REDIRECTION_ASK) {
        link_redirected(link, &redirection, reply->text);
    } else {
        return false;
    }
    return true;
}

void link_ask_for_slot(struct link *link)
{
    const char *const words[] = {"EXISTS", link->keys.keys[0], NULL};
    if (link->route.is_asking) {
        send_words(link, words, CALL_SLOT_QUESTION, NULL);
    }
}

/* ---- libraries of other versions ---- */

void link_sweep_libraries(struct link *link)
{
    const char *words[OLD_LIBRARIES_WORDS];
    uint64_t now = uv_now(link->loop);
    if (link->has_library && now >= link->sweeps_at) {
        link->sweeps_at = now + SWEEP_EVERY;
        old_libraries_begin(&link->old_libraries, words);
        send_words(link, words, CALL_OLD_LIBRARIES, NULL);
    }
}

static void take_old_libraries_reply(
    struct link *link, struct link_call *call, const struct resp *reply)
{
    const char *words[OLD_LIBRARIES_WORDS];
    (void)call;
    if (old_libraries_next(&link->old_libraries, reply, words)) {
        send_words(link, words, CALL_OLD_LIBRARIES, NULL);
    }
}

/* ---- replies ---- */

static void take_load_reply(struct link *link, struct link_call *call, const struct resp *reply)
{
    char why[ONE_LINE_BYTES];
    enum loading next = loading_next(link_load_step(link), call->set, reply);
    link->loading = NULL;
    if (next != LOADING_HAS_LIBRARY && next != LOADING_ASKS_AGAIN && next != LOADING_HAS_SCRIPT) {
        format_one_line(why, sizeof why, "%s LOAD: %s", link->has_library ? "FUNCTION" : "SCRIPT",
            reply->type == RESP_ERROR ? reply->text : "unexpected reply");
        link_fail(link, why, false);
    }
}

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
    if (takes_redirection(link, call, reply)) {
        ; /* it is sent again, or its outcome is unknown to the session */
    } else if (loading_is_forgotten(reply) && call->n_loads < MAX_LOADS) {
        link_call_again(link, call);
    } else if (loading_is_forgotten(reply)) {
        link_fail(link, reply->text, false); /* the next connection looks for another way */
    } else if (has_lost_rights(link, reply)) {
        link->known.run_id[0] = '\0';
        link_fail(link, reply->text, false);
    } else {
        route_is_good(&link->route);
        link->n_postponed = 0;
        link->events->on_reply(link->context, call->tag, reply);
    }
}

/* The reply to the call behind it says more. */
static void take_asking_reply(struct link *link, struct link_call *call, const struct resp *reply)
{
    (void)link, (void)call, (void)reply;
}

static void take_slot_reply(struct link *link, struct link_call *call, const struct resp *reply)
{
    (void)call;
    if (reply->type == RESP_INTEGER) {
        route_has_slot(&link->route);
    }
}

void link_take_reply(struct link *link, const struct resp *reply)
{
    static void (*const revokers[])(struct link *, struct link_call *, const struct resp *) = {
        [CALL_SCRIPT] = take_script_reply,
        [CALL_LOAD] = take_load_reply,
        [CALL_ASKING] = take_asking_reply,
        [CALL_SLOT_QUESTION] = take_slot_reply,
        [CALL_OLD_LIBRARIES] = take_old_libraries_reply,
    };
    struct link_call *call = calls_take(&link->calls);
    if (!call) {
        link_fail(link, "an unexpected reply", false);
        return;
    }
    revokers[call->kind](link, call, reply);
    call_free(call);
}
