#include "redis/loading.h"

#include <string.h>

static bool says(const struct resp *reply, const char *error)
{
    return reply->type == RESP_ERROR && strncmp(reply->text, error, strlen(error)) == 0;
}

static bool answers(const struct resp *reply, const char *text)
{
    return reply->type == RESP_STRING && strcmp(reply->text, text) == 0;
}

bool loading_is_forgotten(const struct resp *reply)
{
    return says(reply, "ERR Function not found") || says(reply, "NOSCRIPT");
}

bool loading_is_there(const struct resp *reply)
{
    return says(reply, "ERR Library") && strstr(reply->text, "already exists");
}

/* ---- the steps: what is sent, and whether that reply says that they are there ---- */

static size_t ask_library(const struct script_set *set, const char *argv[])
{
    argv[0] = "FCALL", argv[1] = set->about, argv[2] = "0";
    return 3;
}

static size_t load_library(const struct script_set *set, const char *argv[])
{
    argv[0] = "FUNCTION", argv[1] = "LOAD", argv[2] = set->library.text;
    return 3;
}

static size_t ask_script(const struct script_set *set, const char *argv[])
{
    argv[0] = "EVALSHA", argv[1] = set->sha, argv[2] = "0", argv[3] = "about";
    return 4;
}

static size_t load_script(const struct script_set *set, const char *argv[])
{
    argv[0] = "SCRIPT", argv[1] = "LOAD", argv[2] = set->script.text;
    return 3;
}

static bool has_library(const struct script_set *set, const struct resp *reply)
{
    return answers(reply, set->name);
}

static bool has_script(const struct script_set *set, const struct resp *reply)
{
    return answers(reply, "about") || answers(reply, set->sha);
}

static const struct step {
    size_t (*make)(const struct script_set *set, const char *argv[]);
    bool (*is_there)(const struct script_set *set, const struct resp *reply);
    enum loading there, forgotten, otherwise;
} steps[] = {
    [LOADING_ASKS_LIBRARY] = {ask_library, has_library, LOADING_HAS_LIBRARY, LOADING_LIBRARY,
        LOADING_ASKS_SCRIPT},
    [LOADING_LIBRARY] = {load_library, has_library, LOADING_HAS_LIBRARY, LOADING_FAILED,
        LOADING_ASKS_SCRIPT},
    [LOADING_ASKS_AGAIN] = {ask_library, has_library, LOADING_HAS_LIBRARY, LOADING_ASKS_SCRIPT,
        LOADING_ASKS_SCRIPT},
    [LOADING_ASKS_SCRIPT] = {ask_script, has_script, LOADING_HAS_SCRIPT, LOADING_SCRIPT,
        LOADING_FAILED},
    [LOADING_SCRIPT] = {load_script, has_script, LOADING_HAS_SCRIPT, LOADING_FAILED,
        LOADING_FAILED},
};

size_t loading_command(
    enum loading step, const struct script_set *set, const char *argv[LOADING_WORDS])
{
    return steps[step].make(set, argv);
}

enum loading loading_next(
    enum loading step, const struct script_set *set, const struct resp *reply)
{
    if (steps[step].is_there(set, reply)) {
        return steps[step].there;
    } else if (step == LOADING_LIBRARY && loading_is_there(reply)) {
        return LOADING_ASKS_AGAIN;
    }
    return loading_is_forgotten(reply) ? steps[step].forgotten : steps[step].otherwise;
}
