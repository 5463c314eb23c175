#include "berth/options.h"

#include "base/utf8.h"
#include "base/words.h"

#include <signal.h>
#include <string.h>
#include <strings.h>

/* ---- one function for each option ---- */

static const char *set_nonblock(struct options *options, const char *argument)
{
    (void)argument;
    options->wait = 0;
    return NULL;
}

static const char *set_timeout(struct options *options, const char *argument)
{
    return duration_parse(argument, &options->wait) ? NULL : "not a duration like 30s or 1h30m";
}

static const char *set_conflict_status(struct options *options, const char *argument)
{
    uint64_t status;
    if (!number_parse(argument, 255, &status)) {
        return "not an exit status from 0 to 255";
    }
    options->conflict_status = (int)status;
    return NULL;
}

static const char *set_priority(struct options *options, const char *argument)
{
    int64_t priority;
    if (!signed_number_parse(argument, 1000, &priority)) {
        return "not a number from -1000 to 1000";
    }
    options->priority = (int)priority;
    return NULL;
}

static const char *set_text(const char **textp, const char *argument, size_t max, const char *why)
{
    size_t n = strlen(argument);
    if (n < 1 || n > max) {
        return why;
    }
    *textp = argument;
    return NULL;
}

static const char *set_holder(struct options *options, const char *argument)
{
    return set_text(&options->holder, argument, HOLDER_BYTES, "not 1 to 128 bytes");
}

static const char *set_reason(struct options *options, const char *argument)
{
    static char cut[REASON_BYTES + 1];
    size_t n = utf8_cut(argument, REASON_BYTES);
    memcpy(cut, argument, n);
    cut[n] = '\0';
    options->reason = cut;
    return n > 0 ? NULL : "empty";
}

static const char *set_pid(struct options *options, const char *argument)
{
    uint64_t pid;
    if (!number_parse(argument, INT32_MAX, &pid) || pid == 0) {
        return "not a process id";
    }
    options->pid = (pid_t)pid;
    return pid == 1 ? "process 1 never ends, so the lease would not either" : NULL;
}

static const char *set_ttl(struct options *options, const char *argument)
{
    bool valid = duration_parse(argument, &options->ttl) && options->ttl > 0;
    return valid ? NULL : "not a duration like 30s or 1h30m";
}

static const char *set_item(struct options *options, const char *argument)
{
    options->item = argument;
    return item_is_valid(argument) ? NULL : "not an item's name";
}

static const char *set_if_down(struct options *options, const char *argument)
{
    static const char *const words[] = {
        [IF_DOWN_FAIL] = "fail", [IF_DOWN_WAIT] = "wait", [IF_DOWN_RUN] = "run"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(argument, words[i]) == 0) {
            options->if_down = (enum if_down)i;
            return NULL;
        }
    }
    return "not one of fail, wait, run";
}

static const char *set_if_down_without_job(struct options *options, const char *argument)
{
    const char *wrong = set_if_down(options, argument);
    return options->if_down == IF_DOWN_RUN ? "acquire has no command to run" : wrong;
}

