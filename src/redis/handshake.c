#include "redis/handshake.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* Sets .why; returns false. */
static bool handshake_fail(struct handshake *handshake, const char *what)
{
    format_one_line(handshake->why, sizeof handshake->why, "%s", what);
    return false;
}

/* The index of the step that the reply is to. */
static size_t handshake_index(const struct handshake *handshake)
{
    return handshake->steps[handshake->next].index;
}

static bool check_status(struct handshake *handshake, const struct resp *reply)
{
    return reply->type == RESP_STATUS || handshake_fail(handshake, RESP_UNEXPECTED);
}

static bool check_number(struct handshake *handshake, const struct resp *reply)
{
    return reply->type == RESP_INTEGER || handshake_fail(handshake, RESP_UNEXPECTED);
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

static bool is_accepted(struct handshake *handshake)
{
    handshake->refused = handshake->guard.refusal[0] != '\0';
    return !handshake->refused || handshake_fail(handshake, handshake->guard.refusal);
}

static bool judge(struct handshake *handshake)
{
    const struct server_check_question question = question_of(handshake);
    server_check_identity(&handshake->guard, &question);
    return is_accepted(handshake);
}

/* A name or a proxy may lead to several servers. */
static bool check_same_server(struct handshake *handshake)
{
    return strcmp(handshake->guard.run_id, handshake->wish.known->run_id) == 0 ||
        handshake_fail(handshake, "the two connections reach different servers");
}

enum { OF_ANY_SERVER, OF_SAME_SERVER }; /* the index of INFO */

static bool check_info(struct handshake *handshake, const struct resp *reply)
{
    if (reply->type != RESP_STRING) {
        return handshake_fail(handshake, RESP_UNEXPECTED);
    }
    facts_read_info(&handshake->server.facts, reply->text);
    return judge(handshake) &&
        (handshake_index(handshake) == OF_ANY_SERVER || check_same_server(handshake));
}

/* HELLO and CONFIG GET, for what INFO does not say: the index says which. */
static bool check_pairs(struct handshake *handshake, const struct resp *reply)
{
    enum fact_source source = (enum fact_source)handshake_index(handshake);
    return facts_read_pairs(&handshake->server.facts, source, reply) ||
        handshake_fail(handshake, RESP_UNEXPECTED);
}

/* The node's reply to the next command says more surely whether it has the slot. */
static bool check_slots(struct handshake *handshake, const struct resp *reply)
{
    const struct route *cluster = handshake->wish.cluster;
    if (cluster_map_read(&handshake->map, reply, cluster->slot, cluster->at.host)) {
        handshake->map.n = 0;
    }
    return true;
}

/* ---- the scripts ---- */

enum { RIGHTS_INFO, RIGHTS_WRITING, RIGHTS_HISTORY, N_RIGHTS }; /* what is lacking follows */

static bool check_rights(struct handshake *handshake, const struct resp *reply)
{
    struct text lacking = TEXT_INIT;
    uint8_t *states = handshake->server.abilities.states;
    if (reply->type != RESP_ARRAY || reply->n < N_RIGHTS) {
        return handshake_fail(handshake, RESP_UNEXPECTED);
    }
    for (size_t i = N_RIGHTS; i < reply->n; i++) {
        text_add_format(&lacking, " %s", reply->elements[i].text);
    }
    states[ABILITY_script_info] =
        reply->elements[RIGHTS_INFO].length > 0 ? ABILITY_LACKING : ABILITY_THERE;
    states[ABILITY_script_commands] = lacking.length > 0 ? ABILITY_LACKING : ABILITY_THERE;
    states[ABILITY_script_history] =
        reply->elements[RIGHTS_HISTORY].length > 0 ? ABILITY_LACKING : ABILITY_THERE;
    handshake->unwritable = server_check_unwritable(reply->elements[RIGHTS_WRITING].text);
    handshake->refused = lacking.length > 0;
    if (handshake->refused) {
        format_one_line(handshake->why, sizeof handshake->why,
            "scripts need what is not allowed here:%s", lacking.bytes);
    }
    text_deinit(&lacking);
    return !handshake->refused;
}

static bool check_loading(struct handshake *handshake, const struct resp *reply)
{
    enum loading step = (enum loading)handshake_index(handshake);
    handshake->loading = loading_next(step, handshake->wish.set, reply);
    return handshake->loading != LOADING_FAILED || handshake_fail(handshake, RESP_UNEXPECTED);
}

/* ---- SUBSCRIBE ---- */

/* One more reply, to what the stage sends last. */
static void handshake_expect(struct handshake *handshake, enum ability ability, size_t index)
{
    assert(handshake->n < MAX_HANDSHAKE_STEPS);
    handshake->steps[handshake->n++] = (struct handshake_step){ability, index};
}

/* SUBSCRIBE or SSUBSCRIBE, which is one command for all channels: each has a reply. */
static bool check_subscribe(struct handshake *handshake, const struct resp *reply)
{
    const struct handshake_step step = handshake->steps[handshake->next];
    bool is_of_all = step.ability == ABILITY_ssubscribe;
    bool good = reply->type == RESP_ARRAY && reply->n == 3 &&
        resp_is(&reply->elements[0], is_of_all ? "ssubscribe" : "subscribe") &&
        resp_is(&reply->elements[1], handshake->wish.keys->channels[step.index]);
    if (good && is_of_all && step.index + 1 < N_CHANNELS) {
        handshake_expect(handshake, step.ability, step.index + 1);
    }
    return good || handshake_fail(handshake, RESP_UNEXPECTED);
}

/* ---- the commands ---- */

/* False: `why` says what is wrong. Error replies never get there. */
static bool (*const checks[N_ABILITIES])(struct handshake *handshake, const struct resp *reply) = {
    [ABILITY_auth] = check_status,
    [ABILITY_select] = check_status,
    [ABILITY_cluster_slots] = check_slots,
    [ABILITY_exists] = check_number,
    [ABILITY_asking] = check_status,
    [ABILITY_info] = check_info,
    [ABILITY_hello] = check_pairs,
    [ABILITY_config_get] = check_pairs,
    [ABILITY_client_name] = check_status,
    [ABILITY_eval] = check_rights,
    [ABILITY_functions] = check_loading,
    [ABILITY_function_load] = check_loading,
    [ABILITY_scripts] = check_loading,
    [ABILITY_script_load] = check_loading,
    [ABILITY_subscribe] = check_subscribe,
    [ABILITY_ssubscribe] = check_subscribe,
};

/* Adds a step to the stage: a command, whose words end with NULL. */
static void handshake_add(struct handshake *handshake, enum ability ability, size_t index,
    const char *const words[], struct text *out)
{
    resp_add_command(out, words);
    handshake_expect(handshake, ability, index);
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
        handshake_add(handshake, ABILITY_auth, 0, words, out);
    }
    handshake->wish.user = handshake->wish.password = NULL;
}

