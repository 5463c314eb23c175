#include "berthctl/watch_events.h"

#include "base/pattern.h"
#include "table/cell_text.h"
#include "view/datetime.h"
#include "view/printable.h"

#include <string.h>

/* ---- a line ---- */

struct watch_line {
    struct json_event json; /* .time (0: now) and .text are set when it is printed */
    struct text name, what, who; /* columns, escaped; .who may be empty */
    struct text sentence;
};

enum { NAME_WIDTH = 12, WHAT_WIDTH = 26 }; /* columns of the terminal */

static bool is_named(const struct watch_choice *choice, const char *name)
{
    return patterns_match(choice->names, choice->n_names, name);
}

static void add_column(struct text *out, const struct text *cell, size_t width, bool is_last)
{
    size_t used = text_width(cell->bytes);
    text_add(out, "  ");
    text_add(out, cell->bytes);
    if (!is_last && used < width) {
        text_add_repeated(out, ' ', width - used);
    }
}

static void print_line(struct watch_events *events, struct watch_line *line)
{
    line->json.time = line->json.time != 0 ? line->json.time : events->wall;
    if (events->choice.is_json) {
        line->json.now = live_now(events->live, events->now);
        line->json.text = line->sentence.bytes;
        json_print_event(&line->json, &events->out);
    } else {
        bool has_who = line->who.length > 0;
        text_add_datetime(&events->out, line->json.time, events->wall);
        add_column(&events->out, &line->name, NAME_WIDTH, false);
        add_column(&events->out, &line->what, WHAT_WIDTH, !has_who);
        if (has_who) {
            add_column(&events->out, &line->who, 0, true);
        }
        text_add(&events->out, "\n");
    }
    text_deinit(&line->name);
    text_deinit(&line->what);
    text_deinit(&line->who);
    text_deinit(&line->sentence);
}

static void print_host(
    struct watch_events *events, const char *word, const char *what, const char *sentence)
{
    struct watch_line line = {.json = {.event = word}};
    text_add(&line.name, "-");
    text_add(&line.what, what);
    text_add(&line.sentence, sentence);
    print_line(events, &line);
}

/* ---- leases ---- */

/* "alice on web1 (train, 3f9k)" */
static void add_who(struct text *text, const struct status_lease *lease, bool is_elsewhere)
{
    struct text program = TEXT_INIT;
    text_add_program(&program, lease);
    text_add_user(text, lease->uid);
    if (is_elsewhere && lease->host) {
        text_add_safe(text, " on %s", lease->host);
    }
    text_add_format(text, " (%s%s", program.bytes, program.length > 0 ? ", " : "");
    text_add_safe(text, "%s)", lease->id);
    text_deinit(&program);
}

/* What it holds, or waits for. */
static void add_object(
    struct text *text, const struct status_lease *lease, bool holds, bool is_pool)
{
    if (!holds) {
        text_add_safe(text, "%llu unit%s", (unsigned long long)lease->wants,
            lease->wants == 1 ? "" : "s");
    } else if (lease->units.n > 0) {
        text_add_units(text, &lease->units, is_pool);
    } else {
        text_add(text, "units");
    }
}

/* WORD, WHAT [OBJECT], and the sentence WHO DOES OBJECT of RESOURCE. */
struct lease_words {
    const char *word, *what, *does;
    bool has_object; /* in the column */
};

static void print_lease(struct watch_events *events, const struct live_lease *live, bool holds,
    const struct lease_words *words)
{
    const struct status_resource *resource = &live->resource->shown;
    struct status_lease lease = live->shown; /* borrows all */
    bool is_pool = status_is_pool(resource);
    size_t place = live_lease_place(live);
    if (!is_named(&events->choice, resource->name)) {
        return;
    }
    lease.position = place;
    lease.is_held = holds;
    if (events->choice.find_program && live->state != LIVE_ABSENT) {
        events->choice.find_program(&lease);
    }
    struct watch_line line = {
        .json = {.event = words->word,
            .resource = resource->name,
            .database = resource->database,
            .lease = &lease,
            .is_pool = is_pool},
    };
    text_add_escaped(&line.name, resource->name);
    text_add(&line.what, words->what);
    if (words->has_object) {
        text_add(&line.what, " ");
        add_object(&line.what, &lease, holds, is_pool);
    }
    if (place > 0) {
        text_add_format(&line.what, ", place %zu", place);
    }
    add_who(&line.who, &lease, live->is_elsewhere);
    text_add_format(&line.sentence, "%s %s ", line.who.bytes, words->does);
    add_object(&line.sentence, &lease, holds, is_pool);
    text_add_format(&line.sentence, " of %s", line.name.bytes);
    print_line(events, &line);
}