static const char *set_down_after(struct options *options, const char *argument)
{
    return duration_parse(argument, &options->down_after) ? NULL : "not a duration like 5s";
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

static const char *set_signal(struct options *options, const char *argument)
{
    options->signal = signal_parse(argument);
    return options->signal != 0 ? NULL : "not a signal like TERM or 15";
}

static const char *set_kill_after(struct options *options, const char *argument)
{
    return duration_parse(argument, &options->kill_after) ? NULL : "not a duration like 10s";
}

static const char *set_on_lost(struct options *options, const char *argument)
{
    return on_lost_parse(argument, &options->on_lost) ? NULL : "not one of kill, term, warn";
}

static const char *set_export(struct options *options, const char *argument)
{
    static const char bytes[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
    options->export = argument;
    if (strncmp(argument, "BERTH_", 6) == 0) {
        return "berth sets this variable itself";
    }
    bool valid = strspn(argument, bytes) == strlen(argument) && argument[0] != '\0' &&
        strchr("0123456789", argument[0]) == NULL;
    return valid ? NULL : "not a valid variable name";
}

static const char *set_socket(struct options *options, const char *argument)
{
    options->socket = argument;
    return NULL;
}

#define SWITCH(member)                                                                             \
    static const char *set_##member(struct options *options, const char *argument)                 \
    {                                                                                              \
        (void)argument;                                                                            \
        options->member = true;                                                                    \
        return NULL;                                                                               \
    }
SWITCH(no_fork)
SWITCH(tree)
SWITCH(json)
SWITCH(quiet)
SWITCH(verbose)
SWITCH(help)
#undef SWITCH

/* ---- the table ---- */

enum { IN_BOTH = IN_RUN | IN_ACQUIRE };

const struct option_row option_rows[] = {
    {0, IN_ACQUIRE, "pid", "PID", set_pid,
        "the lease lasts as long as this process; in a script: $$"},
    {0, IN_ACQUIRE, "ttl", "DURATION", set_ttl, "the lease lasts this long, unless renewed"},
    {0, IN_RENEW, "ttl", "DURATION", set_ttl,
        "new ttl, counted from now (default: the previous ttl)"},
    {'n', IN_BOTH, "nonblock", NULL, set_nonblock, "don't wait"},
    {'w', IN_BOTH, "timeout", "DURATION", set_timeout,
        "wait at most this long; 0 is -n (default: for ever)"},
    {'E', IN_BOTH, "conflict-exit-code", "N", set_conflict_status,
        "status for \"not acquired\" (75)"},
    {'p', IN_BOTH, "priority", "N", set_priority, "higher values go first (0)"},
    {0, IN_BOTH, "holder", "ID", set_holder, "identity; it can hold each resource only once"},
    {0, IN_RELEASE | IN_RENEW, "holder", "ID", set_holder,
        "the lease that this identity holds on NAME"},
    {0, IN_RELEASE, "item", "ITEM", set_item, "the lease that holds this item, or slot, of NAME"},
    {0, IN_BOTH, "reason", "TEXT", set_reason, "text for berthctl status to show"},
    {'s', IN_BOTH, "signal", "SIG", set_signal, "the signal that asks the job to stop (TERM)"},
    {'k', IN_BOTH, "kill-after", "DURATION", set_kill_after,
        "delay from that signal to SIGKILL; no longer than the resource's"},
    {0, IN_BOTH, "on-lost", "kill|term|warn", set_on_lost,
        "what to do when the lease is lost; no laxer than the resource's"},
    {0, IN_RUN, "if-down", "fail|wait|run", set_if_down,
        "if berthd, or its database, does not answer (fail)"},
    {0, IN_ACQUIRE, "if-down", "fail|wait", set_if_down_without_job,
        "if berthd, or its database, does not answer (fail)"},
    {0, IN_ALL, "down-after", "DURATION", set_down_after,
        "how long berthd may take to answer (5s)"},
    {0, IN_RUN, "export", "VAR", set_export, "put the items (of the only pool) or slots into VAR"},
    {'F', IN_RUN, "no-fork", NULL, set_no_fork,
        "replace berth with COMMAND; only berthd watches and stops it"},
    {0, IN_RUN, "tree", NULL, set_tree, "keep the lease until all descendants of COMMAND are gone"},
    {0, IN_ACQUIRE, "json", NULL, set_json, "print JSON, not variables"},
    {'S', IN_ALL, "socket", "PATH|user", set_socket,
        "berthd's socket; \"user\": your own berthd's"},
    {'q', IN_BOTH, "quiet", NULL, set_quiet, "do not report waiting, or that units are busy"},
    {'v', IN_BOTH, "verbose", NULL, set_verbose, "print what was granted"},
    {'v', IN_RENEW, "verbose", NULL, set_verbose, "print how long is left"},
    {'h', IN_ALL, "help", NULL, set_help, "this text"},
    {0},
};
