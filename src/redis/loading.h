/* loading.h - loads our scripts into a server: as a function library if it allows these, else as
 * one script; asks first whether they are there. Pure. */
#pragma once

#include "redis/resp.h"
#include "redis/scripts.h"

#include <stdbool.h>

enum { LOADING_WORDS = 5 }; /* of a command, with the NULL behind them */

enum loading {
    LOADING_ASKS_LIBRARY, /* the first */
    LOADING_LIBRARY,
    LOADING_ASKS_AGAIN, /* as one of that name has come meanwhile */
    LOADING_ASKS_SCRIPT,
    LOADING_SCRIPT,
    LOADING_HAS_LIBRARY,
    LOADING_HAS_SCRIPT,
    LOADING_FAILED,
};

/* The command of that step, of the first five. */
void loading_command(
    enum loading step, const struct script_set *set, const char *words[LOADING_WORDS]);
/* What comes after that reply to it. Errors are answers: a server that does not allow
 * functions, or no more of them at its maxmemory, gets the script. */
enum loading loading_next(
    enum loading step, const struct script_set *set, const struct resp *reply);
/* Whether the reply to a call says that the server has forgotten them. */
bool loading_is_forgotten(const struct resp *reply);
/* Whether the reply to LOADING_LIBRARY says that there is one of that name. Another daemon may have
 * loaded it since; or it is somebody else's. */
bool loading_is_there(const struct resp *reply);