static void tell_stopping(struct watch_events *events, const struct live_lease *lease)
{
    const char *why = lease->shown.stopping, *before = lease->before.stopping;
    struct text what = TEXT_INIT, does = TEXT_INIT;
    if (!why || (before && strcmp(before, why) == 0)) {
        return;
    }
    text_add_safe(&what, "stopping (%s)", why);
    text_add_safe(&does, "is being stopped (%s), but still holds", why);
    const struct lease_words words = {"stopping", what.bytes, does.bytes, false};
    print_lease(events, lease, true, &words);
    text_deinit(&what);
    text_deinit(&does);
}

static void watch_lease(void *context, const struct live_lease *lease)
{
    static const struct lease_words
        granted = {"granted", "granted", "was granted", true},
        waits = {"waits", "waits for", "waits for", true},
        given_back = {"given-back", "given back", "no longer holds", true},
        left = {"left", "left the queue", "no longer waits for", false};
    struct watch_events *events = context;
    bool held = lease->previous_state == LIVE_HOLDS;
    if (lease->state == lease->previous_state) {
        tell_stopping(events, lease);
    } else if (lease->state != LIVE_ABSENT) {
        bool holds = lease->state == LIVE_HOLDS;
        print_lease(events, lease, holds, holds ? &granted : &waits);
    } else if (!events->choice.with_ended || lease->is_elsewhere) { /* else its end follows */
        print_lease(events, lease, held, held ? &given_back : &left);
    }
}

/* ---- how leases have ended ---- */

static bool is_of_named(const struct watch_choice *choice, const struct past_lease *lease)
{
    bool is_of_one = choice->n_names == 0;
    for (size_t i = 0; i < lease->n_claims && !is_of_one; i++) {
        is_of_one = is_named(choice, lease->claims[i].name);
    }
    return is_of_one;
}

static void watch_ended(void *context, const struct past_lease *lease)
{
    struct watch_events *events = context;
    bool is_one = lease->n_claims == 1 && !lease->has_more_claims, held = lease->held.is_given;
    struct watch_line line = {
        .json = {.event = "ended",
            .resource = is_one ? lease->claims[0].name : NULL,
            .time = (int64_t)lease->ended,
            .database = lease->database,
            .ended = lease},
    };
    if (!events->choice.with_ended || !is_of_named(&events->choice, lease)) {
        return;
    }
    text_add_claims(&line.name, lease);
    text_add(&line.what, held ? "ended: " : "got nothing: ");
    text_add_how(&line.what, lease);
    text_add_who(&line.who, &lease->user, &lease->login);
    const char *program = lease->shown[SHOWN_program];
    text_add_safe(&line.who, " (%s%s%s)", program, program ? ", " : "", lease->id);
    text_add_format(&line.sentence, "%s %s %s: ", line.who.bytes,
        held ? "no longer holds anything of" : "got nothing of", line.name.bytes);
    text_add_how(&line.sentence, lease);
    print_line(events, &line);
}

static void watch_missed(void *context)
{
    print_host(context, "missed", "more leases have ended",
        "more leases have ended than are shown here");
}

/* ---- resources: what operators change ---- */

static struct watch_line line_about(const struct status_resource *resource, const char *word)
{
    struct watch_line line = {
        .json = {.event = word, .resource = resource->name, .database = resource->database}};
    text_add_escaped(&line.name, resource->name);
    return line;
}

