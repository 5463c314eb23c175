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
static void end_resource(struct waiting *waiting)
{
    if (!waiting->resource.name[0]) {
        return;
    }
    const char *others = waiting->resource.n_holders > 1 ? ", and others" : "";
    append(waiting->line, sizeof waiting->line, "%s%s", waiting->line[0] ? "; " : "",
        waiting->resource.name);
    if (waiting->resource.state) {
        append(waiting->line, sizeof waiting->line, ": %s", waiting->resource.state);
    } else if (waiting->resource.limit > 1) {
        append(waiting->line, sizeof waiting->line, ": %llu of %llu held%s%s",
            (unsigned long long)waiting->resource.in_use,
            (unsigned long long)waiting->resource.limit, waiting->resource.held, others);
    } else if (waiting->resource.n_holders > 0) {
        append(waiting->line, sizeof waiting->line, ": held%s", waiting->resource.held);
    }
    if (waiting->resource.kept > 0 && waiting->resource.keeper < waiting->resource.position) {
        append(waiting->line, sizeof waiting->line, " (%llu kept for #%llu)",
            (unsigned long long)waiting->resource.kept,
            (unsigned long long)waiting->resource.keeper);
    }
    waiting->resource.name[0] = '\0';
}

/* `ok`, the first line. */
static void take_host(struct waiting *waiting, const struct answer *answer)
{
    if (number_of(answer, "draining")) {
        snprintf(waiting->why, sizeof waiting->why, "; this host is being drained");
    }
}

/* They come before the resources. */
static void take_database(struct waiting *waiting, const struct answer *answer)
{
    uint64_t grace = number_of(answer, "grace");
    if (grace > waiting->grace && answer->n_words > 1) {
        waiting->grace = grace;
        snprintf(
            waiting->grace_of, sizeof waiting->grace_of, "%s", message_clean(answer->words[1]));
    }
}

static void take_grace(struct waiting *waiting, const struct answer *answer)
{
    const char *database = value_of(answer, "database");
    if (database && waiting->grace > 0 && strcmp(database, waiting->grace_of) == 0) {
        snprintf(waiting->why, sizeof waiting->why,
            "; its database is new or has lost its data, and grants nothing for %llus",
            (unsigned long long)(waiting->grace + 999) / 1000);
    }
}

static void take_resource(struct waiting *waiting, const struct answer *answer)
{
    end_resource(waiting);
    if (answer->n_words < 2) {
        return;
    }
    memset(&waiting->resource, 0, sizeof waiting->resource);
    snprintf(waiting->resource.name, sizeof waiting->resource.name, "%s",
        message_clean(answer->words[1]));
    waiting->resource.limit = number_of(answer, "limit");
    waiting->resource.in_use = number_of(answer, "in_use");
    waiting->resource.kept = number_of(answer, "kept");
    waiting->resource.keeper = number_of(answer, "keeper");
    if (number_of(answer, "paused")) {
        waiting->resource.state = "paused";
    } else if (waiting->resource.limit == 0) {
        waiting->resource.state = "closed";
    } else if (value_of(answer, "database_state")) {
        waiting->resource.state = "its database does not answer";
    }
    take_grace(waiting, answer);
}

static void take_holder(struct waiting *waiting, const struct answer *answer)
{
    char *out = waiting->resource.held;
    size_t size = sizeof waiting->resource.held;
    if (waiting->resource.n_holders++ > 0) {
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

static void take_blocker(struct waiting *waiting, const struct answer *answer)
{
    const char *blocked = value_of(answer, "blocked");
    char *blocker = value_of(answer, "blocker");
    if (blocked && strcmp(blocked, "quota") == 0) {
        snprintf(waiting->why, sizeof waiting->why, "; you hold as many units as one user may");
    } else if (blocked && blocker) {
        snprintf(waiting->why, sizeof waiting->why, "; lacks %s", message_clean(blocker));
    }
}

static void take_waiter(struct waiting *waiting, const struct answer *answer)
{
    uint64_t position = number_of(answer, "position");
    if (answer->n_words > 1 && strcmp(answer->words[1], waiting->lease) == 0) {
        waiting->resource.position = position;
        waiting->position = position > waiting->position ? position : waiting->position;
        take_blocker(waiting, answer);
    }
}

static const struct {
    const char *word;
    void (*take)(struct waiting *waiting, const struct answer *answer);
} line_table[] = {
    {"ok", take_host},
    {"database", take_database},
    {"resource", take_resource},
    {"holder", take_holder},
    {"waiter", take_waiter},
};

bool waiting_take(struct waiting *waiting, const struct answer *answer)
{
    const char *word = answer->n_words > 0 ? answer->words[0] : "";
    for (size_t i = 0; i < sizeof line_table / sizeof line_table[0]; i++) {
        if (strcmp(word, line_table[i].word) == 0) {
            line_table[i].take(waiting, answer);
        }
    }
    if (answer->kind == ANSWER_ERROR) {
        return true;
    }
    if (strcmp(word, "end") != 0) {
        return false;
    }
    end_resource(waiting);
    if (waiting->position > 0) {
        message("waiting for %s; place %llu in the queue%s", waiting->line,
            (unsigned long long)waiting->position, waiting->why);
    } else {
        message("waiting for %s%s", waiting->line, waiting->why); /* its place is not known yet */
    }
    return true;
}
