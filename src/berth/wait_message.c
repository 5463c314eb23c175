#include "berth/wait_message.h"

#include "base/words.h"
#include "client/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *value_of(const struct answer *answer, const char *key)
{
    return words_find(answer->words, answer->n_words, key);
}

static uint64_t number_of(const struct answer *answer, const char *key)
{
    uint64_t number;
    const char *value = value_of(answer, key);
    return value && number_parse(value, INT64_MAX, &number) ? number : 0;
}

static void append_age(char *out, size_t size, uint64_t milliseconds)
{
    char age[32];
    age_format(age, sizeof age, milliseconds);
    append(out, size, "%s", age);
}

/* "NAME: this, that": what precedes the next remark about the resource. */
static const char *separator(struct wait_message *wait_message)
{
    return wait_message->resource.n_said++ == 0 ? ": " : ", ";
}

static void append_units(struct wait_message *wait_message, uint64_t n, const char *what)
{
    if (n > 0) {
        append(wait_message->line, sizeof wait_message->line, "%s%llu %s", separator(wait_message),
            (unsigned long long)n, what);
    }
}

static void append_use(struct wait_message *wait_message)
{
    char *line = wait_message->line;
    size_t size = sizeof wait_message->line;
    const char *others = wait_message->resource.n_holders > 1 ? ", and others" : "";
    if (wait_message->resource.limit > 1 || wait_message->resource.wants > 1) {
        append(line, size, "%s%llu of %llu held%s%s", separator(wait_message),
            (unsigned long long)wait_message->resource.in_use,
            (unsigned long long)wait_message->resource.limit, wait_message->resource.held, others);
    } else if (wait_message->resource.n_holders > 0) {
        append(line, size, "%sheld%s", separator(wait_message), wait_message->resource.held);
    }
    append_units(wait_message, wait_message->resource.cooling, "cooling down");
    append_units(wait_message, wait_message->resource.reserved, "reserved");
    if (wait_message->resource.wants > 1) {
        append_units(wait_message, wait_message->resource.wants, "wanted");
    }
}

/* Puts the resource that has been read into the line. */
static void end_resource(struct wait_message *wait_message)
{
    if (!wait_message->resource.name[0]) {
        return;
    }
    append(wait_message->line, sizeof wait_message->line, "%s%s", wait_message->line[0] ? "; " : "",
        wait_message->resource.name);
    if (wait_message->resource.state[0]) {
        append(wait_message->line, sizeof wait_message->line, ": %s", wait_message->resource.state);
        append(wait_message->stops, sizeof wait_message->stops, "%s: %s; ",
            wait_message->resource.name, wait_message->resource.state);
    } else {
        append_use(wait_message);
    }
    if (wait_message->resource.kept > 0 &&
        wait_message->resource.keeper < wait_message->resource.position) {
        append(wait_message->line, sizeof wait_message->line, " (%llu kept for #%llu)",
            (unsigned long long)wait_message->resource.kept,
            (unsigned long long)wait_message->resource.keeper);
    }
    wait_message->resource.name[0] = '\0';
}

/* Takes the first line, `ok`. */
static void take_host(struct wait_message *wait_message, const struct answer *answer)
{
    if (number_of(answer, "draining")) {
        snprintf(wait_message->why, sizeof wait_message->why, "; this host is being drained");
        append(wait_message->stops, sizeof wait_message->stops, "drain; ");
    }
}

/* The databases' lines come before the resources'. */
static void take_database(struct wait_message *wait_message, const struct answer *answer)
{
    uint64_t grace = number_of(answer, "grace");
    if (grace > wait_message->grace && answer->n_words > 1) {
        wait_message->grace = grace;
        snprintf(wait_message->grace_of, sizeof wait_message->grace_of, "%s",
            message_decoded(answer->words[1]));
    }
}

static void take_grace(struct wait_message *wait_message, const struct answer *answer)
{
    const char *database = value_of(answer, "database");
    if (database && wait_message->grace > 0 && strcmp(database, wait_message->grace_of) == 0) {
        snprintf(wait_message->why, sizeof wait_message->why,
            "; its database is new or has lost its data, and grants nothing for %llus",
            (unsigned long long)(wait_message->grace + 999) / 1000);
        append(wait_message->stops, sizeof wait_message->stops, "grace; ");
    }
}

/* Counts the items of a pool, of which one may be called "3-7"; of others, slots and ranges of
 * slots. "..." marks a list that was cut, and counts as one. */
static uint64_t count_reserved(const struct answer *answer)
{
    uint64_t n = 0;
    const char *kind = value_of(answer, "kind");
    bool is_pool = kind && strcmp(kind, "pool") == 0;
    for (const char *list = value_of(answer, "reserved"); list;) {
        size_t length = strcspn(list, ",");
        uint64_t first = 0, last = 0;
        bool is_range = !is_pool && range_parse(list, length, INT32_MAX, &first, &last);
        n += is_range ? last - first + 1 : 1;
        list = list[length] ? list + length + 1 : NULL;
    }
    return n;
}

