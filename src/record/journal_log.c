#include "record/journal_log.h"

#include "journal/state.h"
#include "log/log.h"

#include <stdio.h>
#include <string.h>

/* ---- the journal ---- */

void journal_log(const struct journal_report *report)
{
    static const struct {
        const char *format; /* of the path, then of the error or, with .has_number, the number */
        bool can_be_provoked, has_number;
    } rows[] = {
        [TROUBLE_UNREADABLE] = {"%s: %s: replaced by a new one"},
        [TROUBLE_NOT_OURS_ALONE] =
            {"%s: not a file that only berthd can write: replaced by a new one"},
        [TROUBLE_NO_JOURNAL] = {"%s: not a journal, or damaged: replaced by a new one"},
        [TROUBLE_DAMAGE] = {"%s: damaged; %s records can be read", .has_number = true},
        [TROUBLE_CUT] = {"%s: somebody has truncated it"},
        [TROUBLE_NO_FILE] = {"cannot create %s: %s; no lease can be granted"},
        [TROUBLE_STILL_NO_FILE] = {"still cannot create %s: %s", true},
        [TROUBLE_NO_GROWTH] = {"%s: cannot grow: %s", true},
        [TROUBLE_TOO_LONG] = {"%s: a record of %s bytes does not fit into its slot", true, true},
        [TROUBLE_NOT_WRITTEN] = {"%s: %s", true},
        [TROUBLE_NOT_ERASED] = {"%s: cannot erase an obsolete record: %s", true},
        [TROUBLE_NOT_COMPLETE] = {"%s: %s"},
    };
    const bool can_be_provoked = rows[report->trouble].can_be_provoked;
    char number[24];
    snprintf(number, sizeof number, "%zu", report->n);
    (can_be_provoked ? log_ratelimited_on : log_message_on)(
        can_be_provoked ? LOG_LEVEL_WARNING : LOG_LEVEL_ERROR, &log_nothing,
        rows[report->trouble].format, report->path,
        rows[report->trouble].has_number ? number : strerror(report->error));
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
