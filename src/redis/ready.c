#include "redis/ready.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORDS = 5 };

struct ready_kind {
    enum ability ability; /* that the command is */
    /* Fills argv, returns argc. `number` has room for one number. */
    size_t (*make)(
        const struct ready *ready, size_t index, const char *argv[MAX_WORDS], char number[16]);
    /* False: `why` says what is wrong. Error replies never get here. */
    bool (*check)(struct ready *ready, size_t index, const struct resp *reply);
    /* Error replies may repeat the secret that was sent. */
    bool is_secret;
};

static bool fail(struct ready *ready, const char *what)
{
    say(ready->why, sizeof ready->why, "%s", what);
    return false;
}

static bool check_status(struct ready *ready, size_t index, const struct resp *reply)
{
    (void)index;
    return reply->type == RESP_STATUS || fail(ready, "not the answer of a Redis");
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

static bool check_info(struct ready *ready, size_t index, const struct resp *reply)
{
    (void)index;
    if (reply->type != RESP_STRING) {
        return fail(ready, "not the answer of a Redis");
    }
    guard_judge(&ready->guard, reply->text, ready->wish.may_fail_over);
    ready->refused = ready->guard.refusal[0] != '\0';
    return !ready->refused || fail(ready, ready->guard.refusal);
}

/* A name or a proxy may lead to several servers. */
static bool check_same_server(struct ready *ready, size_t index, const struct resp *reply)
{
    if (!check_info(ready, index, reply)) {
        return false;
    }
    return strcmp(ready->guard.run_id, ready->run_id) == 0 ||
        fail(ready, "the two connections reach different servers");
}

/* ---- SCRIPT LOAD ---- */

static size_t make_load(
    const struct ready *ready, size_t index, const char *argv[MAX_WORDS], char number[16])
{
    (void)ready, (void)number;
    argv[0] = "SCRIPT";
    argv[1] = "LOAD";
    argv[2] = script_table[index].text;
    return 3;
}

static bool check_load(struct ready *ready, size_t index, const struct resp *reply)
{
    size_t n = 0;
    while (n < reply->length && isxdigit((unsigned char)reply->text[n])) {
        n++;
    }
    if (reply->type != RESP_STRING || n != SHA_BYTES || reply->length != SHA_BYTES) {
        return fail(ready, "not the answer of a Redis");
    }
    memcpy(ready->shas[index], reply->text, SHA_BYTES + 1);
    return true;
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
    return good || fail(ready, "not the answer of a Redis");
}

/* ---- the commands ---- */

static const struct ready_kind kind_auth = {ABILITY_auth, make_auth, check_status, true};
static const struct ready_kind kind_select = {ABILITY_select, make_select, check_status, false};
static const struct ready_kind kind_name = {ABILITY_client_name, make_name, check_status, false};
static const struct ready_kind kind_info = {ABILITY_info, make_info, check_info, false};
static const struct ready_kind kind_same = {ABILITY_info, make_info, check_same_server, false};
static const struct ready_kind kind_load = {ABILITY_script_load, make_load, check_load, false};
static const struct ready_kind kind_subscribe = {
    ABILITY_subscribe, make_subscribe, check_subscribe, false};

static void add(
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
    assert(ready->n < MAX_READY_STEPS);
    ready->steps[ready->n++] = (struct ready_step){kind, index};
}

/* ---- the stages ---- */

static void add_auth(struct ready *ready, struct text *out)
{
    if (ready->wish.user || ready->wish.password) {
        add(ready, &kind_auth, 0, out);
    }
    ready->wish.user = ready->wish.password = NULL;
}

static void add_name(struct ready *ready, struct text *out)
{
    if (ready->wish.client_name && !abilities_lack(&ready->abilities, ABILITY_client_name)) {
        add(ready, &kind_name, 0, out);
    }
}

static bool begin_commands(struct ready *ready, struct text *out)
{
    add_auth(ready, out);
    if (ready->wish.db > 0) {
        add(ready, &kind_select, 0, out);
    }
    add(ready, &kind_info, 0, out);
    add_name(ready, out);
    return true;
}

static bool load_scripts(struct ready *ready, struct text *out)
{
    for (size_t i = 0; i < N_SCRIPTS; i++) {
        add(ready, &kind_load, i, out);
    }
    return true;
}

static bool begin_messages(struct ready *ready, struct text *out)
{
    add_auth(ready, out);
    add(ready, &kind_same, 0, out);
    add_name(ready, out);
    for (size_t i = 0; i < N_CHANNELS; i++) {
        add(ready, &kind_subscribe, i, out);
    }
    return true;
}

static ready_stage *const stages_of_commands[] = {begin_commands, load_scripts, NULL};
static ready_stage *const stages_of_messages[] = {begin_messages, NULL};

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

void ready_messages(struct ready *ready, const struct ready_wish *wish,
    const struct ready *commands, struct text *out)
{
    struct abilities abilities = commands->abilities;
    char run_id[sizeof ready->run_id];
    memcpy(run_id, commands->guard.run_id, sizeof run_id);
    memset(ready, 0, sizeof *ready);
    ready->wish = *wish;
    ready->abilities = abilities;
    memcpy(ready->run_id, run_id, sizeof run_id);
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

/* True: the error is an answer, and the rest goes on. */
static bool take_error(
    struct ready *ready, const struct ready_kind *kind, const struct resp *reply)
{
    bool is_denied = ability_is_denied_by(reply->text);
    if (is_denied) {
        ready->abilities.states[kind->ability] = ABILITY_LACKING;
    }
    if (is_denied && ability_table[kind->ability].need != ABILITY_REQUIRED) {
        return true;
    }
    say_error(ready, kind, reply);
    return false;
}

static bool take(struct ready *ready, const struct ready_step *step, const struct resp *reply)
{
    if (reply->type == RESP_ERROR) {
        return take_error(ready, step->kind, reply);
    }
    ready->abilities.states[step->kind->ability] = ABILITY_THERE;
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
