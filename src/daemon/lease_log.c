#include "daemon/lease_log.h"

#include "daemon/log_subject.h"
#include "log/log.h"
#include "status/answer_lines.h"
#include "wire/protocol.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

enum { WHAT_SIZE = NAME_BYTES + 32 };

static struct log_about about_of(
    const char *event, const struct fleet_names *databases, const struct lease *lease)
{
    struct log_about about = {.event = event};
    log_subject_lease(&about, databases, lease);
    return about;
}

static const char *word_of(enum outcome outcome)
{
    return code_table[outcome_code(outcome)].word;
}

/* ---- -v ---- */

static void say(
    const struct fleet_names *databases, const struct lease *lease, const char *event, const char *text)
{
    if (!log_says(LOG_LEVEL_DEBUG)) {
        return;
    }
    char what[WHAT_SIZE];
    const struct log_about about = about_of(event, databases, lease);
    log_about(LOG_LEVEL_DEBUG, &about, "lease %s (%s) of uid %u, pid %d %s", about.lease,
        log_subject_what(what, sizeof what, &about), about.holder.uid, (int)about.holder.pid, text);
}

void lease_log_place(const struct fleet_names *databases, const struct lease *lease)
{
    bool is_held = lease->state == LEASE_HELD;
    say(databases, lease, is_held ? "granted" : "waiting", is_held ? "is held" : "waits");
}

void lease_log_ended(const struct fleet_names *databases, const struct lease *lease)
{
    say(databases, lease, "ended", "is over");
}

void lease_log_refused(
    struct log_process asker, enum command_index command, enum code code, const char *about_text)
{
    if (!log_says(LOG_LEVEL_DEBUG)) {
        return;
    }
    struct log_about about = {.event = "refused", .asker = asker};
    log_subject_resource(&about, about_text);
    log_about(LOG_LEVEL_DEBUG, &about, "%s%s%s: refused (%s) to uid %u, pid %d",
        command_table[command].word, about_text ? " " : "",
        about_text ? about_text : "", code_table[code].word, about.asker.uid, (int)about.asker.pid);
}

/* ---- ended against its holder's will ---- */

static void log_lost(const struct fleet_names *databases, const struct lease *lease, enum outcome why)
{
    char what[WHAT_SIZE];
    const struct log_about about = about_of("lost", databases, lease);
    log_provoked_about(LOG_LEVEL_WARNING, &about, "lease %s (%s, process %d) is lost: %s",
        about.lease, log_subject_what(what, sizeof what, &about), (int)lease->pid,
        code_table[outcome_code(why)].meaning);
}

static void log_max_hold(const struct fleet_names *databases, const struct lease *lease)
{
    char what[WHAT_SIZE];
    const struct log_about about = about_of("max-hold", databases, lease);
    log_provoked_about(LOG_LEVEL_INFO, &about,
        "lease %s (%s, process %d) was held for as long as max-hold allows", about.lease,
        log_subject_what(what, sizeof what, &about), (int)lease->pid);
}

void lease_log_over(const struct fleet_names *databases, const struct effect *effect)
{
    const struct lease *lease = effect->lease;
    if (effect->why == OUTCOME_DEADLINE || effect->why == OUTCOME_LOST) {
        log_lost(databases, lease, effect->why);
    } else if (effect->kind == EFFECT_STOP && effect->why == OUTCOME_MAX_HOLD) {
        log_max_hold(databases, lease);
    } else if (log_says(LOG_LEVEL_DEBUG)) {
        char text[96];
        const char *event = effect->kind == EFFECT_DENIED ? "refused" : word_of(effect->why);
        snprintf(text, sizeof text, "%s: %s",
            effect->kind == EFFECT_DENIED ? "gets nothing" : "is taken away", word_of(effect->why));
        say(databases, lease, event, text);
    }
}

void lease_log_signal(const struct fleet_names *databases, const struct lease *lease, int signal, int error)
{
    char what[WHAT_SIZE];
    const struct log_about about =
        about_of(signal == SIGKILL ? "killed" : "stopped", databases, lease);
    log_provoked_about(LOG_LEVEL_INFO, &about,
        "lease %s (%s) must be given up (%s): %s to process %d", about.lease,
        log_subject_what(what, sizeof what, &about), word_of((enum outcome)lease->stopping),
        strsignal(signal), (int)lease->process.pid);
    if (error != 0) {
        log_provoked_about(LOG_LEVEL_WARNING, &about, "lease %s: cannot signal process %d: %s",
            about.lease, (int)lease->process.pid, strerror(error));
    }
}

void lease_log_taken(const struct fleet_names *databases, const struct lease *lease,
    struct log_process asker, enum command_index command, const char *event)
{
    char what[WHAT_SIZE];
    struct log_about about = about_of(event, databases, lease);
    about.asker = asker;
    bool is_own = about.asker.uid == lease->uid && lease->uid != 0; /* not an operator */
    (is_own ? log_provoked_about : log_about)(LOG_LEVEL_INFO, &about,
        "%s %s (%s, %s by pid %d of uid %u): asked by uid %u, pid %d",
        command_table[command].word, about.lease,
        log_subject_what(what, sizeof what, &about), lease->state == LEASE_HELD ? "held" : "wanted",
        (int)lease->pid, lease->uid, about.asker.uid, (int)about.asker.pid);
}

void lease_log_not_taken_over(const struct remembered *remembered, const char *why)
{
    char what[WHAT_SIZE];
    struct log_about about = {.event = "refused"};
    log_subject_remembered(&about, remembered);
    log_about(LOG_LEVEL_WARNING, &about, "lease %s (%s) is not restored: %s", about.lease,
        log_subject_what(what, sizeof what, &about), why);
}
