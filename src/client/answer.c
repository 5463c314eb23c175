#include "client/answer.h"

#include <stdio.h>
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
    {"error", ANSWER_ERROR},
    {"*", ANSWER_EVENT},
};

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
        if (answer->event == EVENT_DENIED || answer->event == EVENT_LOST) {
            take_why(answer, 3);
        }
    } else if (answer->kind != ANSWER_OTHER) {
        answer->lease = lease_at(answer, 1);
    }
}

/* ---- units ---- */

enum { MAX_SLOT = 999999 };

/* "7" or "3-7", `length` bytes of it. */
static bool slots_parse(const char *text, size_t length, uint64_t *firstp, uint64_t *lastp)
{
    char copy[32];
    if (length >= sizeof copy) {
        return false;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    char *dash = strchr(copy, '-');
    if (dash) {
        *dash = '\0';
    }
    return number_parse(copy, MAX_SLOT, firstp) &&
        number_parse(dash ? dash + 1 : copy, MAX_SLOT, lastp) && *firstp <= *lastp;
}

static bool item_take(const char *text, size_t length, unit_function *function, void *context)
{
    char copy[ITEM_BYTES + 1];
    if (length >= sizeof copy) {
        return false;
    }
    memcpy(copy, text, length);
    copy[length] = '\0';
    if (!item_is_valid(copy)) {
        return false;
    }
    function(context, text, length);
    return true;
}

static bool slots_take(const char *text, size_t length, unit_function *function, void *context)
{
    uint64_t first, last;
    if (!slots_parse(text, length, &first, &last)) {
        return false;
    }
    for (uint64_t slot = first; slot <= last; slot++) {
        char number[24];
        int n = snprintf(number, sizeof number, "%llu", (unsigned long long)slot);
        function(context, number, (size_t)n);
    }
    return true;
}

bool granted_for_each_unit(const struct granted *granted, unit_function *function, void *context)
{
    const char *text = granted->units;
    for (;;) {
        size_t length = strcspn(text, ",");
        if (!(granted->pool ? item_take : slots_take)(text, length, function, context)) {
            return false;
        }
        if (text[length] == '\0') {
            return true;
        }
        text += length + 1;
    }
}

/* Without going through them one by one: a lease may have a million slots. */
static bool granted_has_units(const struct granted *granted, uint64_t count)
{
    uint64_t n = 0;
    for (const char *text = granted->units;;) {
        size_t length = strcspn(text, ",");
        uint64_t first = 0, last = 0;
        if (!granted->pool && !slots_parse(text, length, &first, &last)) {
            return false;
        }
        n += last - first + 1;
        if (text[length] == '\0') {
            return n == count;
        }
        text += length + 1;
    }
}

static void ignore_unit(void *context, const char *unit, size_t length)
{
    (void)context, (void)unit, (void)length;
}

/* "slot=NAME,TOKEN,SLOTS" or "item=NAME,TOKEN,ITEMS". */
static bool granted_parse(struct granted *granted, char *word, const struct wanted *wanted)
{
    uint64_t token;
    char *name = strchr(word, '=') + 1;
    char *name_end = strchr(name, ',');
    char *token_end = name_end ? strchr(name_end + 1, ',') : NULL;
    if (!token_end) {
        return false;
    }
    *name_end = *token_end = '\0';
    *granted = (struct granted){
        .pool = strncmp(word, "item=", 5) == 0,
        .name = name,
        .token = name_end + 1,
        .units = token_end + 1,
        .count = wanted->count,
    };
    return strlen(name) == (size_t)wanted->name_length &&
        memcmp(name, wanted->name, strlen(name)) == 0 &&
        number_parse(granted->token, INT64_MAX, &token) &&
        granted_has_units(granted, wanted->count) &&
        (!granted->pool || granted_for_each_unit(granted, ignore_unit, NULL));
}

bool grant_parse(struct grant *grant, const struct answer *answer, const struct options *options)
{
    if (!answer->lease[0]) {
        return false;
    }
    memcpy(grant->lease, answer->lease, strlen(answer->lease) + 1);
    grant->n = 0;
    for (size_t i = 0; i < answer->n_words; i++) {
        char *word = answer->words[i];
        if (strncmp(word, "slot=", 5) != 0 && strncmp(word, "item=", 5) != 0) {
            continue;
        }
        if (grant->n == options->n_wanted ||
            !granted_parse(&grant->granted[grant->n], word, &options->wanted[grant->n])) {
            return false;
        }
        grant->n++;
    }
    return grant->n == options->n_wanted;
}
