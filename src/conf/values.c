#include "conf/values.h"

#include "base/memory.h"
#include "conf/complaints.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static FILE *value_complaint(const struct value *value)
{
    return complaint_begin(value->complaints, value->place, value->section, value->key->word);
}

static void refuse_word(const struct value *value, const char *word)
{
    FILE *out = value_complaint(value);
    fprintf(out, "\"%.*s%s\" is not ", QUOTE(word));
    value->key->type->describe(value->key, out);
    complaint_end(value->complaints);
}

static void refuse_count(const struct value *value, size_t max)
{
    FILE *out = value_complaint(value);
    if (value->key->type->is_list) {
        fprintf(out, "has more than %zu words", max);
    } else {
        fputs(value->place.line == value->first_line
                ? "has more than one word; expected "
                : "is not a list, so it cannot continue on another line; expected ",
            out);
        value->key->type->describe(value->key, out);
    }
    complaint_end(value->complaints);
}

static void take_word(struct value *value, const char *word)
{
    const struct value_type *type = value->key->type;
    size_t max = type->is_list ? value->key->max : 1;
    value->n_words++;
    if (value->n_words <= max) {
        if (!type->parse(value, word)) {
            refuse_word(value, word);
        }
        value->word_line = value->place.line;
    } else if (!value->is_refused) {
        value->is_refused = true;
        refuse_count(value, max);
    }
}

void value_take(struct value *value, const char *text)
{
    char *words = memory_string(text), *rest = words, *word;
    while ((word = strsep(&rest, " \t"))) {
        if (word[0] != '\0') {
            take_word(value, word);
        }
    }
    free(words);
}

void value_end(const struct value *value)
{
    size_t min = value->key->type->is_list ? value->key->min : 1;
    if (value->n_words < min) {
        FILE *out = value_complaint(value);
        fputs("has no value; expected ", out);
        value->key->type->describe(value->key, out);
        complaint_end(value->complaints);
    }
}

void value_set_default(const struct key_row *key, void *object)
{
    struct value value = {.key = key, .object = object};
    if (key->initial && key->initial[0] != '\0') {
        bool is_good = key->type->parse(&value, key->initial);
        assert(is_good);
        (void)is_good;
    }
}