/* Why the resource grants nothing to anybody. */
static void take_state(struct wait_message *wait_message, const struct answer *answer)
{
    char *out = wait_message->resource.state;
    size_t size = sizeof wait_message->resource.state;
    if (number_of(answer, "paused")) {
        char *reason = value_of(answer, "reason");
        append(out, size, "paused%s%s%s", reason ? " (" : "", message_decoded(reason),
            reason ? ")" : "");
    } else if (wait_message->resource.limit == 0) {
        append(out, size, "closed (its limit is 0)");
    } else if (value_of(answer, "database_state")) {
        append(out, size, "its database does not answer");
    }
}

static void take_resource(struct wait_message *wait_message, const struct answer *answer)
{
    end_resource(wait_message);
    if (answer->n_words < 2) {
        return;
    }
    memset(&wait_message->resource, 0, sizeof wait_message->resource);
    snprintf(wait_message->resource.name, sizeof wait_message->resource.name, "%s",
        message_decoded(answer->words[1]));
    wait_message->resource.limit = number_of(answer, "limit");
    wait_message->resource.in_use = number_of(answer, "in_use");
    wait_message->resource.kept = number_of(answer, "kept");
    wait_message->resource.keeper = number_of(answer, "keeper");
    wait_message->resource.cooling = number_of(answer, "cooling");
    wait_message->resource.reserved = count_reserved(answer);
    take_state(wait_message, answer);
    take_grace(wait_message, answer);
}

static void take_holder(struct wait_message *wait_message, const struct answer *answer)
{
    char *out = wait_message->resource.held;
    size_t size = sizeof wait_message->resource.held;
    if (wait_message->resource.n_holders++ > 0) {
        return; /* in host scope the first one has held it for longest */
    }
    char *holder = value_of(answer, "holder");
    char *program = value_of(answer, "program");
    char *host = value_of(answer, "host");
    append(out, size, " by ");
    if (holder) {
        append(out, size, "%s, ", message_decoded(holder));
    }
    append(out, size, "pid %llu", (unsigned long long)number_of(answer, "pid"));
    if (host) {
        append(out, size, " on %s", message_decoded(host));
    }
    append(out, size, " (");
    if (program) {
        append(out, size, "%s, ", message_decoded(program));
    }
    append(out, size, "uid %llu) for ", (unsigned long long)number_of(answer, "uid"));
    append_age(out, size, number_of(answer, "age"));
}

static void take_blocker(struct wait_message *wait_message, const struct answer *answer)
{
    const char *blocked = value_of(answer, "blocked");
    char *blocker = value_of(answer, "blocker");
    if (blocked && strcmp(blocked, "quota") == 0) {
        snprintf(wait_message->why, sizeof wait_message->why,
            "; you hold as many units as one user may");
    } else if (blocked && blocker && strcmp(blocker, wait_message->resource.name) != 0) {
        snprintf(
            wait_message->why, sizeof wait_message->why, "; lacks %s", message_decoded(blocker));
    }
}

static void take_waiter(struct wait_message *wait_message, const struct answer *answer)
{
    uint64_t position = number_of(answer, "position");
    if (answer->n_words > 1 && strcmp(answer->words[1], wait_message->lease) == 0) {
        wait_message->resource.position = position;
        wait_message->resource.wants = number_of(answer, "wants");
        wait_message->position =
            position > wait_message->position ? position : wait_message->position;
        take_blocker(wait_message, answer);
    }
}

static const struct {
    const char *word;
    void (*take)(struct wait_message *wait_message, const struct answer *answer);
} line_table[] = {
    {"ok", take_host},
    {"database", take_database},
    {"resource", take_resource},
    {"holder", take_holder},
    {"waiter", take_waiter},
};

static void end_message(struct wait_message *wait_message)
{
    char *line = wait_message->line;
    size_t size = sizeof wait_message->line;
    end_resource(wait_message);
    if (wait_message->position > 0) { /* else its place is not known yet */
        append(line, size, "; place %llu in the queue", (unsigned long long)wait_message->position);
    }
    append(line, size, "%s", wait_message->why);
}

void wait_message_begin(struct wait_message *wait_message, const char *lease)
{
    *wait_message = (struct wait_message){.lease = lease};
}

enum wait_message_state wait_message_take(
    struct wait_message *wait_message, const struct answer *answer)
{
    const char *word = answer->n_words > 0 ? answer->words[0] : "";
    for (size_t i = 0; i < sizeof line_table / sizeof line_table[0]; i++) {
        if (strcmp(word, line_table[i].word) == 0) {
            line_table[i].take(wait_message, answer);
        }
    }
    if (answer->kind == ANSWER_ERROR) {
        return WAIT_MESSAGE_NONE;
    }
    if (strcmp(word, "end") != 0) {
        return WAIT_MESSAGE_GOES_ON;
    }
    end_message(wait_message);
    return WAIT_MESSAGE_COMPLETE;
}
