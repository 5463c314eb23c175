#include "redis/handshake.h"

#include "redis/handshake_internal.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

bool handshake_fail(struct handshake *handshake, const char *what)
{
    format_one_line(handshake->why, sizeof handshake->why, "%s", what);
    return false;
}

size_t handshake_index(const struct handshake *handshake)
{
    return handshake->steps[handshake->next].index;
}

bool handshake_check_status(struct handshake *handshake, const struct resp *reply)
{
    return reply->type == RESP_STATUS || handshake_fail(handshake, RESP_UNEXPECTED);
}

/* ---- INFO: one call for everything; ROLE would need another right ---- */

static struct server_check_question question_of(const struct handshake *handshake)
{
    return (struct server_check_question){
        .facts = &handshake->server.facts,
        .abilities = &handshake->server.abilities,
        .acknowledged = handshake->wish.acknowledged,
        .may_fail_over = handshake->wish.may_fail_over,
        .is_cluster = handshake->wish.cluster != NULL,
    };
}

static bool judge(struct handshake *handshake)
{
    const struct server_check_question question = question_of(handshake);
    server_check_identity(&handshake->guard, &question);
    handshake->refused = handshake->guard.refusal[0] != '\0';
    return !handshake->refused || handshake_fail(handshake, handshake->guard.refusal);
}

static bool check_info(struct handshake *handshake, const struct resp *reply)
{
    if (reply->type != RESP_STRING) {
        return handshake_fail(handshake, RESP_UNEXPECTED);
    }
    facts_read_info(&handshake->server.facts, reply->text);
    return judge(handshake);
}

/* A name or a proxy may lead to several servers. */
static bool check_same_server(struct handshake *handshake, const struct resp *reply)
{
    if (!check_info(handshake, reply)) {
        return false;
    }
    return strcmp(handshake->guard.run_id, handshake->wish.known->run_id) == 0 ||
        handshake_fail(handshake, "the two connections reach different servers");
}

/* ---- the scripts ---- */

static bool check_loading(struct handshake *handshake, const struct resp *reply)
{
    enum loading step = (enum loading)handshake_index(handshake);
    handshake->loading = loading_next(step, handshake->wish.set, reply);
    handshake->has_library = handshake->loading == LOADING_HAS_LIBRARY;
    return handshake->loading != LOADING_FAILED || handshake_fail(handshake, RESP_UNEXPECTED);
}

/* ---- SUBSCRIBE ---- */

bool handshake_has_subscribed(
    const struct handshake *handshake, const struct resp *reply, const char *word)
{
    const char *channel = handshake->wish.keys->channels[handshake_index(handshake)];
    return reply->type == RESP_ARRAY && reply->n == 3 && resp_is(&reply->elements[0], word) &&
        resp_is(&reply->elements[1], channel);
}

static bool check_subscribe(struct handshake *handshake, const struct resp *reply)
{
    return handshake_has_subscribed(handshake, reply, "subscribe") ||
        handshake_fail(handshake, RESP_UNEXPECTED);
}

/* ---- the commands ---- */

static const struct handshake_kind kind_auth = {ABILITY_auth, handshake_check_status};
static const struct handshake_kind kind_select = {ABILITY_select, handshake_check_status};
static const struct handshake_kind kind_name = {ABILITY_client_name, handshake_check_status};
static const struct handshake_kind kind_info = {ABILITY_info, check_info};
static const struct handshake_kind kind_same = {ABILITY_info, check_same_server};
static const struct handshake_kind kind_subscribe = {ABILITY_subscribe, check_subscribe};
static const struct handshake_kind loading_kinds[] = {
    [LOADING_ASKS_LIBRARY] = {ABILITY_functions, check_loading},
    [LOADING_LIBRARY] = {ABILITY_function_load, check_loading},
    [LOADING_ASKS_AGAIN] = {ABILITY_functions, check_loading},
    [LOADING_ASKS_SCRIPT] = {ABILITY_scripts, check_loading},
    [LOADING_SCRIPT] = {ABILITY_script_load, check_loading},
};

void handshake_expect(struct handshake *handshake, const struct handshake_kind *kind, size_t index)
{
    assert(handshake->n < MAX_HANDSHAKE_STEPS);
    handshake->steps[handshake->n++] = (struct handshake_step){kind, index};
}

