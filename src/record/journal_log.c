#include "record/journal_log.h"

#include "log/log.h"

#include <string.h>

static void log_replaced(const char *path, const char *why)
{
    log_error("%s: %s: replaced by a new one", path, why);
}

/* What journal_open() has found. */
static void log_found(const struct journal_report *report)
{
    switch (report->trouble) {
    case TROUBLE_UNREADABLE:
        log_replaced(report->path, strerror(report->error));
        break;
    case TROUBLE_NOT_OURS_ALONE:
        log_replaced(report->path, "not a file that only berthd can write");
        break;
    case TROUBLE_NO_JOURNAL:
        log_replaced(report->path, "not a journal, or damaged");
        break;
    default:
        log_error("%s: damaged; %zu records can be read", report->path, report->n);
    }
}

void journal_log(const struct journal_report *report)
{
    const char *path = report->path, *error = strerror(report->error);
    switch (report->trouble) {
    case TROUBLE_UNREADABLE:
    case TROUBLE_NOT_OURS_ALONE:
    case TROUBLE_NO_JOURNAL:
    case TROUBLE_DAMAGE:
        log_found(report);
        break;
    case TROUBLE_CUT:
        log_error("%s: somebody has truncated it", path);
        break;
    case TROUBLE_NO_FILE:
        log_error("cannot create %s: %s; no lease can be granted", path, error);
        break;
    case TROUBLE_STILL_NO_FILE:
        log_provoked("still cannot create %s: %s", path, error);
        break;
    case TROUBLE_NO_GROWTH:
        log_provoked("%s: cannot grow: %s", path, error);
        break;
    case TROUBLE_TOO_LONG:
        log_provoked("%s: a record of %zu bytes does not fit into its slot", path, report->n);
        break;
    case TROUBLE_NOT_WRITTEN:
        log_provoked("%s: %s", path, error);
        break;
    case TROUBLE_NOT_ERASED:
        log_provoked("%s: cannot erase an obsolete record: %s", path, error);
        break;
    case TROUBLE_NOT_COMPLETE:
        log_error("%s: %s", path, error);
        break;
    }
}
