#include "berth/explain.h"

#include "client/message.h"

#include <stdio.h>
#include <string.h>

const char *why(struct answer *answer)
{
    static char words[1024];
    const char *text = message_decoded(answer->text);
    if (!text[0] && answer->code != CODE_NONE) {
        text = code_table[answer->code].meaning;
    }
    snprintf(words, sizeof words, "%s%s(%s)", text, text[0] ? " " : "", answer->code_word);
    return words;
}

void append_wanted(char *out, size_t size, const struct options *options)
{
    for (size_t i = 0; i < options->n_wanted; i++) {
        append(out, size, "%s%.*s", i > 0 ? ", " : "", options->wanted[i].name_length,
            options->wanted[i].name);
    }
}

/* "gpus: why" */
static bool names_one(const char *text, const struct options *options)
{
    for (size_t i = 0; i < options->n_wanted; i++) {
        size_t length = (size_t)options->wanted[i].name_length;
        if (strncmp(text, options->wanted[i].name, length) == 0 &&
            strncmp(text + length, ": ", 2) == 0) {
            return true;
        }
    }
    return false;
}

void append_count_meant(char *out, size_t size, const struct options *options)
{
    for (size_t i = 1; i < options->n_wanted; i++) {
        const struct wanted *before = &options->wanted[i - 1], *wanted = &options->wanted[i];
        size_t n = strspn(wanted->name, "0123456789");
        if (n > 0 && wanted->name[n] == '\0' && before->name[before->name_length] == '\0' &&
            strncmp(out, wanted->name, n) == 0 && out[n] == ':') {
            append(out, size, "; did you mean %s:%s?", before->name, wanted->name);
        }
    }
}

void append_why_of_wanted(
    char *out, size_t size, struct answer *answer, const struct options *options)
{
    const char *text = why(answer);
    if (!names_one(text, options)) {
        append_wanted(out, size < 256 ? size : 256, options);
        append(out, size, ": ");
    }
    append(out, size, "%s", text);
}

void say_granted(const struct grant *grant)
{
    char what[1024] = "";
    for (size_t i = 0; i < grant->n; i++) {
        const struct granted *granted = &grant->granted[i];
        append(what, sizeof what, "%s%s %s %s (token %s)", i > 0 ? ", " : "", granted->name,
            granted->pool ? "item" : "slot", granted->units, granted->token);
    }
    message("granted %s, lease %s", what, grant->lease);
}