void handshake_add(struct handshake *handshake, const struct handshake_kind *kind, size_t index,
    const char *const words[], struct text *out)
{
    resp_add_command(out, words);
    handshake_expect(handshake, kind, index);
}

/* ---- the stages ---- */

static const char *const info[] = {"INFO", NULL};

static void add_auth(struct handshake *handshake, struct text *out)
{
    const char *user = handshake->wish.user;
    const char *password = handshake->wish.password ? handshake->wish.password : "";
    const char *const words[] = {
        "AUTH", user ? user : password, user ? password : NULL, NULL};
    if (user || handshake->wish.password) {
        handshake_add(handshake, &kind_auth, 0, words, out);
    }
    handshake->wish.user = handshake->wish.password = NULL;
}

static void add_name(struct handshake *handshake, struct text *out)
{
    const char *const words[] = {"CLIENT", "SETNAME", handshake->wish.client_name, NULL};
    if (handshake->wish.client_name &&
        !abilities_lack(&handshake->server.abilities, ABILITY_client_name)) {
        handshake_add(handshake, &kind_name, 0, words, out);
    }
}

static bool find_slot(struct handshake *handshake, struct text *out)
{
    if (handshake->wish.cluster) {
        add_auth(handshake, out);
        handshake_find_slot(handshake, out);
    }
    return true;
}

static bool begin_commands(struct handshake *handshake, struct text *out)
{
    char number[16];
    snprintf(number, sizeof number, "%u", handshake->wish.db);
    add_auth(handshake, out);
    if (handshake->wish.db > 0) {
        const char *const select[] = {"SELECT", number, NULL};
        handshake_add(handshake, &kind_select, 0, select, out);
    }
    handshake_add(handshake, &kind_info, 0, info, out);
    add_name(handshake, out);
    return true;
}

static bool is_known(const struct handshake *handshake)
{
    const struct known_server *known = handshake->wish.known;
    return known && known->run_id[0] && strcmp(known->run_id, handshake->guard.run_id) == 0;
}

/* What was not tried on this connection is as it was. */
static void keep_known(struct handshake *handshake)
{
    const struct known_server *known = handshake->wish.known;
    uint8_t *states = handshake->server.abilities.states;
    for (enum ability i = 0; i < N_ABILITIES; i++) {
        states[i] = states[i] == ABILITY_NOT_TRIED ? known->abilities.states[i] : states[i];
    }
    facts_keep(&handshake->server.facts, &known->facts);
}

static bool ask_more(struct handshake *handshake, struct text *out)
{
    memcpy(handshake->server.run_id, handshake->guard.run_id, sizeof handshake->server.run_id);
    if (is_known(handshake)) {
        keep_known(handshake);
        return true;
    }
    if (abilities_lack(&handshake->server.abilities, ABILITY_info)) {
        handshake_add_hello(handshake, out);
    }
    handshake_add_settings(handshake, out);
    handshake_add_rights(handshake, out);
    return true;
}

static bool weigh(struct handshake *handshake, struct text *out)
{
    const struct server_check_question question = question_of(handshake);
    (void)out;
    if (!judge(handshake)) {
        return false;
    }
    server_check_settings(&handshake->guard, &question);
    handshake->refused = handshake->guard.refusal[0] != '\0';
    return !handshake->refused || handshake_fail(handshake, handshake->guard.refusal);
}

/* A step of it, if one is left. */
static bool load_scripts(struct handshake *handshake, struct text *out)
{
    const char *words[LOADING_WORDS];
    enum loading step = handshake->loading;
    if (step < LOADING_HAS_LIBRARY) {
        loading_command(step, handshake->wish.set, words);
        handshake_add(handshake, &loading_kinds[step], step, words, out);
    }
    return true;
}

static bool subscribe(struct handshake *handshake, struct text *out)
{
    for (size_t i = 0; i < N_CHANNELS; i++) {
        const char *const words[] = {"SUBSCRIBE", handshake->wish.keys->channels[i], NULL};
        handshake_add(handshake, &kind_subscribe, i, words, out);
    }
    return true;
}

static bool begin_messages(struct handshake *handshake, struct text *out)
{
    add_auth(handshake, out);
    if (handshake->wish.known->run_id[0]) {
        handshake_add(handshake, &kind_same, 0, info, out);
    }
    add_name(handshake, out);
    if (handshake->wish.cluster) {
        handshake_subscribe_to_slot(handshake, out);
        return true;
    }
    return subscribe(handshake, out);
}