static void add_name(struct handshake *handshake, struct text *out)
{
    const char *const words[] = {"CLIENT", "SETNAME", handshake->wish.client_name, NULL};
    if (handshake->wish.client_name &&
        !abilities_lack(&handshake->server.abilities, ABILITY_client_name)) {
        handshake_add(handshake, ABILITY_client_name, 0, words, out);
    }
}

static void add_asking(struct handshake *handshake, struct text *out)
{
    if (handshake->wish.cluster && handshake->wish.cluster->is_asking) {
        handshake_add(handshake, ABILITY_asking, 0, (const char *const[]){"ASKING", NULL}, out);
    }
}

/* A node of a cluster answers EXISTS only if it would let a script have all these keys; a replica
 * as a node that does not have the slot, and says where the master is. */
static bool handshake_find_slot(struct handshake *handshake, struct text *out)
{
    const char *words[1 + N_SCRIPT_KEYS + 1] = {"EXISTS"};
    for (size_t i = 0; i < N_SCRIPT_KEYS; i++) {
        words[1 + i] = handshake->wish.keys->keys[i];
    }
    if (handshake->wish.cluster) {
        add_auth(handshake, out);
        handshake_add(handshake, ABILITY_cluster_slots, 0,
            (const char *const[]){"CLUSTER", "SLOTS", NULL}, out);
        add_asking(handshake, out);
        handshake_add(handshake, ABILITY_exists, 0, words, out);
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
        handshake_add(handshake, ABILITY_select, 0, select, out);
    }
    handshake_add(handshake, ABILITY_info, OF_ANY_SERVER, info, out);
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

/* CONFIG GET, for what INFO has not said. */
static void add_settings(struct handshake *handshake, struct text *out)
{
    for (enum fact i = 0; i < N_FACTS; i++) {
        if (fact_setting(i) && !fact_of(&handshake->server.facts, i)) {
            const char *const words[] = {"CONFIG", "GET", fact_setting(i), NULL};
            handshake_add(handshake, ABILITY_config_get, FACT_FROM_CONFIG, words, out);
        }
    }
}

static bool ask_more(struct handshake *handshake, struct text *out)
{
    static const char *const hello[] = {"HELLO", NULL};
    const struct keys *keys = handshake->wish.keys;
    const char *const rights[] = {
        "EVAL", script_rights, "0", keys->keys[0], keys->channels[CHANNEL_ALL], NULL};
    memcpy(handshake->server.run_id, handshake->guard.run_id, sizeof handshake->server.run_id);
    if (is_known(handshake)) {
        keep_known(handshake);
        return true;
    }
    /* Without a version, the server goes on with RESP 2. Every user may use it. */
    if (abilities_lack(&handshake->server.abilities, ABILITY_info)) {
        handshake_add(handshake, ABILITY_hello, FACT_FROM_HELLO, hello, out);
    }
    add_settings(handshake, out);
    handshake_add(handshake, ABILITY_eval, 0, rights, out);
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
    return is_accepted(handshake);
}

static const enum ability loading_abilities[] = {
    [LOADING_ASKS_LIBRARY] = ABILITY_functions,
    [LOADING_LIBRARY] = ABILITY_function_load,
    [LOADING_ASKS_AGAIN] = ABILITY_functions,
    [LOADING_ASKS_SCRIPT] = ABILITY_scripts,
    [LOADING_SCRIPT] = ABILITY_script_load,
};

/* A step of it, if one is left. */
static bool load_scripts(struct handshake *handshake, struct text *out)
{
    const char *words[LOADING_WORDS];
    enum loading step = handshake->loading;
    if (step < LOADING_HAS_LIBRARY) {
        loading_command(step, handshake->wish.set, words);
        handshake_add(handshake, loading_abilities[step], step, words, out);
    }
    return true;
}

static bool subscribe(struct handshake *handshake, struct text *out)
{
    for (size_t i = 0; i < N_CHANNELS; i++) {
        const char *const words[] = {"SUBSCRIBE", handshake->wish.keys->channels[i], NULL};
        handshake_add(handshake, ABILITY_subscribe, i, words, out);
    }
    return true;
}

/* All channels in one command, as ASKING holds for one, and may not follow a subscription: the last
 * step of its stage. */
static bool subscribe_to_slot(struct handshake *handshake, struct text *out)
{
    const char *words[1 + N_CHANNELS + 1] = {"SSUBSCRIBE"};
    for (size_t i = 0; i < N_CHANNELS; i++) {
        words[1 + i] = handshake->wish.keys->channels[i];
    }
    add_asking(handshake, out);
    handshake_add(handshake, ABILITY_ssubscribe, 0, words, out);
    return true;
}

static bool begin_messages(struct handshake *handshake, struct text *out)
{
    add_auth(handshake, out);
    if (handshake->wish.known->run_id[0]) {
        handshake_add(handshake, ABILITY_info, OF_SAME_SERVER, info, out);
    }
    add_name(handshake, out);
    return handshake->wish.cluster ? subscribe_to_slot(handshake, out) : subscribe(handshake, out);
}

/* Only now: nothing but subscriptions may follow one. */
static bool subscribe_in_cluster(struct handshake *handshake, struct text *out)
{
    return !handshake->wish.cluster || subscribe(handshake, out);
}

static handshake_stage *const stages_of_commands[] = {handshake_find_slot, begin_commands, ask_more,
    weigh, load_scripts, load_scripts, load_scripts, load_scripts, NULL};
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

static void say_error(struct handshake *handshake, enum ability ability, const struct resp *reply)
{
    const char *command = ability_table[ability].command;
    if (ability == ABILITY_auth) { /* it may repeat the secret that was sent */
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
    handshake->server.abilities.states[step->ability] = is_denied ? ABILITY_LACKING : ABILITY_THERE;
    if (!check_loading(handshake, reply)) {
        handshake->refused = is_denied;
        say_error(handshake, step->ability, reply);
        return false;
    }
    return true;
}

/* True: the error is an answer, and the rest goes on. */
static bool take_error(struct handshake *handshake, enum ability ability, const struct resp *reply)
{
    bool is_denied = ability_is_denied_by(reply->text);
    if (is_denied) {
        handshake->server.abilities.states[ability] = ABILITY_LACKING;
    }
    if (is_denied && ability_table[ability].need != ABILITY_REQUIRED) {
        return true;
    }
    handshake->refused = is_denied || strncmp(reply->text, "WRONGPASS", 9) == 0;
    say_error(handshake, ability, reply);
    return false;
}

/* True: the node has told us to ask another one, or the same one later. */
static bool handshake_is_redirected(struct handshake *handshake, const struct resp *reply)
{
    const struct route *cluster = handshake->wish.cluster;
    struct redirection *redirection = &handshake->redirection;
    bool makes_sense =
        !cluster || redirection_read(redirection, reply->text, cluster->slot, cluster->at.host);
    if (!makes_sense || redirection->kind == REDIRECTION_DOWN) {
        redirection->kind = REDIRECTION_NONE;
    }
    return redirection->kind != REDIRECTION_NONE;
}

static bool handshake_take(
    struct handshake *handshake, const struct handshake_step *step, const struct resp *reply)
{
    if (reply->type == RESP_ERROR && handshake_is_redirected(handshake, reply)) {
        return handshake_fail(handshake, reply->text);
    } else if (reply->type == RESP_ERROR && checks[step->ability] == check_loading) {
        return take_error_of_loading(handshake, step, reply);
    } else if (reply->type == RESP_ERROR) {
        return take_error(handshake, step->ability, reply);
    }
    handshake->server.abilities.states[step->ability] = ABILITY_THERE;
    return checks[step->ability](handshake, reply);
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
