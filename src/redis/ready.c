#include "redis/ready.h"

#include "redis/ready_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool ready_fail(struct ready *ready, const char *what)
{
    say(ready->why, sizeof ready->why, "%s", what);
    return false;
}

static bool check_status(struct ready *ready, size_t index, const struct resp *reply)
{
    (void)index;
    return reply->type == RESP_STATUS || ready_fail(ready, RESP_UNEXPECTED);
}

/* ---- AUTH, SELECT, CLIENT SETNAME ---- */

static size_t make_auth(
    const struct ready *ready, size_t index, const char *argv[MAX_WORDS], char number[16])
{
    size_t n = 0;
    (void)index, (void)number;
    argv[n++] = "AUTH";
    if (ready->wish.user) {
        argv[n++] = ready->wish.user;
    }
    argv[n++] = ready->wish.password ? ready->wish.password : "";
    return n;
}

static size_t make_select(
    const struct ready *ready, size_t index, const char *argv[MAX_WORDS], char number[16])
{
    (void)index;
    snprintf(number, 16, "%u", ready->wish.db);
    argv[0] = "SELECT";
    argv[1] = number;
    return 2;
}

static size_t make_name(
    const struct ready *ready, size_t index, const char *argv[MAX_WORDS], char number[16])
{
    (void)index, (void)number;
    argv[0] = "CLIENT";
    argv[1] = "SETNAME";
    argv[2] = ready->wish.client_name;
    return 3;
}

/* ---- INFO: one call for everything; ROLE would need another right ---- */

static size_t make_info(
    const struct ready *ready, size_t index, const char *argv[MAX_WORDS], char number[16])
{
    (void)ready, (void)index, (void)number;
    argv[0] = "INFO";
    return 1;
}

static struct guard_question question_of(const struct ready *ready)
{
    return (struct guard_question){
        .facts = &ready->server.facts,
        .abilities = &ready->server.abilities,
        .acknowledged = ready->wish.acknowledged,
        .may_fail_over = ready->wish.may_fail_over,
        .is_cluster = ready->wish.cluster != NULL,
    };
}

static bool judge(struct ready *ready)
{
    const struct guard_question question = question_of(ready);
    guard_judge(&ready->guard, &question);
    ready->refused = ready->guard.refusal[0] != '\0';
    return !ready->refused || ready_fail(ready, ready->guard.refusal);
}

static bool check_info(struct ready *ready, size_t index, const struct resp *reply)
{
    (void)index;
    if (reply->type != RESP_STRING) {
        return ready_fail(ready, RESP_UNEXPECTED);
    }
    facts_read_info(&ready->server.facts, reply->text);
    return judge(ready);
}

/* A name or a proxy may lead to several servers. */
static bool check_same_server(struct ready *ready, size_t index, const struct resp *reply)
{
    if (!check_info(ready, index, reply)) {
        return false;
    }
    return strcmp(ready->guard.run_id, ready->wish.known->run_id) == 0 ||
        ready_fail(ready, "the two connections reach different servers");
}

/* ---- the scripts ---- */

static size_t make_loading(
    const struct ready *ready, size_t index, const char *argv[MAX_WORDS], char number[16])
{
    (void)ready, (void)number;
    return loading_command((enum loading)index, ready->wish.set, argv);
}

static bool check_loading(struct ready *ready, size_t index, const struct resp *reply)
{
    ready->loading = loading_next((enum loading)index, ready->wish.set, reply);
    ready->has_library = ready->loading == LOADING_HAS_LIBRARY;
    return ready->loading != LOADING_FAILED || ready_fail(ready, RESP_UNEXPECTED);
}

/* ---- SUBSCRIBE ---- */

static size_t make_subscribe(
    const struct ready *ready, size_t index, const char *argv[MAX_WORDS], char number[16])
{
    (void)number;
    argv[0] = "SUBSCRIBE";
    argv[1] = ready->wish.keys->channels[index];
    return 2;
}

static bool text_is(const struct resp *resp, const char *text)
{
    return resp->type == RESP_STRING && resp->length == strlen(text) &&
        memcmp(resp->text, text, resp->length) == 0;
}

static bool check_subscribe(struct ready *ready, size_t index, const struct resp *reply)
{
    bool good = reply->type == RESP_ARRAY && reply->n == 3 &&
        text_is(&reply->elements[0], "subscribe") &&
        text_is(&reply->elements[1], ready->wish.keys->channels[index]);
    return good || ready_fail(ready, RESP_UNEXPECTED);
}

/* ---- the commands ---- */

