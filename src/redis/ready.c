#include "redis/ready.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ready_kind {
    const char *word; /* the command's name, for messages */
    /* Fills argv, returns argc. `number` has room for one number. */
    size_t (*make)(
        const struct ready_wish *wish, size_t index, const char *argv[3], char number[16]);
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

/* ---- AUTH, SELECT ---- */

static size_t make_auth(
    const struct ready_wish *wish, size_t index, const char *argv[3], char number[16])
{
    size_t n = 0;
    (void)index, (void)number;
    argv[n++] = "AUTH";
    if (wish->user) {
        argv[n++] = wish->user;
    }
    argv[n++] = wish->password ? wish->password : "";
    return n;
}

static size_t make_select(
    const struct ready_wish *wish, size_t index, const char *argv[3], char number[16])
{
    (void)index;
    snprintf(number, 16, "%u", wish->db);
    argv[0] = "SELECT";
    argv[1] = number;
    return 2;
}

static bool check_status(struct ready *ready, size_t index, const struct resp *reply)
{
    (void)index;
    return reply->type == RESP_STATUS || fail(ready, "not the answer of a Redis");
}

/* ---- INFO: one call for everything; ROLE would need another right ---- */

static size_t make_info(
    const struct ready_wish *wish, size_t index, const char *argv[3], char number[16])
{
    (void)wish, (void)index, (void)number;
    argv[0] = "INFO";
    return 1;
}

static bool check_info(struct ready *ready, size_t index, const struct resp *reply)
{
    (void)index;
    if (reply->type != RESP_STRING) {
        return fail(ready, "not the answer of a Redis");
    }
    guard_judge(&ready->guard, reply->text, ready->may_fail_over);
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
    const struct ready_wish *wish, size_t index, const char *argv[3], char number[16])
{
    (void)wish, (void)number;
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
    const struct ready_wish *wish, size_t index, const char *argv[3], char number[16])
{
    (void)number;
    argv[0] = "SUBSCRIBE";
    argv[1] = wish->keys->channels[index];
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
        text_is(&reply->elements[1], ready->keys->channels[index]);
    return good || fail(ready, "not the answer of a Redis");
}

/* ---- the commands ---- */

static const struct ready_kind kind_auth = {"AUTH", make_auth, check_status, true};
static const struct ready_kind kind_select = {"SELECT", make_select, check_status, false};
static const struct ready_kind kind_info = {"INFO", make_info, check_info, false};
static const struct ready_kind kind_same = {"INFO", make_info, check_same_server, false};
static const struct ready_kind kind_load = {"SCRIPT LOAD", make_load, check_load, false};
static const struct ready_kind kind_subscribe = {
    "SUBSCRIBE", make_subscribe, check_subscribe, false};

static void add(struct ready *ready, const struct ready_wish *wish, const struct ready_kind *kind,
    size_t index, struct text *out)
{
    const char *argv[3];
    size_t lengths[3], n;
    char number[16];
    size_t argc = kind->make(wish, index, argv, number);
    for (size_t i = 0; i < argc; i++) {
        lengths[i] = strlen(argv[i]);
    }
    char *bytes = resp_command(argc, argv, lengths, &n);
    text_add_bytes(out, bytes, n);
    if (kind->is_secret) {
        explicit_bzero(bytes, n);
    }
    free(bytes);
    ready->steps[ready->n++] = (struct ready_step){kind, index};
}

static void begin(struct ready *ready, const struct ready_wish *wish, struct text *out)
{
    memset(ready, 0, sizeof *ready);
    ready->keys = wish->keys;
    ready->may_fail_over = wish->may_fail_over;
    if (wish->user || wish->password) {
        add(ready, wish, &kind_auth, 0, out);
    }
}

void ready_commands(struct ready *ready, const struct ready_wish *wish, struct text *out)
{
    begin(ready, wish, out);
    if (wish->db > 0) {
        add(ready, wish, &kind_select, 0, out);
    }
    add(ready, wish, &kind_info, 0, out);
}

void ready_messages(
    struct ready *ready, const struct ready_wish *wish, const char *run_id, struct text *out)
{
    begin(ready, wish, out);
    say(ready->run_id, sizeof ready->run_id, "%s", run_id);
    add(ready, wish, &kind_same, 0, out);
    for (size_t i = 0; i < N_CHANNELS; i++) {
        add(ready, wish, &kind_subscribe, i, out);
    }
}

/* ---- replies ---- */

static void say_error(struct ready *ready, const struct ready_kind *kind, const struct resp *reply)
{
    if (kind->is_secret) {
        say(ready->why, sizeof ready->why, "%s: %.*s: user or password not accepted", kind->word,
            (int)strcspn(reply->text, " "), reply->text);
    } else {
        say(ready->why, sizeof ready->why, "%s: %s", kind->word, reply->text);
    }
}

enum ready_result ready_reply(struct ready *ready, const struct resp *reply, struct text *out)
{
    const struct ready_step *step = &ready->steps[ready->next];
    if (reply->type == RESP_ERROR) {
        say_error(ready, step->kind, reply);
        return READY_FAILED;
    }
    if (!step->kind->check(ready, step->index, reply)) {
        return READY_FAILED;
    }
    for (size_t i = 0; step->kind == &kind_info && i < N_SCRIPTS; i++) {
        add(ready, NULL, &kind_load, i, out);
    }
    return ++ready->next == ready->n ? READY_DONE : READY_MORE;
}
