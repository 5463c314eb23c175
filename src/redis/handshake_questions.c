/* handshake_questions.c - what a server is asked when it is not known yet. */
#include "redis/handshake_internal.h"
#include "redis/script_needs.h"

#include <string.h>

/* ---- HELLO and CONFIG GET, for what INFO does not say ---- */

/* Without a version, the server goes on with RESP 2. Every user may use it. */
static size_t make_hello(
    const struct handshake *handshake, size_t index, const char *argv[MAX_WORDS], char number[16])
{
    (void)handshake, (void)index, (void)number;
    argv[0] = "HELLO";
    return 1;
}

static bool check_hello(struct handshake *handshake, size_t index, const struct resp *reply)
{
    (void)index;
    return facts_read_hello(&handshake->server.facts, reply) ||
        handshake_fail(handshake, RESP_UNEXPECTED);
}

static const struct {
    enum fact fact;
    const char *name;
} settings[] = {
    {FACT_save, "save"},
    {FACT_stop_writes, "stop-writes-on-bgsave-error"},
    {FACT_maxmemory, "maxmemory"},
    {FACT_maxmemory_policy, "maxmemory-policy"},
};

static size_t make_config(
    const struct handshake *handshake, size_t index, const char *argv[MAX_WORDS], char number[16])
{
    (void)handshake, (void)number;
    argv[0] = "CONFIG";
    argv[1] = "GET";
    argv[2] = settings[index].name;
    return 3;
}

static bool check_config(struct handshake *handshake, size_t index, const struct resp *reply)
{
    (void)index;
    return facts_read_config(&handshake->server.facts, reply) ||
        handshake_fail(handshake, RESP_UNEXPECTED);
}

/* ---- what scripts may do: script_needs.h ---- */

static size_t make_rights(
    const struct handshake *handshake, size_t index, const char *argv[MAX_WORDS], char number[16])
{
    (void)index, (void)number;
    argv[0] = "EVAL";
    argv[1] = script_needs_text;
    argv[2] = "0";
    argv[3] = handshake->wish.keys->keys[0];
    argv[4] = handshake->wish.keys->channels[CHANNEL_ALL];
    return 5;
}

static const struct {
    const char *error, *meaning;
} refusals_to_write[] = {
    {"OOM ", "it is at its maxmemory, and new requests would fail"},
    {"MISCONF ", "it cannot save its data, and refuses all writes"},
    {"NOREPLICAS ", "it has too few replicas, and refuses all writes"},
};

/* NULL: an error of another kind, or none. */
static const char *refusal_to_write(const char *error)
{
    for (size_t i = 0; i < sizeof refusals_to_write / sizeof refusals_to_write[0]; i++) {
        const char *begin = refusals_to_write[i].error;
        if (strncmp(error, begin, strlen(begin)) == 0) {
            return refusals_to_write[i].meaning;
        }
    }
    return NULL;
}

enum { RIGHTS_INFO, RIGHTS_WRITING, N_RIGHTS }; /* what is lacking follows */

static bool check_rights(struct handshake *handshake, size_t index, const struct resp *reply)
{
    struct text lacking = TEXT_INIT;
    uint8_t *states = handshake->server.abilities.states;
    (void)index;
    if (reply->type != RESP_ARRAY || reply->n < N_RIGHTS) {
        return handshake_fail(handshake, RESP_UNEXPECTED);
    }
    for (size_t i = N_RIGHTS; i < reply->n; i++) {
        text_add_format(&lacking, " %s", reply->elements[i].text);
    }
    states[ABILITY_script_info] =
        reply->elements[RIGHTS_INFO].length > 0 ? ABILITY_LACKING : ABILITY_THERE;
    states[ABILITY_script_commands] = lacking.length > 0 ? ABILITY_LACKING : ABILITY_THERE;
    handshake->unwritable = refusal_to_write(reply->elements[RIGHTS_WRITING].text);
    handshake->refused = lacking.length > 0;
    if (handshake->refused) {
        format_one_line(handshake->why, sizeof handshake->why,
            "scripts need what is not allowed here:%s", lacking.bytes);
    }
    text_deinit(&lacking);
    return !handshake->refused;
}

const struct handshake_kind handshake_hello = {ABILITY_hello, make_hello, check_hello, false};
const struct handshake_kind handshake_rights = {ABILITY_eval, make_rights, check_rights, false};
static const struct handshake_kind handshake_config = {
    ABILITY_config_get, make_config, check_config, false};

void handshake_add_settings(struct handshake *handshake, struct text *out)
{
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        if (!fact_of(&handshake->server.facts, settings[i].fact)) {
            handshake_add(handshake, &handshake_config, i, out);
        }
    }
}
