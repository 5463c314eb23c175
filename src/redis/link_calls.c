#include "base/memory.h"
#include "redis/link_internal.h"

#include <stdlib.h>
#include <string.h>

enum { N_OWN = 3 }; /* EVALSHA, the digest, the number of keys */

/* ---- sending ---- */

static void link_put(struct link *link, size_t i, const char *text, size_t length)
{
    link->argv[i] = text;
    link->lengths[i] = length;
}

static void link_make_room(struct link *link, size_t n)
{
    if (n > link->n_argv) {
        link->argv = memory_resize(link->argv, n, sizeof *link->argv);
        link->lengths = memory_resize(link->lengths, n, sizeof *link->lengths);
        link->n_argv = n;
    }
}

/* Sends link->argv. */
static void link_send(struct link *link, size_t argc, struct call *call)
{
    call->bytes = resp_command(argc, link->argv, link->lengths, &call->n);
    stream_send(link->commands, call->bytes, call->n);
    calls_add(&link->calls, call);
}

void link_call(struct link *link, enum script script, size_t argc, const char *const argv[],
    const size_t lengths[], uint64_t tag)
{
    struct call call = {.script = script, .tag = tag};
    if (link->state != LINK_UP) {
        return; /* on_down is due, which covers this call */
    }
    link_make_room(link, N_OWN + N_SCRIPT_KEYS + argc);
    link_put(link, 0, "EVALSHA", 7);
    link_put(link, 1, link->shas[script], SHA_BYTES);
    link_put(link, 2, SCRIPT_KEYS_WORD, sizeof SCRIPT_KEYS_WORD - 1);
    for (size_t i = 0; i < N_SCRIPT_KEYS; i++) {
        link_put(link, N_OWN + i, link->keys.keys[i], strlen(link->keys.keys[i]));
    }
    for (size_t i = 0; i < argc; i++) {
        link_put(link, N_OWN + N_SCRIPT_KEYS + i, argv[i], lengths[i]);
    }
    link_send(link, N_OWN + N_SCRIPT_KEYS + argc, &call);
}

/* ---- NOSCRIPT: the server has forgotten the scripts ---- */

static void link_load_again(struct link *link)
{
    if (link->n_loading > 0) {
        return;
    }
    link->n_loading = N_SCRIPTS;
    link_make_room(link, 3);
    for (size_t i = 0; i < N_SCRIPTS; i++) {
        struct call load = {.is_load = true, .script = (enum script)i};
        link_put(link, 0, "SCRIPT", 6);
        link_put(link, 1, "LOAD", 4);
        link_put(link, 2, script_table[i].text, script_table[i].length);
        link_send(link, 3, &load);
    }
}

/* Sends the command again with the script itself. */
static void link_send_source(struct link *link, const struct call *old)
{
    struct resp_reader *reader = resp_reader_new();
    const struct resp *command;
    struct call call = {.is_source = true, .script = old->script, .tag = old->tag};
    resp_reader_feed(reader, old->bytes, old->n);
    if (resp_reader_next(reader, &command) != RESP_REPLY) {
        abort(); /* our own words */
    }
    link_make_room(link, command->n);
    link_put(link, 0, "EVAL", 4);
    link_put(link, 1, script_table[old->script].text, script_table[old->script].length);
    for (size_t i = 2; i < command->n; i++) {
        link_put(link, i, command->elements[i].text, command->elements[i].length);
    }
    link_send(link, command->n, &call);
    resp_reader_free(reader);
}

/* ---- replies ---- */

static bool is_loaded(const struct link *link, enum script script, const struct resp *reply)
{
    return reply->type == RESP_STRING && strcmp(reply->text, link->shas[script]) == 0;
}

static void link_take_load(struct link *link, const struct call *call, const struct resp *reply)
{
    char why[SAY_BYTES];
    link->n_loading--;
    if (!is_loaded(link, call->script, reply)) {
        say(why, sizeof why, "SCRIPT LOAD: %s",
            reply->type == RESP_ERROR ? reply->text : "another hash");
        link_fail(link, why, false);
    }
}

static bool is_no_script(const struct resp *reply)
{
    return reply->type == RESP_ERROR && strncmp(reply->text, "NOSCRIPT", 8) == 0;
}

void link_take_reply(struct link *link, const struct resp *reply)
{
    struct call *call = calls_take(&link->calls);
    if (!call) {
        link_fail(link, "an unexpected reply", false);
        return;
    }
    if (call->is_load) {
        link_take_load(link, call, reply);
    } else if (is_no_script(reply) && !call->is_source) {
        link_load_again(link);
        link_send_source(link, call);
    } else {
        link->events->on_reply(link->context, call->tag, reply);
    }
    call_free(call);
}
