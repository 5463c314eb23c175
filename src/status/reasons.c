#include "status/reasons.h"

#include "base/utf8.h"
#include "base/words.h"
#include "core/core.h"
#include "status/reasons_time.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { SENTENCE_BYTES = 1200 }; /* encoded, it can be three times as long */

void reasons_deinit(struct reasons *reasons)
{
    text_deinit(&reasons->lines);
    text_deinit(&reasons->brief);
    text_deinit(&reasons->stops);
}

/* ---- sentences ---- */

void reasons_write(struct text *out, const char *word, char *what, size_t max)
{
    what[utf8_cut(what, max)] = '\0';
    text_add(out, word);
    text_add(out, " ");
    text_add_encoded(out, what);
    text_add(out, "\n");
}

static void reasons_add_sentence(struct reasons *reasons, char *sentence)
{
    reasons_write(&reasons->lines, "because", sentence, SENTENCE_BYTES);
}

void reasons_say(struct reasons *reasons, const char *format, ...)
{
    char sentence[SENTENCE_BYTES + 4];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    reasons_add_sentence(reasons, sentence);
}

void reasons_remark(struct reasons *reasons, const char *format, ...)
{
    char remark[SENTENCE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(remark, sizeof remark, format, arguments);
    va_end(arguments);
    text_add_format(&reasons->brief, "; %s", remark);
}

void reasons_stop(struct reasons *reasons, const char *stop, const char *sentence)
{
    reasons_say(reasons, "%s", sentence);
    reasons_remark(reasons, "%s", sentence);
    text_add_format(&reasons->stops, "%s; ", stop);
}

void reasons_stop_if_closed(struct reasons *reasons, const struct core *core, nanoseconds now)
{
    struct text sentence = TEXT_INIT;
    if (core_closed_why(core)) {
        reasons_stop(reasons, "grace", core_closed_why(core));
    } else if (core_is_closed(core)) {
        text_add(&sentence, "berthd has restarted: for another ");
        text_add_age(&sentence, milliseconds(core_grace_until(core) - now) + 999);
        text_add(&sentence, " it restores earlier leases and grants nothing new");
        reasons_stop(reasons, "grace", sentence.bytes);
        text_deinit(&sentence);
    }
}

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

static unsigned long long number(uint64_t n)
{
    return n;
}

static void add_time_since(
    struct text *out, const struct reasons_resource *resource, const struct status_lease *lease)
{
    int64_t span = resource->now.at - lease->since.at;
    text_add_age(out, span > 0 ? (uint64_t)span : 0);
}

/* ---- who ---- */

static void add_user(struct text *out, const char *name, uint64_t uid)
{
    if (name) {
        text_add(out, name);
    } else {
        text_add_format(out, "uid %llu", number(uid));
    }
}

static void name_user(struct shown_user *user, const struct viewer *viewer)
{
    user->name = user->uid.is_given ? viewer_user_of(viewer, (uint32_t)user->uid.number) : NULL;
}

void said_name_users(struct status_resource *line, const struct viewer *viewer)
{
    name_user(&line->paused_by, viewer);
    name_user(&line->paused_by_login, viewer);
    name_user(&line->changed_by, viewer);
    name_user(&line->changed_by_login, viewer);
}

static bool add_age_of(struct text *out, const struct shown_decision *said, uint64_t wall)
{
    bool is_known = said->at.is_given && wall != 0;
    if (is_known) {
        text_add_age(out, wall > said->at.number ? wall - said->at.number : 0);
    }
    return is_known;
}

/* " by root (ada) on web1: new disks" */
static void add_who(struct text *out, const struct shown_decision *said)
{
    if (said->by.uid.is_given) {
        text_add(out, " by ");
        add_user(out, said->by.name, said->by.uid.number);
    }
    if (said->login.uid.is_given) {
        text_add(out, " (");
        add_user(out, said->login.name, said->login.uid.number);
        text_add(out, ")");
    }
    text_add_format(out, "%s%s", said->host ? " on " : "", said->host ? said->host : "");
    text_add(out, said->reason ? ": " : "");
    text_add(out, said->reason ? said->reason : "");
}

static void add_said(struct text *out, const struct shown_decision *said, uint64_t wall)
{
    struct text age = TEXT_INIT;
    if (add_age_of(&age, said, wall)) {
        text_add_format(out, " %s ago", age.bytes);
    }
    text_deinit(&age);
    add_who(out, said);
}

void pause_write(struct text *out, const struct status_resource *line)
{
    const struct shown_decision said = pause_said(line);
    text_add(out, "paused");
    add_who(out, &said);
}

/* What add_said() has added. */
static const char *in_brackets(const struct text *how)
{
    return how->bytes + strspn(how->bytes, " :");
}

void drain_write(
    struct text *out, struct shown_decision said, const struct viewer *viewer, uint64_t wall)
{
    name_user(&said.by, viewer);
    name_user(&said.login, viewer);
    struct text how = TEXT_INIT;
    add_said(&how, &said, wall);
    text_add(out, "this host is being drained");
    if (how.length > 0) {
        text_add_format(out, " (%s)", in_brackets(&how));
    }
    text_deinit(&how);
}

/* "the limit of etl, 20 in the file, was set to 5 (4m ago by root: too slow)" */
static void say_change(struct reasons *reasons, const struct reasons_resource *resource)
{
    const struct status_resource *line = resource->line;
    const struct shown_decision said = change_said(line);
    struct text how = TEXT_INIT;
    add_said(&how, &said, resource->wall);
    if (how.length > 0 && line->file_limit.is_given) {
        reasons_say(reasons, "the limit of %s, %llu in the file, was set to %llu (%s)", line->name,
            number(line->file_limit.number), number(line->limit), in_brackets(&how));
    } else if (how.length > 0) {
        reasons_say(
            reasons, "the items of %s were changed (%s)", line->name, in_brackets(&how));
    }
    text_deinit(&how);
}

void party_write(struct text *out, const struct status_lease *lease)
{
    const char *program = lease->hidden ? NULL : lease->shown[SHOWN_program];
    const char *reason = lease->hidden ? NULL : lease->shown[SHOWN_reason];
    if (!lease->hidden && lease->holder) {
        text_add_format(out, "%s, ", lease->holder);
    }
    text_add_format(out, "pid %llu", number(lease->pid));
    if (lease->host) {
        text_add_format(out, " on %s", lease->host);
    }
    text_add(out, " (");
    if (program) {
        text_add_format(out, "%s, ", program);
    }
    add_user(out, lease->user, lease->uid);
    if (reason) {
        text_add_format(out, ": %s", reason);
    }
    text_add(out, ")");
}

/* ---- one line ---- */

/* What precedes the next thing that is said about a resource. */
static void separate(struct text *out, unsigned *np)
{
    text_add(out, (*np)++ == 0 ? ": " : ", ");
}

static void add_units(struct text *out, unsigned *np, uint64_t n, const char *what)
{
    if (n > 0) {
        separate(out, np);
        text_add_format(out, "%llu %s", number(n), what);
    }
}

static void add_holders(struct text *out, const struct reasons_resource *resource)
{
    if (!resource->first) {
        return;
    }
    text_add(out, " by ");
    party_write(out, resource->first);
    text_add(out, " for ");
    add_time_since(out, resource, resource->first);
    if (resource->n_holders > 1) {
        text_add_format(out, ", and %llu other%s", number(resource->n_holders - 1),
            plural(resource->n_holders - 1));
    }
}

static void add_use(struct text *out, const struct reasons_resource *resource)
{
    const struct status_resource *line = resource->line;
    unsigned n = 0;
    if (resource->first && resource->first->all) {
        separate(out, &n);
        text_add(out, "all of it held");
        add_holders(out, resource);
    } else if (line->limit > 1 || resource->wants > 1) {
        separate(out, &n);
        text_add_format(out, "%llu of %llu held", number(line->in_use), number(line->limit));
        add_holders(out, resource);
    } else if (resource->first) {
        separate(out, &n);
        text_add(out, "held");
        add_holders(out, resource);
    }
    add_units(out, &n, line->cooling, "cooling down");
    add_units(out, &n, resource->reserved, "reserved");
    if (resource->goes_in > 0) {
        separate(out, &n);
        text_add_format(out, "the rate %s ", line->rate);
        rate_write(out, resource);
    }
    if (resource->wants > 1) {
        add_units(out, &n, resource->wants, "wanted");
    } else if (resource->wants == WANTS_ALL) {
        separate(out, &n);
        text_add(out, "all wanted");
    }
    if (n == 0) {
        text_add(out, ": not held");
    }
}

/* Why the resource grants nothing to anybody; "" if it does. */
static void add_state(struct text *out, const struct status_resource *line)
{
    if (line->paused) {
        pause_write(out, line);
    } else if (line->limit == 0) {
        text_add(out, "closed (its limit is 0)");
    } else if (line->database_state) {
        text_add(out, "its database does not answer");
    } else {
        text_add(out, "");
    }
}

void reasons_brief(struct text *brief, const struct reasons_resource *resource)
{
    const struct status_resource *line = resource->line;
    struct text state = TEXT_INIT;
    add_state(&state, line);
    text_add_format(brief, "%s%s", brief->length > 0 ? "; " : "", line->name);
    if (state.length > 0) {
        text_add_format(brief, ": %s", state.bytes);
    } else {
        add_use(brief, resource);
    }
    if (line->kept > 0 && line->kept_for.number < resource->position) {
        text_add_format(brief, " (%llu kept for #%llu)", number(line->kept),
            number(line->kept_for.number));
    }
    text_deinit(&state);
}

static void add_stops(struct text *stops, const struct status_resource *line)
{
    struct text state = TEXT_INIT;
    add_state(&state, line);
    if (state.length > 0) {
        text_add_format(stops, "%s: %s; ", line->name, state.bytes);
    }
    text_deinit(&state);
}

/* ---- a sentence for each thing ---- */

/* "etl has been paused for 4m, by root: new disks" */
static void say_pause(struct reasons *reasons, const struct status_resource *line, uint64_t wall)
{
    const struct shown_decision said = pause_said(line);
    struct text who = TEXT_INIT, age = TEXT_INIT;
    text_add(&who, "");
    add_who(&who, &said);
    if (add_age_of(&age, &said, wall)) {
        reasons_say(reasons, "%s has been paused for %s%s%s", line->name, age.bytes,
            said.by.uid.is_given ? "," : "", who.bytes);
    } else {
        reasons_say(reasons, "%s is paused%s", line->name, who.bytes);
    }
    text_deinit(&who);
    text_deinit(&age);
}

static void say_state(
    struct reasons *reasons, const struct status_resource *line, uint64_t wall)
{
    if (line->paused) {
        say_pause(reasons, line, wall);
    }
    if (line->limit == 0) {
        reasons_say(reasons, "%s is closed: its limit is 0", line->name);
    }
    if (line->database_state) {
        reasons_say(reasons,
            "the database of %s does not answer: only what this host knows is shown", line->name);
    }
}

static void say_use(struct reasons *reasons, const struct reasons_resource *resource)
{
    const struct status_resource *line = resource->line;
    if (resource->first && resource->first->all) {
        reasons_say(reasons, "all of %s is held", line->name);
    } else if (line->limit == 1 && line->in_use == 0) {
        reasons_say(reasons, "nobody holds %s", line->name);
    } else if (line->in_use > line->limit) {
        reasons_say(reasons, "%llu unit%s of %s %s held, %llu above the limit of %llu",
            number(line->in_use), plural(line->in_use), line->name,
            line->in_use == 1 ? "is" : "are", number(line->in_use - line->limit),
            number(line->limit));
    } else if (line->limit > 1) {
        reasons_say(reasons, "%llu of %llu unit%s of %s %s held", number(line->in_use),
            number(line->limit), plural(line->limit), line->name,
            line->in_use == 1 ? "is" : "are");
    }
    if (resource->wants == WANTS_ALL) {
        reasons_say(reasons, "all of %s is wanted: it is granted when nobody holds any of it",
            line->name);
    } else if (resource->wants > line->limit && line->limit > 0) {
        reasons_say(reasons, "%llu units of %s are wanted, and its limit is %llu at present",
            number(resource->wants), line->name, number(line->limit));
    }
}

void reasons_resource(struct reasons *reasons, const struct reasons_resource *resource)
{
    const struct status_resource *line = resource->line;
    reasons_brief(&reasons->brief, resource);
    add_stops(&reasons->stops, line);
    say_state(reasons, line, resource->wall);
    say_use(reasons, resource);
    say_change(reasons, resource);
    reasons_cooling(reasons, resource);
    reasons_rate(reasons, resource);
    if (line->kept > 0 && line->kept_for.number < resource->position) {
        reasons_say(reasons,
            "%llu unit%s of %s %s kept for the request at place %llu, which still needs another resource",
            number(line->kept), plural(line->kept), line->name, line->kept == 1 ? "is" : "are",
            number(line->kept_for.number));
    }
}

void reasons_holder(struct reasons *reasons, const struct reasons_resource *resource,
    const struct status_lease *holder, uint64_t n_units, nanoseconds left)
{
    struct text sentence = TEXT_INIT;
    party_write(&sentence, holder);
    text_add(&sentence, " has held ");
    if (holder->all) {
        text_add(&sentence, "all of ");
    } else if (resource->line->limit > 1) {
        text_add_format(&sentence, "%llu unit%s of ", number(n_units), plural(n_units));
    }
    text_add(&sentence, resource->line->name);
    text_add(&sentence, " for ");
    add_time_since(&sentence, resource, holder);
    if (left != NEVER && !holder->stopping) {
        text_add(&sentence, ", and ends after ");
        text_add_age(&sentence, milliseconds(left));
        text_add(&sentence, " at the latest: max-hold");
    }
    reasons_add_sentence(reasons, sentence.bytes);
    text_deinit(&sentence);
}

void reasons_other_holders(
    struct reasons *reasons, const struct reasons_resource *resource, uint64_t n)
{
    if (n > 0) {
        reasons_say(reasons, "%llu other%s %s units of %s, too", number(n), plural(n),
            n == 1 ? "holds" : "hold", resource->line->name);
    }
}

void reasons_reserved(struct reasons *reasons, const struct reasons_resource *resource,
    const char *unit, const char *reason)
{
    bool is_slot = strcmp(resource->line->kind, "pool") != 0;
    reasons_say(reasons, "%s%s of %s is reserved%s%s", is_slot ? "slot " : "", unit,
        resource->line->name, reason ? ": " : "", reason ? reason : "");
}

/* Why the first one is not granted yet. */
static void add_blocker(struct text *out, const struct status_lease *first)
{
    bool is_quota = first->blocked && strcmp(first->blocked, "quota") == 0;
    bool is_identity = first->blocked && strcmp(first->blocked, "identity") == 0;
    if (first->all) {
        text_add(out, ", and wants all of it");
    } else if (first->wants > 1) {
        text_add_format(out, ", and wants %llu units", number(first->wants));
    }
    if (is_quota) {
        text_add(out, "; its user holds as many units as one user may");
    } else if (is_identity) {
        text_add_format(out, "; another lease has its identity on %s", first->blocker);
    } else if (first->blocked && first->blocker) {
        text_add_format(out, "; it lacks %s", first->blocker);
    }
    text_add(out, first->away ? "; its client is not connected" : "");
}

void reasons_ahead(struct reasons *reasons, const struct reasons_resource *resource,
    const struct reasons_ahead *ahead)
{
    struct text sentence = TEXT_INIT;
    if (ahead->n == 0) {
        return;
    }
    text_add_format(&sentence, "%llu request%s for %s %s ahead", number(ahead->n),
        plural(ahead->n), resource->line->name, ahead->n == 1 ? "is" : "are");
    if (ahead->n_aside > 0 && ahead->n > 1) {
        text_add_format(&sentence, ", %llu of them passed over at present", number(ahead->n_aside));
    } else if (ahead->n_aside > 0) {
        text_add(&sentence, ", and passed over at present");
    }
    if (ahead->first) {
        text_add(&sentence, ahead->n > 1 ? "; the next to go is " : ": ");
        party_write(&sentence, ahead->first);
        text_add(&sentence, ", which has waited for ");
        add_time_since(&sentence, resource, ahead->first);
        add_blocker(&sentence, ahead->first);
    }
    reasons_add_sentence(reasons, sentence.bytes);
    text_deinit(&sentence);
}
