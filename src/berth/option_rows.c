#include "berth/options.h"

#include "base/utf8.h"
#include "base/words.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* ---- kinds of values; `member` is that of the options ---- */

static const char *set_ttl(void *member, char *argument)
{
    const char *wrong = option_set_duration(member, argument);
    return *(const nanoseconds *)member > 0 ? wrong : "not a duration like 30s or 1h30m";
}

static const char *set_no_wait(void *member, char *argument)
{
    (void)argument;
    *(nanoseconds *)member = 0;
    return NULL;
}

static const char *set_exclusive(void *member, char *argument)
{
    (void)argument;
    *(bool *)member = false;
    return NULL;
}

/* As flock(1) takes it: .5 is allowed, and -n goes first. */
static const char *set_seconds(void *member, char *argument)
{
    char text[64];
    nanoseconds seconds, *wait = member;
    int length = snprintf(text, sizeof text, "%s%s", argument[0] == '.' ? "0" : "", argument);
    const char *wrong =
        option_set_duration(&seconds, length < (int)sizeof text ? text : argument);
    if (!wrong && *wait != 0) {
        *wait = seconds;
    }
    return wrong;
}

static const char *set_conflict_status(void *member, char *argument)
{
    uint64_t status;
    if (!number_parse(argument, 255, &status)) {
        return "not an exit status from 0 to 255";
    }
    *(int *)member = (int)status;
    return NULL;
}

static const char *set_priority(void *member, char *argument)
{
    int64_t priority;
    if (!signed_number_parse(argument, 1000, &priority)) {
        return "not a number from -1000 to 1000";
    }
    *(int *)member = (int)priority;
    return NULL;
}

static const char *set_holder(void *member, char *argument)
{
    size_t n = strlen(argument);
    return n >= 1 && n <= HOLDER_BYTES ? option_set_text(member, argument) : "not 1 to 128 bytes";
}

static const char *set_share(void *member, char *argument)
{
    bool is_good = strlen(argument) <= SHARE_BYTES && name_is_valid(argument);
    return is_good ? option_set_text(member, argument)
                   : "not a name of 1 to 32 bytes of A-Z a-z 0-9 . _ / @ + -";
}

static const char *set_reason(void *member, char *argument)
{
    argument[utf8_cut(argument, REASON_BYTES)] = '\0';
    return argument[0] != '\0' ? option_set_text(member, argument) : "empty";
}

static const char *set_pid(void *member, char *argument)
{
    uint64_t pid;
    if (!number_parse(argument, INT32_MAX, &pid) || pid == 0) {
        return "not a process id";
    }
    *(pid_t *)member = (pid_t)pid;
    return pid == 1 ? "process 1 never ends, so the lease would not either" : NULL;
}

static const char *set_item(void *member, char *argument)
{
    return item_is_valid(argument) ? option_set_text(member, argument) : "not an item's name";
}

static const char *set_if_down(void *member, char *argument)
{
    static const char *const words[] = {
        [IF_DOWN_FAIL] = "fail", [IF_DOWN_WAIT] = "wait", [IF_DOWN_RUN] = "run", NULL};
    return word_look_up(words, argument, member) ? NULL : "not one of fail, wait, run";
}

static const char *set_if_down_without_job(void *member, char *argument)
{
    const char *wrong = set_if_down(member, argument);
    return *(const enum if_down *)member == IF_DOWN_RUN ? "acquire has no command to run" : wrong;
}

static const char *set_on_lost(void *member, char *argument)
{
    return word_look_up(on_lost_words, argument, member) ? NULL : "not one of kill, term, warn";
}

static const char *set_nested(void *member, char *argument)
{
    return word_look_up(nested_words, argument, member) ? NULL : "not one of refuse, count, share";
}

static const char *set_replace(void *member, char *argument)
{
    enum replace *replace = member;
    *replace = REPLACE_WAITING;
    bool is_good = !argument || (word_look_up(replace_words, argument, member) && *replace != 0);
    return is_good ? NULL : "not one of waiting, running";
}

int signal_parse(const char *word)
{
    uint64_t number;
    if (number_parse(word, NSIG - 1, &number)) {
        return (int)number;
    }
    if (strncasecmp(word, "SIG", 3) == 0) {
        word += 3;
    }
    for (int i = 1; i < NSIG; i++) {
        const char *name = sigabbrev_np(i);
        if (name && strcasecmp(word, name) == 0) {
            return i;
        }
    }
    return 0;
}

static const char *set_signal(void *member, char *argument)
{
    int *signal = member;
    *signal = signal_parse(argument);
    return *signal != 0 ? NULL : "not a signal like TERM or 15";
}

