#include "client/request.h"

#include "wire/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Lets `length` grow beyond the buffer, so that one check at the end is enough. */
static void __attribute__((format(printf, 2, 3)))
request_add(struct request_line *line, const char *format, ...)
{
    if (line->length >= sizeof line->text) {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    int n =
        vsnprintf(line->text + line->length, sizeof line->text - line->length, format, arguments);
    va_end(arguments);
    line->length += n > 0 ? (size_t)n : 0;
}

static void request_add_text(struct request_line *line, enum request_key key, const char *text)
{
    if (!text || line->length >= sizeof line->text) {
        return;
    }
    request_add(line, " %s=", request_key_words[key]);
    if (line->length < sizeof line->text) {
        line->length +=
            percent_encode(line->text + line->length, sizeof line->text - line->length, text);
    }
}

static bool request_end(struct request_line *line)
{
    request_add(line, "\n");
    return line->length <= LINE_BYTES;
}

static void request_begin(struct request_line *line, enum command_index command)
{
    line->length = 0;
    request_add(line, "%s", command_table[command].word);
}

/* The last part of the command's path; status shows it. */
static void request_add_program(struct request_line *line, const char *command)
{
    const char *slash = strrchr(command, '/');
    char program[PROGRAM_BYTES + 1];
    snprintf(program, sizeof program, "%s", slash ? slash + 1 : command);
    if (program[0]) {
        request_add_text(line, KEY_INDEX_program, program);
    }
}

/* Rounded up to milliseconds: a wait that is not over must not become "do not wait". */
static void request_add_wait(struct request_line *line, nanoseconds wait)
{
    if (wait != NEVER) {
        request_add(line, " wait=%lldms",
            (long long)((wait + NANOSECONDS_PER_MILLISECOND - 1) / NANOSECONDS_PER_MILLISECOND));
    }
}

bool request_acquire(struct request_line *line, const struct options *options, nanoseconds wait,
    pid_t job, const char *parent)
{
    uint64_t id;
    request_begin(line, COMMAND_acquire);
    for (size_t i = 0; i < options->n_wanted; i++) {
        const struct wanted *wanted = &options->wanted[i];
        request_add(
            line, " %.*s:%lu", wanted->name_length, wanted->name, (unsigned long)wanted->count);
    }
    request_add_wait(line, wait);
    if (options->priority != 0) {
        request_add(line, " priority=%d", options->priority);
    }
    request_add_text(line, KEY_INDEX_holder, options->holder);
    request_add_text(line, KEY_INDEX_reason, options->reason);
    request_add_program(line, options->command[0]);
    request_add(line, " pid=%ld", (long)job);
    if (parent && lease_id_parse(parent, &id)) {
        request_add_text(line, KEY_INDEX_parent, parent);
    }
    return request_end(line);
}

void request_release_lease(struct request_line *line, const char *lease)
{
    request_begin(line, COMMAND_release);
    request_add(line, " %s", lease);
    request_end(line);
}

void request_status(struct request_line *line, const char *lease)
{
    request_begin(line, COMMAND_status);
    request_add(line, " lease=%s", lease);
    request_end(line);
}

bool request_release(struct request_line *line, const struct options *options)
{
    request_begin(line, COMMAND_release);
    request_add(line, " %s", options->lease);
    request_add_text(line, KEY_INDEX_holder, options->holder);
    request_add_text(line, KEY_INDEX_item, options->item);
    return request_end(line);
}
