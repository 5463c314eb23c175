/* test_journal_log.c - what operators read about the files that outlive berthd. */
#include "journal/state.h"
#include "log/log.h"
#include "record/journal_log.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static char said[1024]; /* "LEVEL: TEXT"; or empty */

static bool take(enum log_level level, const char *text, const struct log_subject *subject)
{
    (void)subject;
    cr_expect_str_eq(said, "", "%s", said);
    snprintf(said, sizeof said, "%s: %s",
        level == LOG_LEVEL_ERROR         ? "error"
            : level == LOG_LEVEL_WARNING ? "warning"
                                         : "?",
        text);
    return true;
}

static void begin(void)
{
    log_divert(take);
}

TestSuite(journal_log, .init = begin, .timeout = 60);

/* Forgets it, too. */
static void expect_said(const char *expected)
{
    cr_expect_str_eq(said, expected, "%s", said);
    said[0] = '\0';
}

Test(journal_log, each_trouble)
{
    static const struct {
        enum journal_problem trouble;
        int error;
        size_t n;
        const char *text;
    } rows[] = {
        {TROUBLE_UNREADABLE, EISDIR, 0, "error: j: Is a directory: replaced by a new one"},
        {TROUBLE_NOT_OURS_ALONE, EIO, 0,
            "error: j: not a file that only berthd can write: replaced by a new one"},
        {TROUBLE_NO_JOURNAL, EIO, 0,
            "error: j: not a journal, or damaged: replaced by a new one"},
        {TROUBLE_DAMAGE, EIO, 17, "error: j: damaged; 17 records can be read"},
        {TROUBLE_CUT, EIO, 0, "error: j: somebody has truncated it"},
        {TROUBLE_NO_FILE, ENOSPC, 0,
            "error: cannot create j: No space left on device; no lease can be granted"},
        {TROUBLE_STILL_NO_FILE, ENOSPC, 0,
            "warning: still cannot create j: No space left on device"},
        {TROUBLE_NO_GROWTH, EFBIG, 0, "warning: j: cannot grow: File too large"},
        {TROUBLE_TOO_LONG, EMSGSIZE, 5000,
            "warning: j: a record of 5000 bytes does not fit into its slot"},
        {TROUBLE_NOT_WRITTEN, EIO, 0, "warning: j: Input/output error"},
        {TROUBLE_NOT_ERASED, EIO, 0,
            "warning: j: cannot erase an obsolete record: Input/output error"},
        {TROUBLE_NOT_COMPLETE, EIO, 0, "error: j: Input/output error"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct journal_report report = {
            .trouble = rows[i].trouble, .path = "j", .error = rows[i].error, .n = rows[i].n};
        cr_assert_eq(report.trouble, i);
        journal_log(&report);
        expect_said(rows[i].text);
    }
}

Test(journal_log, what_clients_provoke_has_a_budget)
{
    const struct journal_report report = {
        .trouble = TROUBLE_NOT_WRITTEN, .path = "j", .error = EIO};
    unsigned n = 0;
    for (unsigned i = 0; i < 1000; i++) {
        journal_log(&report);
        n += said[0] != '\0';
        said[0] = '\0';
    }
    cr_expect(n > 0 && n < 100, "%u", n);
}

Test(journal_log, a_state_that_was_not_read)
{
    static char denied[] = "s: Permission denied", kept[] = "kept as s.damaged-1";
    static const struct {
        const char *path, *text;
        enum state_found found;
        char *why_unreadable, *kept;
    } rows[] = {
        {NULL, "error: no state directory", STATE_MISSING, NULL, NULL},
        {"s", "error: s: Permission denied: nothing is granted until it can be read",
            STATE_UNREADABLE, denied, NULL},
        {"s", "error: s: damaged: runtime changes are lost; it is kept as s.damaged-1",
            STATE_DAMAGED, NULL, kept},
        {"s", "", STATE_MISSING, NULL, NULL},
        {"s", "", STATE_READ, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char path[] = "s";
        const struct state state = {.path = rows[i].path ? path : NULL,
            .found = rows[i].found,
            .why_unreadable = rows[i].why_unreadable,
            .kept = rows[i].kept};
        state_log_loaded(&state);
        expect_said(rows[i].text);
    }
}

Test(journal_log, a_state_that_was_not_stored)
{
    char path[] = "s";
    const struct state state = {.path = path}, nowhere = {.path = NULL};
    state_log_stored(&state, STORED, 0);
    expect_said("");
    state_log_stored(&state, STORED_NOT, EIO);
    expect_said("warning: s: cannot be written: Input/output error");
    state_log_stored(&nowhere, STORED_NOT, ENOENT);
    expect_said("warning: state: cannot be written: No such file or directory");
    state_log_stored(&state, STORED_UNSYNCED, EIO);
    expect_said("warning: s: written, but its directory cannot be synced, and a power failure may "
                "bring the old one back: Input/output error");
    state_log_no_numbers(&state);
    expect_said("warning: s: no numbers are left");
    state_log_too_many_changes(&nowhere);
    expect_said("warning: state: too many changes to databases: the latest are not stored");
}