static const struct ready_kind kind_auth = {ABILITY_auth, make_auth, check_status, true};
static const struct ready_kind kind_select = {ABILITY_select, make_select, check_status, false};
static const struct ready_kind kind_name = {ABILITY_client_name, make_name, check_status, false};
static const struct ready_kind kind_info = {ABILITY_info, make_info, check_info, false};
static const struct ready_kind kind_same = {ABILITY_info, make_info, check_same_server, false};
static const struct ready_kind kind_subscribe = {
    ABILITY_subscribe, make_subscribe, check_subscribe, false};

static const struct ready_kind loading_kinds[] = {
    [LOADING_ASKS_LIBRARY] = {ABILITY_functions, make_loading, check_loading, false},
    [LOADING_LIBRARY] = {ABILITY_function_load, make_loading, check_loading, false},
    [LOADING_ASKS_AGAIN] = {ABILITY_functions, make_loading, check_loading, false},
    [LOADING_ASKS_SCRIPT] = {ABILITY_scripts, make_loading, check_loading, false},
    [LOADING_SCRIPT] = {ABILITY_script_load, make_loading, check_loading, false},
};

void ready_expect(struct ready *ready, const struct ready_kind *kind, size_t index)
{
    assert(ready->n < MAX_READY_STEPS);
    ready->steps[ready->n++] = (struct ready_step){kind, index};
}

void ready_add(
    struct ready *ready, const struct ready_kind *kind, size_t index, struct text *out)
{
    const char *argv[MAX_WORDS];
    size_t lengths[MAX_WORDS], n;
    char number[16];
    size_t argc = kind->make(ready, index, argv, number);
    for (size_t i = 0; i < argc; i++) {
        lengths[i] = strlen(argv[i]);
    }
    char *bytes = resp_command(argc, argv, lengths, &n);
    text_add_bytes(out, bytes, n);
    if (kind->is_secret) {
        explicit_bzero(bytes, n);
    }
    free(bytes);
    ready_expect(ready, kind, index);
}

/* ---- the stages ---- */

static void add_auth(struct ready *ready, struct text *out)
{
    if (ready->wish.user || ready->wish.password) {
        ready_add(ready, &kind_auth, 0, out);
    }
    ready->wish.user = ready->wish.password = NULL;
}

static void add_name(struct ready *ready, struct text *out)
{
    if (ready->wish.client_name && !abilities_lack(&ready->server.abilities, ABILITY_client_name)) {
        ready_add(ready, &kind_name, 0, out);
    }
}

static bool find_slot(struct ready *ready, struct text *out)
{
    if (ready->wish.cluster) {
        add_auth(ready, out);
        ready_find_slot(ready, out);
    }
    return true;
}

static bool begin_commands(struct ready *ready, struct text *out)
{
    add_auth(ready, out);
    if (ready->wish.db > 0) {
        ready_add(ready, &kind_select, 0, out);
    }
    ready_add(ready, &kind_info, 0, out);
    add_name(ready, out);
    return true;
}

static bool is_known(const struct ready *ready)
{
    const struct known_server *known = ready->wish.known;
    return known && known->run_id[0] && strcmp(known->run_id, ready->guard.run_id) == 0;
}

/* What was not tried on this connection is as it was. */
static void keep_known(struct ready *ready)
{
    const struct known_server *known = ready->wish.known;
    uint8_t *states = ready->server.abilities.states;
    for (enum ability i = 0; i < N_ABILITIES; i++) {
        states[i] = states[i] == ABILITY_NOT_TRIED ? known->abilities.states[i] : states[i];
    }
    facts_keep(&ready->server.facts, &known->facts);
}

static bool ask_more(struct ready *ready, struct text *out)
{
    memcpy(ready->server.run_id, ready->guard.run_id, sizeof ready->server.run_id);
    if (is_known(ready)) {
        keep_known(ready);
        return true;
    }
    if (abilities_lack(&ready->server.abilities, ABILITY_info)) {
        ready_add(ready, &ready_hello, 0, out);
    }
    ready_add_settings(ready, out);
    ready_add(ready, &ready_rights, 0, out);
    return true;
}

static bool weigh(struct ready *ready, struct text *out)
{
    const struct guard_question question = question_of(ready);
    (void)out;
    if (!judge(ready)) {
        return false;
    }
    guard_weigh(&ready->guard, &question);
    ready->refused = ready->guard.refusal[0] != '\0';
    return !ready->refused || ready_fail(ready, ready->guard.refusal);
}

/* A step of it, if one is left. */
static bool load_scripts(struct ready *ready, struct text *out)
{
    if (ready->loading < LOADING_HAS_LIBRARY) {
        ready_add(ready, &loading_kinds[ready->loading], ready->loading, out);
    }
    return true;
}

