/* watch_limits.c - what `berthctl watch` says of what operators change, and of databases. */
#include "berthctl/watch_events.h"
#include "view/printable.h"

#include <string.h>

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
    watch_line_print(events, line);
}

static void print_limit(struct watch_events *events, const struct status_resource *before,
    const struct status_resource *now)
{
    struct watch_line line = line_about(now, "limit");
    unsigned long long was = before->limit, is = now->limit;
    text_add_format(&line.what, "limit %llu, was %llu", is, was);
    text_add_format(
        &line.sentence, "the limit of %s is now %llu; it was %llu", line.name.bytes, is, was);
    watch_line_print(events, &line);
}

static void print_pause(struct watch_events *events, const struct status_resource *now)
{
    struct watch_line line = line_about(now, "paused");
    text_add(&line.what, "paused");
    text_add_format(&line.sentence, "%s is paused", line.name.bytes);
    if (now->paused_by.uid.is_given) {
        text_add_who(&line.who, &now->paused_by, &now->paused_by_login);
        text_add_format(&line.sentence, " by %s", line.who.bytes);
    }
    print_why(events, &line, now->pause_reason);
}

/* WHAT in the column, "NAME SAYS" as the sentence. */
static void print_plain(struct watch_events *events, const struct status_resource *resource,
    const char *word, const char *what, const char *says)
{
    struct watch_line line = line_about(resource, word);
    text_add(&line.what, what);
    text_add_format(&line.sentence, "%s %s", line.name.bytes, says);
    watch_line_print(events, &line);
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
    if (!watch_is_named(&events->choice, either->name)) {
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
void watch_begun(void *context)
{
    struct watch_events *events = context;
    struct watch_line line = {.json = {.event = "begun"}};
    size_t n = 0;
    for (size_t i = 0; i < live_resource_count(events->live); i++) {
        n += watch_is_named(&events->choice, live_resource_at(events->live, i)->shown.name);
    }
    text_add(&line.name, "-");
    text_add_format(&line.what, "watching %zu resource%s", n, n == 1 ? "" : "s");
    text_add_format(&line.sentence, "reporting every change to %zu resource%s from now on", n,
        n == 1 ? "" : "s");
    watch_line_print(events, &line);
}

void watch_host(void *context, const struct status *before, const struct status *now)
{
    if (now->draining && !before->draining) {
        watch_line_print_host(context, "draining", "draining",
            "this host is being drained, and grants nothing");
    }
    if (before->draining && !now->draining) {
        watch_line_print_host(context, "undrained", "no longer draining",
            "this host is no longer being drained");
    }
}

static bool has_named_resource(const struct watch_events *events, const char *database)
{
    bool has = events->choice.n_names == 0;
    for (size_t i = 0; i < live_resource_count(events->live) && !has; i++) {
        const struct status_resource *resource = &live_resource_at(events->live, i)->shown;
        has = resource->database && strcmp(resource->database, database) == 0 &&
            watch_is_named(&events->choice, resource->name);
    }
    return has;
}

/* What a database that is connecting is called. */
static bool is_between(const struct status_database *database)
{
    return strcmp(database->state, "listing") == 0;
}

static void tell_database(struct watch_events *events, const struct status_database *before,
    const struct status_database *now)
{
    bool is_up = now && strcmp(now->state, "up") == 0;
    if (!before || !now || strcmp(before->state, now->state) == 0 || is_between(now) ||
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

void watch_record(void *context, enum status_line kind, const void *before, const void *now)
{
    if (kind == LINE_DATABASE) {
        tell_database(context, before, now);
    } else {
        tell_resource(context, before, now);
    }
}
