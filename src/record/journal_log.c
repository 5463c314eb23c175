#include "record/journal_log.h"

#include "journal/state.h"
#include "log/log.h"

#include <string.h>

/* ---- the journal ---- */

void journal_log(const struct journal_report *report)
{
    const char *path = report->path, *error = strerror(report->error);
    switch (report->trouble) {
    case TROUBLE_UNREADABLE:
        log_error("%s: %s: replaced by a new one", path, error);
        break;
    case TROUBLE_NOT_OURS_ALONE:
        log_error("%s: not a file that only berthd can write: replaced by a new one", path);
        break;
    case TROUBLE_NO_JOURNAL:
        log_error("%s: not a journal, or damaged: replaced by a new one", path);
        break;
    case TROUBLE_DAMAGE:
        log_error("%s: damaged; %zu records can be read", path, report->n);
        break;
    case TROUBLE_CUT:
        log_error("%s: somebody has truncated it", path);
        break;
    case TROUBLE_NO_FILE:
        log_error("cannot create %s: %s; no lease can be granted", path, error);
        break;
    case TROUBLE_STILL_NO_FILE:
        log_ratelimited("still cannot create %s: %s", path, error);
        break;
    case TROUBLE_NO_GROWTH:
        log_ratelimited("%s: cannot grow: %s", path, error);
        break;
    case TROUBLE_TOO_LONG:
        log_ratelimited("%s: a record of %zu bytes does not fit into its slot", path, report->n);
        break;
    case TROUBLE_NOT_WRITTEN:
        log_ratelimited("%s: %s", path, error);
        break;
    case TROUBLE_NOT_ERASED:
        log_ratelimited("%s: cannot erase an obsolete record: %s", path, error);
        break;
    case TROUBLE_NOT_COMPLETE:
        log_error("%s: %s", path, error);
        break;
    }
}

/* ---- the state file ---- */

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
        log_ratelimited("%s: cannot be written: %s", path_of(state), strerror(error));
    } else if (stored == STORED_UNSYNCED) {
        log_ratelimited(
            "%s: written, but its directory cannot be synced, and a power failure may bring "
            "the old one back: %s",
            path_of(state), strerror(error));
    }
}

void state_log_no_numbers(const struct state *state)
{
    log_ratelimited("%s: no numbers are left", path_of(state));
}

void state_log_too_many_changes(const struct state *state)
{
    log_ratelimited("%s: too many changes to databases: the latest are not stored", path_of(state));
}