static const char *set_export(void *member, char *argument)
{
    static const char bytes[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    if (strncmp(argument, "BERTH_", 6) == 0) {
        return "berth sets this variable itself";
    }
    bool valid = strspn(argument, bytes) == strlen(argument) && argument[0] != '\0' &&
        strchr("0123456789", argument[0]) == NULL;
    return valid ? option_set_text(member, argument) : "not a valid variable name";
}

/* ---- the table ---- */

enum { IN_BOTH = IN_RUN | IN_ACQUIRE };

#define TO(set, member) set, offsetof(struct options, member)

const struct option_row option_rows[] = {
    {0, IN_ACQUIRE, "pid", "PID", TO(set_pid, pid),
        "the lease lasts as long as this process; in a script: $$"},
    {0, IN_ACQUIRE, "ttl", "DURATION", TO(set_ttl, ttl),
        "the lease lasts this long, unless renewed"},
    {0, IN_RENEW, "ttl", "DURATION", TO(set_ttl, ttl),
        "new ttl, counted from now (default: the previous ttl)"},
    {'s', IN_FLOCK, "shared", NULL, TO(option_set_true, given_lock.is_shared), "a shared lock"},
    {'x', IN_FLOCK, "exclusive", NULL, TO(set_exclusive, given_lock.is_shared),
        "an exclusive lock (the default)"},
    {'e', IN_FLOCK, "exclusive", NULL, TO(set_exclusive, given_lock.is_shared), "is -x"},
    {'u', IN_FLOCK, "unlock", NULL, TO(option_set_true, unlock_file), "is refused: use flock(1)"},
    {'n', IN_BOTH | IN_FLOCK, "nonblock", NULL, TO(set_no_wait, wait), "don't wait"},
    {0, IN_FLOCK, "nb", NULL, TO(set_no_wait, wait), "is -n"},
    {'w', IN_BOTH, "timeout", "DURATION", TO(option_set_duration, wait),
        "wait at most this long; 0 is -n (default: for ever)"},
    {'w', IN_FLOCK, "timeout", "SECONDS", TO(set_seconds, wait),
        "wait at most this long; 0 is -n (default: for ever)"},
    {0, IN_FLOCK, "wait", "SECONDS", TO(set_seconds, wait), "is -w"},
    {'E', IN_BOTH, "conflict-exit-code", "N", TO(set_conflict_status, conflict_status),
        "status for \"not acquired\" (75)"},
    {'E', IN_FLOCK, "conflict-exit-code", "N", TO(set_conflict_status, conflict_status),
        "status for \"not got\" (1)"},
    {'o', IN_FLOCK, "close", NULL, TO(option_set_true, given_lock.is_closed),
        "COMMAND does not have FILE open"},
    {'p', IN_BOTH, "priority", "N", TO(set_priority, priority), "higher values go first (0)"},
    {0, IN_BOTH, "shared", NULL, TO(option_set_true, shared),
        "share a lock with others that say so"},
    {0, IN_BOTH, "holder", "ID", TO(set_holder, holder),
        "identity; it can hold each resource only once"},
    {0, IN_RELEASE | IN_RENEW, "holder", "ID", TO(set_holder, holder),
        "the lease that this identity holds on NAME"},
    {0, IN_RELEASE, "item", "ITEM", TO(set_item, item),
        "the lease that holds this item, or slot, of NAME"},
    {0, IN_BOTH, "replace", "", TO(set_replace, replace),
        "end an older request of --holder that waits, and take its place;\n"
        "--replace=running: and stop the job of one that was granted"},
    {0, IN_BOTH, "share", "WORD", TO(set_share, share),
        "the word whose turn it takes where the order is fair (none)"},
    {0, IN_BOTH, "reason", "TEXT", TO(set_reason, reason), "text for berthctl status to show"},
    {'s', IN_BOTH, "signal", "SIG", TO(set_signal, signal),
        "the signal that asks the job to stop (TERM)"},
    {'k', IN_BOTH, "kill-after", "DURATION", TO(option_set_duration, kill_after),
        "delay from that signal to SIGKILL; no longer than the resource's"},
    {0, IN_BOTH, "on-lost", "kill|term|warn", TO(set_on_lost, on_lost),
        "what to do when the lease is lost; no laxer than the resource's"},
    {0, IN_BOTH, "nested", "refuse|count|share", TO(set_nested, nested),
        "if a lease above has some of it already (the resource's)"},
    {0, IN_RUN, "if-down", "fail|wait|run", TO(set_if_down, if_down),
        "if berthd, or its database, does not answer (fail)"},
    {0, IN_ACQUIRE, "if-down", "fail|wait", TO(set_if_down_without_job, if_down),
        "if berthd, or its database, does not answer (fail)"},
    {0, IN_ALL, "down-after", "DURATION", TO(option_set_duration, down_after),
        "how long berthd may take to answer (5s)"},
    {0, IN_RUN, "export", "VAR", TO(set_export, export),
        "put the items (of the only pool) or slots into VAR"},
    {'F', IN_RUN, "no-fork", NULL, TO(option_set_true, no_fork),
        "replace berth with COMMAND; only berthd watches and stops it"},
    {'F', IN_FLOCK, "no-fork", NULL, TO(option_set_true, no_fork), "replace berth with COMMAND"},
    {0, IN_RUN, "tree", NULL, TO(option_set_true, tree),
        "keep the lease until all descendants of COMMAND are gone"},
    {0, IN_ACQUIRE, "json", NULL, TO(option_set_true, json), "print JSON, not variables"},
    {'S', IN_ALL, "socket", "PATH|user", TO(option_set_text, socket),
        "berthd's socket; \"user\": your own berthd's"},
    {'q', IN_BOTH, "quiet", NULL, TO(option_set_true, quiet),
        "do not report waiting, or that units are busy"},
    {'v', IN_BOTH, "verbose", NULL, TO(option_set_true, verbose), "print what was granted"},
    {'v', IN_FLOCK, "verbose", NULL, TO(option_set_true, verbose),
        "report waiting, what was granted, or why it was not"},
    {'v', IN_RENEW, "verbose", NULL, TO(option_set_true, verbose), "print how long is left"},
    {'h', IN_ALL, "help", NULL, TO(option_set_true, help), "this text"},
    {0},
};
