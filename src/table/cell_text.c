#include "table/cell_text.h"

#include "base/clock.h"
#include "view/datetime.h"
#include "view/printable.h"

#include <string.h>

static void add_template_state(struct text *text, const struct status_resource *template)
{
    text_add_format(text, "template, %llu instance%s", (unsigned long long)template->instances,
        template->instances == 1 ? "" : "s");
    text_add(text, template->paused ? ", paused" : "");
    text_add(text, template->limit == 0 && template->changed.n > 0 ? ", closed" : "");
    text_add(text, template->changed.n > 0 ? ", changed" : "");
    if (template->database_state) {
        text_add_safe(text, ", database %s", template->database_state);
    }
}

void text_add_resource_state(
    struct text *text, const struct status *status, const struct status_resource *resource)
{
    if (resource->is_template) {
        add_template_state(text, resource);
        return;
    }
    const struct {
        bool holds;
        const char *word;
    } states[] = {
        {resource->removed, "removed"},
        {resource->paused, "paused"},
        {resource->limit == 0, "closed"},
        {status_is_in_grace(status, resource), "grace"},
        {resource->in_use > resource->limit, "over limit"},
        {resource->reserved.n > 0, "reserved"},
        {resource->draining.n > 0, "draining"},
        {resource->cooling > 0, "cooling"},
        {status_rate_holds(status, resource), "rate"},
        {resource->changed.n > 0, "changed"},
    };
    bool is_first = true;
    text_add(text, "");
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        if (states[i].holds) {
            text_add_format(text, "%s%s", is_first ? "" : ", ", states[i].word);
            is_first = false;
        }
    }
    if (resource->database_state) {
        text_add_safe(text, "%sdatabase %s", is_first ? "" : ", ", resource->database_state);
    }
}

enum look resource_state_look(const struct status_resource *resource)
{
    bool is_special = !resource->is_template || resource->paused || resource->changed.n > 0;
    return resource->database_state ? LOOK_ALARM : is_special ? LOOK_NOTICE : LOOK_PLAIN;
}

void text_add_figure(
    struct text *text, const struct status_resource *resource, uint64_t figure)
{
    if (resource->is_template) {
        text_add(text, "-");
    } else {
        text_add_number(text, figure);
    }
}

void text_add_units(struct text *text, const struct words *units, bool is_pool)
{
    bool is_one = units->n == 1 && !units->is_cut && (is_pool || !strchr(units->list[0], '-'));
    if (units->n > 0) {
        text_add_format(text, "%s%s ", is_pool ? "item" : "slot", is_one ? "" : "s");
    }
    text_add_words(text, units, ",");
}

/* A lease that lasts as long as a process, or for a time, needs no client; any other is lost unless
 * its client comes back soon. */
static bool is_missed(const struct status_lease *lease)
{
    return lease->away && (!lease->bound || strcmp(lease->bound, "connection") == 0);
}

void text_add_lease_state(struct text *text, const struct status_lease *lease)
{
    text_add(text, "");
    if (lease->shares) {
        text_add_safe(text, "shares %s", lease->shares);
    }
    if (lease->stopping) {
        text_add(text, lease->shares ? ", " : "");
        text_add_safe(text, "stopping (%s)", lease->stopping);
    }
    if (is_missed(lease) || lease->unread) {
        text_add(text, lease->stopping || lease->shares ? ", " : "");
        text_add(text, lease->unread ? "not started" : "away");
    }
}

void text_add_blocked(
    struct text *text, const struct status_resource *resource, const struct status_lease *lease)
{
    bool is_quota = lease->blocked && strcmp(lease->blocked, "quota") == 0;
    bool is_this = lease->blocker && strcmp(lease->blocker, resource->name) == 0;
    bool is_identity = lease->blocked && strcmp(lease->blocked, "identity") == 0;
    if (!lease->blocker || is_identity || (is_quota && is_this)) {
        text_add_safe(text, "%s", lease->blocked);
    } else if (!is_this) {
        text_add_safe(text, "%s%s", is_quota ? "quota of " : "", lease->blocker);
    } else {
        text_add(text, resource->paused ? "paused" : resource->limit == 0 ? "closed" : "limit");
    }
}

