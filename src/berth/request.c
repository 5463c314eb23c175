#include "berth/request.h"

#include "base/words.h"

#include <assert.h>
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
    request_add(line, " %s=", request_key_table[key].word);
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

/* The last part of the command's path, which status shows. */
static void request_add_program(struct request_line *line, const struct options *options)
{
    const char *command = options->command ? options->command[0] : "";
    const char *slash = strrchr(command, '/');
    char program[PROGRAM_BYTES + 1];
    snprintf(program, sizeof program, "%s", slash ? slash + 1 : command);
    if (program[0]) {
        request_add_text(line, KEY_INDEX_program, program);
    }
}

/* Adds nothing for NEVER. Rounds up to milliseconds: a wait that is not over must not become "do
 * not wait". */
static void request_add_span(struct request_line *line, enum request_key key, nanoseconds span)
{
    if (span != NEVER) {
        request_add(line, " %s=%lldms", request_key_table[key].word,
            (long long)((span + NANOSECONDS_PER_MILLISECOND - 1) / NANOSECONDS_PER_MILLISECOND));
    }
}

/* What a request may include as long as it fits. */
enum {
    WITH_TEXTS = 1, /* what only people read */
    WITH_NAMES = 2, /* what berthd needs if it does not know the lease, and rarely even then */
    WITH_UNITS = 4, /* what berthd needs if it does not know the lease, and the proof */
};

static void request_add_keys(
    struct request_line *line, const struct acquire_params *params, unsigned with)
{
    const struct options *options = params->options;
    uint64_t id;
    if (options->priority != 0) {
        request_add(line, " priority=%d", options->priority);
    }
    if (with & WITH_TEXTS) {
        request_add_text(line, KEY_INDEX_reason, options->reason);
        request_add_program(line, options);
    }
    if (with & WITH_NAMES) {
        request_add_text(line, KEY_INDEX_holder, options->holder);
        if (options->replace != REPLACE_NOTHING) {
            request_add_text(line, KEY_INDEX_replace, replace_words[options->replace]);
        }
        request_add_text(line, KEY_INDEX_share, options->share);
        request_add(line, " once=%016llx", (unsigned long long)params->once);
        if (params->parent && lease_id_parse(params->parent, &id)) {
            request_add_text(line, KEY_INDEX_parent, params->parent);
        }
    }
    if (params->pid != 0) {
        request_add(line, " pid=%ld", (long)params->pid);
    }
    if (params->wrapper != 0) {
        request_add(line, " wrapper=%ld", (long)params->wrapper);
    }
    if (options->signal != 0) {
        request_add(line, " signal=%d", options->signal);
    }
    request_add_span(line, KEY_INDEX_kill_after, options->kill_after);
    if (options->on_lost != ON_LOST_NOT_SAID) {
        request_add_text(line, KEY_INDEX_on_lost, on_lost_words[options->on_lost]);
    }
    if (options->nested != NESTED_NOT_SAID) {
        request_add_text(line, KEY_INDEX_nested, nested_words[options->nested]);
    }
}

static void request_add_wanted(
    struct request_line *line, const struct options *options, const struct grant *grant)
{
    for (size_t i = 0; i < options->n_wanted; i++) {
        const struct wanted *wanted = &options->wanted[i];
        request_add(line, " %.*s:", wanted->name_length, wanted->name);
        if (wanted->how) {
            request_add(line, "%s", wanted->how);
        } else {
            uint32_t count = grant ? grant->granted[i].count : wanted->count;
            request_add(line, "%lu", (unsigned long)count);
        }
        if (grant) {
            request_add(line, ":%s", grant->granted[i].units);
        }
    }
}

void acquire_params_take_proof(struct acquire_params *params, const struct answer *answer)
{
    const char *proof = words_find(answer->words, answer->n_words, "proof");
    if (proof && strlen(proof) < sizeof params->proof) {
        strcpy(params->proof, proof);
    }
}

/* `ttl` is no key of a reclaim: a lease bound to time repeats the acquire. */
bool request_acquire(
    struct request_line *line, const struct acquire_params *params, nanoseconds wait)
{
    request_begin(line, COMMAND_acquire);
    request_add_wanted(line, params->options, NULL);
    request_add_span(line, KEY_INDEX_wait, wait);
    request_add_span(line, KEY_INDEX_ttl, params->options->ttl);
    request_add_keys(line, params, WITH_TEXTS | WITH_NAMES);
    return request_end(line);
}

void request_reclaim(struct request_line *line, const struct acquire_params *params,
    const char *lease, nanoseconds wait, const struct grant *grant)
{
    /* The last form always fits: without texts and a proof, 16 names and all keys at their longest
     * have 3400 bytes. If berthd knows a held lease, only the id counts: so that form serves unless
     * berthd has lost its journal. */
    static const unsigned forms[] = {
        WITH_UNITS | WITH_NAMES | WITH_TEXTS, WITH_UNITS | WITH_NAMES, WITH_UNITS, WITH_NAMES};
    bool fits = false;
    for (size_t i = 0; !fits && i < sizeof forms / sizeof forms[0]; i++) {
        request_begin(line, COMMAND_reclaim);
        request_add(line, " %s", lease);
        request_add_wanted(line, params->options, forms[i] & WITH_UNITS ? grant : NULL);
        request_add_span(line, KEY_INDEX_wait, wait);
        request_add_keys(line, params, forms[i]);
        bool is_proven = params->proof[0] && forms[i] & WITH_UNITS;
        request_add_text(line, KEY_INDEX_proof, is_proven ? params->proof : NULL);
        fits = request_end(line);
    }
    assert(fits);
}

void request_cancel(struct request_line *line, const struct acquire_params *params)
{
    request_begin(line, COMMAND_cancel);
    request_add(line, " once=%016llx", (unsigned long long)params->once);
    request_end(line);
}

void request_release_lease(struct request_line *line, const char *lease, const struct job_end *end)
{
    request_begin(line, COMMAND_release);
    request_add(line, " %s", lease);
    if (end->kind != JOB_END_UNKNOWN) {
        enum request_key key = end->kind == JOB_EXITED ? KEY_INDEX_exit : KEY_INDEX_signal;
        request_add(line, " %s=%d", request_key_table[key].word, end->number);
    }
    request_end(line);
}

void request_presence(
    struct request_line *line, enum command_index command, const char *lease)
{
    request_begin(line, command);
    request_add(line, " %s", lease);
    request_end(line);
}

void request_why(struct request_line *line, const char *lease)
{
    request_begin(line, COMMAND_why);
    request_add(line, " lease=%s", lease);
    request_end(line);
}

bool request_why_wanted(struct request_line *line, const struct options *options)
{
    request_begin(line, COMMAND_why);
    request_add_wanted(line, options, NULL);
    return request_end(line);
}

bool request_release(struct request_line *line, const struct options *options)
{
    request_begin(line, COMMAND_release);
    request_add(line, " %s", options->lease);
    request_add_text(line, KEY_INDEX_holder, options->holder);
    request_add_text(line, KEY_INDEX_item, options->item);
    return request_end(line);
}

bool request_renew(struct request_line *line, const struct options *options)
{
    request_begin(line, COMMAND_renew);
    request_add(line, " %s", options->lease);
    request_add_text(line, KEY_INDEX_holder, options->holder);
    request_add_span(line, KEY_INDEX_ttl, options->ttl);
    return request_end(line);
}
