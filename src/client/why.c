#include "client/why.h"

#include "client/message.h"

#include <stdio.h>

const char *why(struct answer *answer)
{
    static char words[1024];
    const char *text = message_clean(answer->text);
    if (!text[0] && answer->code != CODE_NONE) {
        text = code_table[answer->code].meaning;
    }
    snprintf(words, sizeof words, "%s%s(%s)", text, text[0] ? " " : "", answer->code_word);
    return words;
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