static bool subscribe(struct ready *ready, struct text *out)
{
    for (size_t i = 0; i < N_CHANNELS; i++) {
        ready_add(ready, &kind_subscribe, i, out);
    }
    return true;
}

static bool begin_messages(struct ready *ready, struct text *out)
{
    add_auth(ready, out);
    if (ready->wish.known->run_id[0]) {
        ready_add(ready, &kind_same, 0, out);
    }
    add_name(ready, out);
    if (ready->wish.cluster) {
        ready_subscribe_to_slot(ready, out);
        return true;
    }
    return subscribe(ready, out);
}

/* Only now: nothing but subscriptions may follow one. */
static bool subscribe_in_cluster(struct ready *ready, struct text *out)
{
    return !ready->wish.cluster || subscribe(ready, out);
}

static ready_stage *const stages_of_commands[] = {
    find_slot, begin_commands, ask_more, weigh, load_scripts, load_scripts, load_scripts,
    load_scripts, NULL};
static ready_stage *const stages_of_messages[] = {begin_messages, subscribe_in_cluster, NULL};

/* Begins the next stage that has something to ask. */
static enum ready_result go_on(struct ready *ready, struct text *out)
{
    while (ready->next == ready->n && *ready->stages) {
        ready->n = ready->next = 0;
        if (!(*ready->stages++)(ready, out)) {
            return READY_FAILED;
        }
    }
    return ready->next == ready->n ? READY_DONE : READY_MORE;
}

void ready_commands(struct ready *ready, const struct ready_wish *wish, struct text *out)
{
    memset(ready, 0, sizeof *ready);
    ready->wish = *wish;
    ready->stages = stages_of_commands;
    go_on(ready, out);
}

void ready_messages(struct ready *ready, const struct ready_wish *wish, struct text *out)
{
    memset(ready, 0, sizeof *ready);
    ready->wish = *wish;
    ready->server.abilities = wish->known->abilities;
    ready->stages = stages_of_messages;
    go_on(ready, out);
}

/* ---- replies ---- */

static void say_error(struct ready *ready, const struct ready_kind *kind, const struct resp *reply)
{
    const char *command = ability_table[kind->ability].command;
    if (kind->is_secret) {
        say(ready->why, sizeof ready->why, "%s: %.*s: user or password not accepted", command,
            (int)strcspn(reply->text, " "), reply->text);
    } else {
        say(ready->why, sizeof ready->why, "%s: %s", command, reply->text);
    }
}

/* A server that has forgotten the scripts can be given them again. */
static bool take_error_of_loading(
    struct ready *ready, const struct ready_step *step, const struct resp *reply)
{
    bool is_denied = step->index == LOADING_ASKS_AGAIN /* somebody else's library has that name */
        || (ability_is_denied_by(reply->text) && !loading_is_forgotten(reply) &&
               !loading_is_there(reply));
    ready->server.abilities.states[step->kind->ability] =
        is_denied ? ABILITY_LACKING : ABILITY_THERE;
    if (!step->kind->check(ready, step->index, reply)) {
        ready->refused = is_denied;
        say_error(ready, step->kind, reply);
        return false;
    }
    return true;
}

/* True: the error is an answer, and the rest goes on. */
static bool take_error(struct ready *ready, const struct ready_kind *kind, const struct resp *reply)
{
    bool is_denied = ability_is_denied_by(reply->text);
    if (is_denied) {
        ready->server.abilities.states[kind->ability] = ABILITY_LACKING;
    }
    if (is_denied && ability_table[kind->ability].need != ABILITY_REQUIRED) {
        return true;
    }
    ready->refused = is_denied || strncmp(reply->text, "WRONGPASS", 9) == 0;
    say_error(ready, kind, reply);
    return false;
}

static bool take(struct ready *ready, const struct ready_step *step, const struct resp *reply)
{
    if (reply->type == RESP_ERROR && ready_is_redirected(ready, reply)) {
        return ready_fail(ready, reply->text);
    } else if (reply->type == RESP_ERROR && step->kind->make == make_loading) {
        return take_error_of_loading(ready, step, reply);
    } else if (reply->type == RESP_ERROR) {
        return take_error(ready, step->kind, reply);
    }
    ready->server.abilities.states[step->kind->ability] = ABILITY_THERE;
    return step->kind->check(ready, step->index, reply);
}

enum ready_result ready_reply(struct ready *ready, const struct resp *reply, struct text *out)
{
    struct ready_step step = ready->steps[ready->next];
    if (!take(ready, &step, reply)) {
        return READY_FAILED;
    }
    ready->next++;
    return go_on(ready, out);
}