/* Only now: nothing but subscriptions may follow one. */
static bool subscribe_in_cluster(struct handshake *handshake, struct text *out)
{
    return !handshake->wish.cluster || subscribe(handshake, out);
}

static handshake_stage *const stages_of_commands[] = {find_slot, begin_commands, ask_more, weigh,
    load_scripts, load_scripts, load_scripts, load_scripts, NULL};
static handshake_stage *const stages_of_messages[] = {begin_messages, subscribe_in_cluster, NULL};

/* Begins the next stage that has something to ask. */
static enum handshake_result handshake_go_on(struct handshake *handshake, struct text *out)
{
    while (handshake->next == handshake->n && *handshake->stages) {
        handshake->n = handshake->next = 0;
        if (!(*handshake->stages++)(handshake, out)) {
            return HANDSHAKE_FAILED;
        }
    }
    return handshake->next == handshake->n ? HANDSHAKE_DONE : HANDSHAKE_MORE;
}

void handshake_commands(
    struct handshake *handshake, const struct handshake_wish *wish, struct text *out)
{
    memset(handshake, 0, sizeof *handshake);
    handshake->wish = *wish;
    handshake->stages = stages_of_commands;
    handshake_go_on(handshake, out);
}

void handshake_messages(
    struct handshake *handshake, const struct handshake_wish *wish, struct text *out)
{
    memset(handshake, 0, sizeof *handshake);
    handshake->wish = *wish;
    handshake->server.abilities = wish->known->abilities;
    handshake->stages = stages_of_messages;
    handshake_go_on(handshake, out);
}

/* ---- replies ---- */

static void say_error(
    struct handshake *handshake, const struct handshake_kind *kind, const struct resp *reply)
{
    const char *command = ability_table[kind->ability].command;
    if (kind == &kind_auth) { /* it may repeat the secret that was sent */
        format_one_line(handshake->why, sizeof handshake->why,
            "%s: %.*s: user or password not accepted", command, (int)strcspn(reply->text, " "),
            reply->text);
    } else {
        format_one_line(handshake->why, sizeof handshake->why, "%s: %s", command, reply->text);
    }
}

/* A server that has forgotten the scripts can be given them again. */
static bool take_error_of_loading(
    struct handshake *handshake, const struct handshake_step *step, const struct resp *reply)
{
    bool is_denied = step->index == LOADING_ASKS_AGAIN /* somebody else's library has that name */
        || (ability_is_denied_by(reply->text) && !loading_is_forgotten(reply) &&
               !loading_is_there(reply));
    handshake->server.abilities.states[step->kind->ability] =
        is_denied ? ABILITY_LACKING : ABILITY_THERE;
    if (!step->kind->check(handshake, reply)) {
        handshake->refused = is_denied;
        say_error(handshake, step->kind, reply);
        return false;
    }
    return true;
}

/* True: the error is an answer, and the rest goes on. */
static bool take_error(
    struct handshake *handshake, const struct handshake_kind *kind, const struct resp *reply)
{
    bool is_denied = ability_is_denied_by(reply->text);
    if (is_denied) {
        handshake->server.abilities.states[kind->ability] = ABILITY_LACKING;
    }
    if (is_denied && ability_table[kind->ability].need != ABILITY_REQUIRED) {
        return true;
    }
    handshake->refused = is_denied || strncmp(reply->text, "WRONGPASS", 9) == 0;
    say_error(handshake, kind, reply);
    return false;
}

static bool handshake_take(
    struct handshake *handshake, const struct handshake_step *step, const struct resp *reply)
{
    if (reply->type == RESP_ERROR && handshake_is_redirected(handshake, reply)) {
        return handshake_fail(handshake, reply->text);
    } else if (reply->type == RESP_ERROR && step->kind->check == check_loading) {
        return take_error_of_loading(handshake, step, reply);
    } else if (reply->type == RESP_ERROR) {
        return take_error(handshake, step->kind, reply);
    }
    handshake->server.abilities.states[step->kind->ability] = ABILITY_THERE;
    return step->kind->check(handshake, reply);
}

enum handshake_result handshake_reply(
    struct handshake *handshake, const struct resp *reply, struct text *out)
{
    struct handshake_step step = handshake->steps[handshake->next];
    if (!handshake_take(handshake, &step, reply)) {
        return HANDSHAKE_FAILED;
    }
    handshake->next++;
    return handshake_go_on(handshake, out);
}