void text_add_said(struct text *text, const struct shown_decision *said)
{
    if (said->at.is_given) {
        text_add(text, " since ");
        text_add_datetime(
            text, (int64_t)said->at.number, clock_wall_now() / NANOSECONDS_PER_MILLISECOND);
    }
    if (said->by.uid.is_given) {
        text_add(text, " by ");
        text_add_who(text, &said->by, &said->login);
    }
    if (said->host) {
        text_add_safe(text, " on %s", said->host);
    }
    if (said->reason) {
        text_add_safe(text, ": %s", said->reason);
    }
}

void text_add_noted(struct text *text, const char *mark, const struct shown_decision *said)
{
    bool is_known = said->at.is_given || said->by.uid.is_given || said->host;
    text_add(text, is_known ? mark : ""); /* before a reason alone is its colon */
    text_add_said(text, said);
}

void text_add_change(struct text *text, const struct status_resource *resource)
{
    const struct shown_decision said = change_said(resource);
    if (resource->file_limit.is_given) {
        text_add_format(text, "limit %llu (file: %llu)", (unsigned long long)resource->limit,
            (unsigned long long)resource->file_limit.number);
    } else {
        text_add(text, "changed at runtime: ");
        text_add_words(text, &resource->changed, ", ");
    }
    text_add_noted(text, ",", &said);
}

void text_add_program(struct text *text, const struct status_lease *lease)
{
    bool is_said = lease->shown[SHOWN_program];
    bool is_found = !is_said && lease->process[0] != '\0';
    text_add_safe(text, "%s%s%s", is_found ? "[" : "",
        is_said ? lease->shown[SHOWN_program] : lease->process, is_found ? "]" : "");
}

void text_add_claims(struct text *text, const struct past_lease *lease)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        text_add_safe(text, "%s%s", i > 0 ? ", " : "", lease->claims[i].name);
    }
    text_add(text, lease->has_more_claims ? ", ..." : "");
}

/* "exit 3" or "SIGTERM". False: that is not known. */
static bool add_job_end(struct text *text, const struct past_lease *lease)
{
    if (lease->exit.is_given) {
        text_add_job_status(text, false, lease->exit.number);
    } else if (lease->signal.is_given) {
        text_add_job_status(text, true, lease->signal.number);
    }
    return lease->exit.is_given || lease->signal.is_given;
}

void text_add_how(struct text *text, const struct past_lease *lease)
{
    bool is_gone = strcmp(lease->how, "gone") == 0;
    bool is_usual = strcmp(lease->how, "released") == 0 && !lease->by.uid.is_given;
    if (is_gone) {
        text_add(text,
            lease->unseen.is_given ? "ended while berthd was down, status unknown"
                                   : "ended, status unknown");
    } else if (!is_usual || !add_job_end(text, lease)) {
        text_add_escaped(text, lease->how);
    }
    if (lease->code) {
        text_add_safe(text, " (%s)", lease->code);
    }
    if (lease->by.uid.is_given) {
        text_add(text, " by ");
        text_add_who(text, &lease->by, &lease->by_login);
    }
    if (lease->why) {
        text_add_safe(text, ": %s", lease->why);
    }
    if (!is_usual && (lease->exit.is_given || lease->signal.is_given)) {
        text_add(text, " (");
        add_job_end(text, lease);
        text_add(text, ")");
    }
    text_add(text, lease->unseen.is_given && !is_gone ? " (ended while berthd was down)" : "");
}

size_t add_shown_columns(struct column columns[MAX_COLUMNS], size_t n, size_t offset)
{
    for (enum shown_attribute i = 0; i < N_SHOWN; i++) {
        if (shown_rows[i].title && i != SHOWN_program) {
            columns[n++] = (struct column){.title = shown_rows[i].title,
                .offset = offset + i * sizeof(const char *),
                .is_optional = true,
                .min_width = 12};
        }
    }
    return n;
}
