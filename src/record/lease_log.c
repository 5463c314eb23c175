#include "record/lease_log.h"

#include "base/clock.h"
#include "log/log.h"
#include "record/history.h"
#include "record/log_subject.h"
#include "status/answer_lines.h"
#include "status/why.h"
#include "wire/protocol.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

static struct log_subject subject_of(
    const char *event, const struct fleet_names *databases, const struct lease *lease)
{
    struct log_subject subject = {.event = event};
    log_subject_lease(&subject, databases, lease);
    return subject;
}

static const char *word_of(enum outcome outcome)
{
    return code_table[outcome_code(outcome)].word;
}

/* ---- -v ---- */

static void lease_log_say(const struct fleet_names *databases, const struct lease *lease,
    const char *event, const char *text)
{
    if (!log_says(LOG_LEVEL_DEBUG)) {
        return;
    }
    const struct log_subject subject = subject_of(event, databases, lease);
    log_message_on(LOG_LEVEL_DEBUG, &subject, "lease %s (%s) of uid %u, pid %d %s", subject.lease,
        log_subject_what(&subject).text, subject.holder.by.uid, (int)subject.holder.pid,
        text);
}

void lease_log_place(const struct fleet_names *databases, const struct lease *lease)
{
    bool is_held = lease->state == LEASE_HELD;
    lease_log_say(databases, lease, is_held ? "granted" : "waiting", is_held ? "is held" : "waits");
}

void lease_log_ended(const struct fleet_names *databases, const struct lease *lease)
{
    if (!log_says(LOG_LEVEL_DEBUG)) {
        return;
    }
    struct text text = TEXT_INIT;
    text_add(&text, "has ended");
    if (lease->ended_why != OUTCOME_OK) {
        text_add(&text, " (");
        history_say_end(lease, &text);
        text_add(&text, ")");
    }
    if (lease->granted_at != 0) {
        char span[32];
        why_held_for(span, sizeof span, lease->ended_at - lease->granted_at);
        text_add(&text, ": held for ");
        text_add(&text, span);
    }
    lease_log_say(databases, lease, "ended", text.bytes);
    text_deinit(&text);
}

void lease_log_refused(
    struct log_process asker, enum command_index command, enum code code, const char *what)
{
    if (!log_says(LOG_LEVEL_DEBUG)) {
        return;
    }
    struct log_subject subject = {.event = "refused", .asker = asker};
    log_subject_resource(&subject, what);
    log_message_on(LOG_LEVEL_DEBUG, &subject, "%s%s%s: refused (%s) to uid %u, pid %d",
        command_table[command].word, what ? " " : "",
        what ? what : "", code_table[code].word, subject.asker.by.uid, (int)subject.asker.pid);
}

/* ---- ended against its holder's will ---- */

static void log_lost(
    const struct fleet_names *databases, const struct lease *lease, enum outcome why)
{
    const struct log_subject subject = subject_of("lost", databases, lease);
    log_ratelimited_on(LOG_LEVEL_WARNING, &subject, "lease %s (%s, process %d) is lost: %s",
        subject.lease, log_subject_what(&subject).text, (int)lease->pid,
        code_table[outcome_code(why)].meaning);
}

static void log_max_hold(const struct fleet_names *databases, const struct lease *lease)
{
    char span[32];
    const struct log_subject subject = subject_of("max-hold", databases, lease);
    why_held_for(span, sizeof span, clock_now() - lease->granted_at);
    log_ratelimited_on(LOG_LEVEL_INFO, &subject,
        "lease %s (%s, process %d) reached max-hold: it was held for %s", subject.lease,
        log_subject_what(&subject).text, (int)lease->pid, span);
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
            effect->kind == EFFECT_DENIED ? "was not granted" : "was taken away",
            word_of(effect->why));
        lease_log_say(databases, lease, event, text);
    }
}

void lease_log_signal(
    const struct fleet_names *databases, const struct lease *lease, int signal, int error)
{
    const struct log_subject subject =
        subject_of(signal == SIGKILL ? "killed" : "stopped", databases, lease);
    log_ratelimited_on(LOG_LEVEL_INFO, &subject,
        "lease %s (%s) is being taken back (%s): sent \"%s\" to process %d", subject.lease,
        log_subject_what(&subject).text, word_of((enum outcome)lease->stopping), strsignal(signal),
        (int)lease->process.pid);
    if (error != 0) {
        log_ratelimited_on(LOG_LEVEL_WARNING, &subject, "lease %s: cannot signal process %d: %s",
            subject.lease, (int)lease->process.pid, strerror(error));
    }
}

/* `who` in words. */
static void log_taken(const struct log_subject *subject, const struct lease *lease,
    enum command_index command, const char *who, const char *reason)
{
    bool is_own = subject->asker.by.uid == lease->uid && lease->uid != 0; /* not an operator */
    (is_own ? log_ratelimited_on : log_message_on)(LOG_LEVEL_INFO, subject,
        "%s %s (%s, %s by pid %d of uid %u): asked by %s%s%s", command_table[command].word,
        subject->lease, log_subject_what(subject).text,
        lease->state == LEASE_HELD ? "held" : "wanted", (int)lease->pid, lease->uid, who,
        reason ? ": " : "", reason ? reason : "");
}

void lease_log_taken(const struct fleet_names *databases, const struct lease *lease,
    struct log_process asker, enum command_index command, const char *event, const char *reason)
{
    struct log_subject subject = subject_of(event, databases, lease);
    subject.asker = asker;
    log_taken(&subject, lease, command, log_subject_asker(&asker).text, reason);
}

void lease_log_taken_remotely(const struct fleet_names *databases, const struct lease *lease,
    const struct actor *by, enum command_index command, const char *event, const char *reason)
{
    char who[sizeof(struct log_asker) + 32];
    struct log_subject subject = subject_of(event, databases, lease);
    subject.asker.by = *by;
    snprintf(who, sizeof who, "%s on another host",
        by->is_known ? log_subject_asker(&subject.asker).text : "an operator");
    log_taken(&subject, lease, command, who, reason);
}

void lease_log_not_taken_over(const struct saved_lease *saved, const char *why)
{
    struct log_subject subject = {.event = "refused"};
    log_subject_saved_lease(&subject, saved);
    log_message_on(LOG_LEVEL_WARNING, &subject, "lease %s (%s) is not restored: %s", subject.lease,
        log_subject_what(&subject).text, why);
}