/* With the reason; NULL: there is none. */
static void print_why(struct watch_events *events, struct watch_line *line, const char *reason)
{
    if (reason) {
        text_add_safe(&line->what, ": %s", reason);
        text_add_safe(&line->sentence, ": %s", reason);
    }
    print_line(events, line);
}

/* With who has done it, where and why. */
static void print_said(
    struct watch_events *events, struct watch_line *line, const struct shown_decision *said)
{
    if (said->by.uid.is_given) {
        text_add_who(&line->who, &said->by, &said->login);
        if (said->host) {
            text_add_safe(&line->who, " on %s", said->host);
        }
        text_add_format(&line->sentence, " by %s", line->who.bytes);
    }
    print_why(events, line, said->reason);
}

static void print_limit(struct watch_events *events, const struct status_resource *before,
    const struct status_resource *now)
{
    const struct shown_decision said = change_said(now);
    struct watch_line line = line_about(now, "limit");
    unsigned long long was = before->limit, is = now->limit;
    text_add_format(&line.what, "limit %llu, was %llu", is, was);
    text_add_format(
        &line.sentence, "the limit of %s is now %llu; it was %llu", line.name.bytes, is, was);
    text_add(&line.sentence, said.by.uid.is_given ? "; changed" : "");
    print_said(events, &line, &said);
}

static void print_pause(struct watch_events *events, const struct status_resource *now)
{
    const struct shown_decision said = pause_said(now);
    struct watch_line line = line_about(now, "paused");
    text_add(&line.what, "paused");
    text_add_format(&line.sentence, "%s is paused", line.name.bytes);
    print_said(events, &line, &said);
}

/* WHAT in the column, "NAME SAYS" as the sentence. */
static void print_plain(struct watch_events *events, const struct status_resource *resource,
    const char *word, const char *what, const char *says)
{
    struct watch_line line = line_about(resource, word);
    text_add(&line.what, what);
    text_add_format(&line.sentence, "%s %s", line.name.bytes, says);
    print_line(events, &line);
}

static void print_differences(struct watch_events *events, const struct status_resource *before,
    const struct status_resource *now)
{
    if (before->limit != now->limit) {
        print_limit(events, before, now);
    }
    if (now->paused && !before->paused) {
        print_pause(events, now);
    }
    if (before->paused && !now->paused) {
        print_plain(events, now, "resumed", "resumed", "has been resumed");
    }
}

/* ---- items ---- */

static void print_reserved(struct watch_events *events, const struct status_resource *resource,
    const char *item, bool is_reserved)
{
    struct watch_line line = line_about(resource, is_reserved ? "reserved" : "unreserved");
    const char *unit = status_is_pool(resource) ? "item" : "slot",
               *reason = is_reserved ? status_reserve_reason(resource, item) : NULL;
    text_add_safe(&line.what, "%s%s", is_reserved ? "reserved " : "no longer reserved: ", item);
    text_add_safe(&line.sentence, "%s %s of %s is %s", unit, item, resource->name,
        is_reserved ? "reserved" : "no longer reserved");
    print_why(events, &line, reason);
}

/* Those of `some` that are not among `others`. */
static void print_reserves(struct watch_events *events, const struct status_resource *resource,
    const struct words *some, const struct words *others, bool are_reserved)
{
    for (size_t i = 0; i < some->n; i++) {
        if (!words_contain(others, some->list[i])) {
            print_reserved(events, resource, some->list[i], are_reserved);
        }
    }
}

/* ---- records ---- */

/* Or a template: it has no .template, and is never .removed. */
static void tell_resource(struct watch_events *events, const struct status_resource *before,
    const struct status_resource *now)
{
    const struct status_resource *either = now ? now : before;
    if (!is_named(&events->choice, either->name)) {
        return;
    }
    if (!before || !now) {
        if (!either->template) { /* instances come and go with their leases */
            print_plain(events, either, now ? "new" : "removed", now ? "new" : "removed",
                now ? "is new" : "is gone");
        }
        return;
    }
    if (now->database_state || before->database_state) {
        return; /* these are figures of this host alone */
    }
    if (now->removed && !before->removed) {
        print_plain(events, now, "removing", "removed, still held",
            "is no longer in the file and disappears once nobody holds it");
    }
    print_differences(events, before, now);
    print_reserves(events, now, &now->reserved, &before->reserved, true);
    print_reserves(events, now, &before->reserved, &now->reserved, false);
}

