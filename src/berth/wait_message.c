#include "berth/wait_message.h"

#include "base/words.h"
#include "client/message.h"

#include <stdio.h>
#include <string.h>

/* Takes the first line, `ok`. */
static void take_state(struct wait_message *wait_message, const struct answer *answer)
{
    const char *is = words_find(answer->words, answer->n_words, "is");
    wait_message->is_busy = is && strcmp(is, "busy") == 0;
    words_find_number(answer->words, answer->n_words, "position", &wait_message->position);
}

static void take_text(char *out, size_t size, const struct answer *answer)
{
    if (answer->n_words > 1) {
        snprintf(out, size, "%s", message_decoded(answer->words[1]));
    }
}

void wait_message_begin(struct wait_message *wait_message)
{
    *wait_message = (struct wait_message){0};
}

enum wait_message_state wait_message_take(
    struct wait_message *wait_message, const struct answer *answer)
{
    const char *word = answer->n_words > 0 ? answer->words[0] : "";
    if (answer->kind == ANSWER_ERROR) {
        return WAIT_MESSAGE_NONE;
    }
    if (strcmp(word, "end") == 0) {
        return wait_message->line[0] ? WAIT_MESSAGE_COMPLETE : WAIT_MESSAGE_NONE;
    }
    if (strcmp(word, "ok") == 0) {
        take_state(wait_message, answer);
    } else if (strcmp(word, "brief") == 0) {
        take_text(wait_message->line, sizeof wait_message->line, answer);
    } else if (strcmp(word, "stops") == 0) {
        take_text(wait_message->stops, sizeof wait_message->stops, answer);
    }
    return WAIT_MESSAGE_GOES_ON;
}
