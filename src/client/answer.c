#include "client/answer.h"

#include <string.h>

static const char *word_at(const struct answer *answer, size_t i)
{
    return i < answer->n_words ? answer->words[i] : "";
}

static const char *lease_at(const struct answer *answer, size_t i)
{
    uint64_t id;
    const char *word = word_at(answer, i);
    return lease_id_parse(word, &id) ? word : "";
}

static void take_why(struct answer *answer, size_t i)
{
    answer->code_word = word_at(answer, i);
    answer->code = code_find(answer->code_word);
    answer->text = i + 1 < answer->n_words ? answer->words[i + 1] : NULL;
}

static const struct {
    const char *word;
    enum answer_kind kind;
} first_words[] = {
    {"ok", ANSWER_OK},
    {"waiting", ANSWER_WAITING},
    {"pending", ANSWER_PENDING},
    {"error", ANSWER_ERROR},
    {"*", ANSWER_EVENT},
};

static bool says_why(enum event event)
{
    return event != EVENT_GRANTED && event != EVENT_DEADLINE && event != EVENT_WAITING;
}

void answer_parse(struct answer *answer, char *line)
{
    answer->n_words = words_split(line, answer->words, MAX_WORDS);
    answer->kind = ANSWER_OTHER;
    answer->event = EVENT_NONE;
    answer->lease = answer->code_word = "";
    answer->code = CODE_NONE;
    answer->text = NULL;

    for (size_t i = 0; i < sizeof first_words / sizeof first_words[0]; i++) {
        if (strcmp(word_at(answer, 0), first_words[i].word) == 0) {
            answer->kind = first_words[i].kind;
        }
    }
    if (answer->kind == ANSWER_ERROR) {
        take_why(answer, 1);
    } else if (answer->kind == ANSWER_EVENT) {
        answer->event = event_find(word_at(answer, 1));
        answer->lease = lease_at(answer, 2);
        if (answer->lease[0] && says_why(answer->event)) {
            take_why(answer, 3);
        }
    } else if (answer->kind != ANSWER_OTHER) {
        answer->lease = lease_at(answer, 1);
    }
}

const char *answer_why(struct answer *answer)
{
    if (answer->code_word[0] == '\0' || (answer->text && !percent_decode(answer->text))) {
        return NULL;
    }
    return answer->text             ? answer->text
        : answer->code != CODE_NONE ? code_table[answer->code].meaning
                                    : "refused";
}
