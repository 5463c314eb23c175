#include "redis/loading.h"

#include <string.h>

static bool says(const struct resp *reply, const char *error)
{
    return reply->type == RESP_ERROR && strncmp(reply->text, error, strlen(error)) == 0;
}

bool loading_is_forgotten(const struct resp *reply)
{
    return says(reply, "ERR Function not found") || says(reply, "NOSCRIPT");
}

bool loading_is_there(const struct resp *reply)
{
    return says(reply, "ERR Library") && strstr(reply->text, "already exists");
}

/* ---- the steps ---- */

void loading_command(
    enum loading step, const struct script_set *set, const char *words[LOADING_WORDS])
{
    const char *const commands[][LOADING_WORDS] = {
        [LOADING_ASKS_LIBRARY] = {"FCALL", set->about, "0"},
        [LOADING_LIBRARY] = {"FUNCTION", "LOAD", set->library},
        [LOADING_ASKS_AGAIN] = {"FCALL", set->about, "0"},
        [LOADING_ASKS_SCRIPT] = {"EVALSHA", set->sha, "0", "about"},
        [LOADING_SCRIPT] = {"SCRIPT", "LOAD", set->script},
    };
    memcpy(words, commands[step], sizeof commands[step]);
}

/* What follows if the server has forgotten it, or says anything else. */
static const struct {
    enum loading forgotten, otherwise;
} steps[] = {
    [LOADING_ASKS_LIBRARY] = {LOADING_LIBRARY, LOADING_ASKS_SCRIPT},
    [LOADING_LIBRARY] = {LOADING_FAILED, LOADING_ASKS_SCRIPT},
    [LOADING_ASKS_AGAIN] = {LOADING_ASKS_SCRIPT, LOADING_ASKS_SCRIPT},
    [LOADING_ASKS_SCRIPT] = {LOADING_SCRIPT, LOADING_FAILED},
    [LOADING_SCRIPT] = {LOADING_FAILED, LOADING_FAILED},
};

enum loading loading_next(
    enum loading step, const struct script_set *set, const struct resp *reply)
{
    if (resp_is(reply, set->name)) {
        return LOADING_HAS_LIBRARY;
    } else if (resp_is(reply, "about") || resp_is(reply, set->sha)) {
        return LOADING_HAS_SCRIPT;
    } else if (step == LOADING_LIBRARY && loading_is_there(reply)) {
        return LOADING_ASKS_AGAIN;
    }
    return loading_is_forgotten(reply) ? steps[step].forgotten : steps[step].otherwise;
}