/* ---- what is not a resource ---- */

/* Who follows knows from then on that it misses nothing. */
static void watch_begun(void *context)
{
    struct watch_events *events = context;
    struct watch_line line = {.json = {.event = "begun"}};
    size_t n = 0;
    for (size_t i = 0; i < live_resource_count(events->live); i++) {
        n += is_named(&events->choice, live_resource_at(events->live, i)->shown.name);
    }
    text_add(&line.name, "-");
    text_add_format(&line.what, "watching %zu resource%s", n, n == 1 ? "" : "s");
    text_add_format(&line.sentence, "reporting every change to %zu resource%s from now on", n,
        n == 1 ? "" : "s");
    print_line(events, &line);
}

static void watch_host(void *context, const struct status *before, const struct status *now)
{
    if (now->draining && !before->draining) {
        const struct shown_decision said = drain_said(now);
        struct watch_line line = {.json = {.event = "draining"}};
        text_add(&line.name, "-");
        text_add(&line.what, "draining");
        text_add(&line.sentence, "this host is being drained, and grants nothing");
        print_said(context, &line, &said);
    }
    if (before->draining && !now->draining) {
        print_host(context, "undrained", "no longer draining",
            "this host is no longer being drained");
    }
}

static bool has_named_resource(const struct watch_events *events, const char *database)
{
    bool has = events->choice.n_names == 0;
    for (size_t i = 0; i < live_resource_count(events->live) && !has; i++) {
        const struct status_resource *resource = &live_resource_at(events->live, i)->shown;
        has = resource->database && strcmp(resource->database, database) == 0 &&
            is_named(&events->choice, resource->name);
    }
    return has;
}

static void tell_database(struct watch_events *events, const struct status_database *before,
    const struct status_database *now)
{
    bool is_up = now && strcmp(now->state, "up") == 0;
    if (!before || !now || strcmp(before->state, now->state) == 0 ||
        strcmp(now->state, "listing") == 0 || /* it is connecting */
        !has_named_resource(events, now->name)) {
        return;
    }
    struct watch_line line = {
        .json = {.event = is_up ? "database-up" : "database-down", .database = now->name}};
    text_add_escaped(&line.name, now->name);
    text_add_safe(&line.what, "database %s", now->state);
    text_add_safe(&line.sentence, "database %s is %s", now->name, now->state);
    print_why(events, &line, is_up ? NULL : now->why);
}

static void watch_record(void *context, enum status_line kind, const void *before, const void *now)
{
    if (kind == LINE_DATABASE) {
        tell_database(context, before, now);
    } else {
        tell_resource(context, before, now);
    }
}

/* ---- which names ---- */

static bool could_be(const struct status *status, const char *name)
{
    bool could = false;
    for (size_t i = 0; i < status->n_templates && !could; i++) {
        could = pattern_matches(status->templates[i].name, name);
    }
    return could;
}

const char *watch_events_unknown(const struct watch_events *events)
{
    const struct status *status = live_status(events->live, events->now);
    for (size_t i = 0; i < events->choice.n_names; i++) {
        const char *name = events->choice.names[i];
        bool is_known = strchr(name, '*')
            ? pattern_is_valid(name)
            : live_resource_find(events->live, name) || could_be(status, name);
        if (!is_known) {
            return name;
        }
    }
    return NULL;
}

/* ---- life ---- */

void watch_events_init(
    struct watch_events *events, struct live *live, const struct watch_choice *choice)
{
    *events = (struct watch_events){
        .choice = *choice,
        .live = live,
        .watcher =
            {
                .context = events,
                .begun = watch_begun,
                .host = watch_host,
                .record = watch_record,
                .lease = watch_lease,
                .ended = watch_ended,
                .missed = watch_missed,
            },
    };
    live_watch(live, &events->watcher);
}
