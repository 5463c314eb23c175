/* show_why.c - the sentences of `berthctl why`. */
#include "base/words.h"
#include "berthctl/show.h"

#include <string.h>

/* The first sentence says what becomes of it, the others why. False: no daemon sends that. */
static bool show_why_add_sentence(struct text *out, char *words[], size_t n)
{
    if (n < 2 || !percent_decode(words[1])) {
        return false;
    }
    text_add(out, out->length > 0 ? "  " : "");
    text_add_escaped(out, words[1]);
    text_add(out, "\n");
    return true;
}

int show_why(struct call *call, char *answer)
{
    struct text out = TEXT_INIT;
    char *line = answer;
    bool is_good = true;
    while (is_good && (line = call_line(call)) && strcmp(line, "end") != 0) {
        char *words[MAX_WORDS];
        size_t n = words_split(line, words, MAX_WORDS);
        if (n > 0 && strcmp(words[0], "because") == 0) {
            is_good = show_why_add_sentence(&out, words, n);
        }
    }
    if (is_good && line) {
        return show_print(&out);
    }
    text_deinit(&out);
    return is_good ? call->exit_status : call_protocol_error(call);
}
