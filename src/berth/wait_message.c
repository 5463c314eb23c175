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

/* Two units at most: people compare, they do not calculate. */
static void append_age(char *out, size_t size, uint64_t milliseconds)
{
    uint64_t seconds = milliseconds / 1000;
    if (seconds < 60) {
        append(out, size, "%llus", (unsigned long long)seconds);
    } else if (seconds < 3600) {
        append(
            out, size, "%llum%02us", (unsigned long long)(seconds / 60), (unsigned)(seconds % 60));
    } else if (seconds < 2 * 86400) {
        append(out, size, "%lluh%02um", (unsigned long long)(seconds / 3600),
            (unsigned)(seconds / 60 % 60));
    } else {
        append(out, size, "%llud%02uh", (unsigned long long)(seconds / 86400),
            (unsigned)(seconds / 3600 % 24));
    }
}

/* The resource that has been read goes into the line. */
static void end_resource(struct wait_message *wait_message)
{
    if (!wait_message->resource.name[0]) {
        return;
    }
    const char *others = wait_message->resource.n_holders > 1 ? ", and others" : "";
    append(wait_message->line, sizeof wait_message->line, "%s%s", wait_message->line[0] ? "; " : "",
        wait_message->resource.name);
    if (wait_message->resource.state) {
        append(wait_message->line, sizeof wait_message->line, ": %s", wait_message->resource.state);
    } else if (wait_message->resource.limit > 1) {
        append(wait_message->line, sizeof wait_message->line, ": %llu of %llu held%s%s",
            (unsigned long long)wait_message->resource.in_use,
            (unsigned long long)wait_message->resource.limit, wait_message->resource.held, others);
    } else if (wait_message->resource.n_holders > 0) {
        append(
            wait_message->line, sizeof wait_message->line, ": held%s", wait_message->resource.held);
    }
    if (wait_message->resource.kept > 0 &&
        wait_message->resource.keeper < wait_message->resource.position) {
        append(wait_message->line, sizeof wait_message->line, " (%llu kept for #%llu)",
            (unsigned long long)wait_message->resource.kept,
            (unsigned long long)wait_message->resource.keeper);
    }
    wait_message->resource.name[0] = '\0';
}

/* `ok`, the first line. */
static void take_host(struct wait_message *wait_message, const struct answer *answer)
{
    if (number_of(answer, "draining")) {
        snprintf(wait_message->why, sizeof wait_message->why, "; this host is being drained");
    }
}

/* They come before the resources. */
static void take_database(struct wait_message *wait_message, const struct answer *answer)
{
    uint64_t grace = number_of(answer, "grace");
    if (grace > wait_message->grace && answer->n_words > 1) {
        wait_message->grace = grace;
        snprintf(wait_message->grace_of, sizeof wait_message->grace_of, "%s",
            message_clean(answer->words[1]));
    }
}

static void take_grace(struct wait_message *wait_message, const struct answer *answer)
{
    const char *database = value_of(answer, "database");
    if (database && wait_message->grace > 0 && strcmp(database, wait_message->grace_of) == 0) {
        snprintf(wait_message->why, sizeof wait_message->why,
            "; its database is new or has lost its data, and grants nothing for %llus",
            (unsigned long long)(wait_message->grace + 999) / 1000);
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
        message_clean(answer->words[1]));
    wait_message->resource.limit = number_of(answer, "limit");
    wait_message->resource.in_use = number_of(answer, "in_use");
    wait_message->resource.kept = number_of(answer, "kept");
    wait_message->resource.keeper = number_of(answer, "keeper");
    if (number_of(answer, "paused")) {
        wait_message->resource.state = "paused";
    } else if (wait_message->resource.limit == 0) {
        wait_message->resource.state = "closed";
    } else if (value_of(answer, "database_state")) {
        wait_message->resource.state = "its database does not answer";
    }
    take_grace(wait_message, answer);
}

static void take_holder(struct wait_message *wait_message, const struct answer *answer)
{
    char *out = wait_message->resource.held;
    size_t size = sizeof wait_message->resource.held;
    if (wait_message->resource.n_holders++ > 0) {
        return; /* in host scope the first has held it for longest */
    }
    char *holder = value_of(answer, "holder");
    char *program = value_of(answer, "program");
    char *host = value_of(answer, "host");
    append(out, size, " by ");
    if (holder) {
        append(out, size, "%s, ", message_clean(holder));
    }
    append(out, size, "pid %llu", (unsigned long long)number_of(answer, "pid"));
    if (host) {
        append(out, size, " on %s", message_clean(host));
    }
    append(out, size, " (");
    if (program) {
        append(out, size, "%s, ", message_clean(program));
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
    } else if (blocked && blocker) {
        snprintf(wait_message->why, sizeof wait_message->why, "; lacks %s", message_clean(blocker));
    }
}

static void take_waiter(struct wait_message *wait_message, const struct answer *answer)
{
    uint64_t position = number_of(answer, "position");
    if (answer->n_words > 1 && strcmp(answer->words[1], wait_message->lease) == 0) {
        wait_message->resource.position = position;
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

bool wait_message_take(struct wait_message *wait_message, const struct answer *answer)
{
    const char *word = answer->n_words > 0 ? answer->words[0] : "";
    for (size_t i = 0; i < sizeof line_table / sizeof line_table[0]; i++) {
        if (strcmp(word, line_table[i].word) == 0) {
            line_table[i].take(wait_message, answer);
        }
    }
    if (answer->kind == ANSWER_ERROR) {
        return true;
    }
    if (strcmp(word, "end") != 0) {
        return false;
    }
    end_resource(wait_message);
    if (wait_message->position > 0) {
        message("waiting for %s; place %llu in the queue%s", wait_message->line,
            (unsigned long long)wait_message->position, wait_message->why);
    } else {
        message("waiting for %s%s", wait_message->line,
            wait_message->why); /* its place is not known yet */
    }
    return true;
}
