#include "record/state_log.h"

#include "journal/state.h"
#include "log/log.h"

#include <string.h>

static const char *path_of(const struct state *state)
{
    return state->path ? state->path : "state";
}

void state_log_loaded(const struct state *state)
{
    if (!state->path) {
        log_error("no state directory");
    } else if (state->found == STATE_UNREADABLE) {
        log_error("%s: nothing is granted until it can be read", state->why_unreadable);
    } else if (state->found == STATE_DAMAGED) {
        log_error("%s: damaged: runtime changes are lost; it is %s", state->path, state->kept);
    }
}

void state_log_stored(const struct state *state, enum stored stored, int error)
{
    if (stored == STORED_NOT && state->found != STATE_UNREADABLE) {
        log_provoked("%s: cannot be written: %s", path_of(state), strerror(error));
    } else if (stored == STORED_UNSYNCED) {
        log_provoked(
            "%s: written, but its directory cannot be synced, and a power failure may bring "
            "the old one back: %s",
            path_of(state), strerror(error));
    }
}

void state_log_no_numbers(const struct state *state)
{
    log_provoked("%s: no numbers are left", path_of(state));
}

void state_log_too_many_changes(const struct state *state)
{
    log_provoked("%s: too many changes to databases: the latest are not stored", path_of(state));
}
