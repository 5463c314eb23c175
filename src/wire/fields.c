#include "wire/fields.h"

#include "base/memory.h"
#include "base/words.h"

#include <string.h>

/* ---- reading ---- */

void words_parse(struct words *words, char *value)
{
    for (char *word; (word = strsep(&value, ",")) != NULL;) {
        if (strcmp(word, "...") == 0 && !value) {
            words->is_cut = true;
        } else if (word[0] != '\0') {
            words->list = memory_resize(words->list, words->n + 1, sizeof words->list[0]);
            words->list[words->n++] = word;
        }
    }
}

static bool flag_parse(const char *value, bool *flagp)
{
    *flagp = strcmp(value, "1") == 0;
    return *flagp || strcmp(value, "0") == 0;
}

static bool optional_parse(const char *value, struct optional *optional)
{
    optional->is_given = true;
    return number_parse(value, INT64_MAX, &optional->number);
}

static bool instant_parse(const char *value, struct instant *instant)
{
    instant->is_given = true;
    return signed_number_parse(value, INT64_MAX / 4, &instant->at); /* two have a difference */
}

static bool field_take(const struct field *field, char *value, char *record)
{
    void *member = record + field->offset;
    switch (field->type) {
    case FIELD_TEXT:
        *(const char **)member = value;
        return percent_decode(value);
    case FIELD_NUMBER:
    case FIELD_TOKEN:
    case FIELD_COUNT:
    case FIELD_SPAN:
        return number_parse(value, INT64_MAX, member);
    case FIELD_OPTIONAL:
    case FIELD_OPTIONAL_SPAN:
        return optional_parse(value, member);
    case FIELD_INSTANT:
        return instant_parse(value, member);
    case FIELD_USER:
        return optional_parse(value, &((struct shown_user *)member)->uid);
    case FIELD_SIGNED:
        return signed_number_parse(value, INT64_MAX, member);
    case FIELD_FLAG:
    case FIELD_SWITCH:
        return flag_parse(value, member);
    case FIELD_WORDS:
    case FIELD_UNITS:
        words_parse(member, value);
        return true;
    }
    return false;
}

bool fields_take(const struct field *fields, char *const words[], size_t n, void *record)
{
    for (const struct field *field = fields; field->key; field++) {
        char *value = words_find(words, n, field->key);
        if (value && !field_take(field, value, record)) {
            return false;
        }
    }
    return true;
}

bool line_take(
    const struct field *fields, char *const words[], size_t n, const char **namep, void *record)
{
    if (n < 2) {
        return false;
    }
    *namep = words[1];
    return fields_take(fields, words + 2, n - 2, record);
}

/* ---- writing ---- */

/* " key=", and room for `n` bytes behind it. */
static char *put_key(struct text *out, const struct field *field, size_t n)
{
    char *to = text_room(out, MAX_FIELD_HEAD + n);
    memcpy(to, field->head, MAX_FIELD_HEAD); /* a fixed length costs no call */
    return to + field->head_length;
}

static void fields_add_number(struct text *out, const struct field *field, uint64_t number)
{
    text_end(out, put_number(put_key(out, field, MAX_DIGITS), number));
}

static void add_signed(struct text *out, const struct field *field, int64_t number)
{
    text_end(out, put_signed(put_key(out, field, 1 + MAX_DIGITS), number));
}

static void field_add(struct text *out, const struct field *field, const char *record)
{
    const void *member = record + field->offset;
    const uint64_t *number = member;
    const struct optional *optional = member;
    const struct instant *instant = member;
    const char *string;
    switch (field->type) {
    case FIELD_TEXT:
        string = *(const char *const *)member;
        if (string) {
            text_end(out, put_key(out, field, 0));
            text_add_encoded(out, string);
        }
        break;
    case FIELD_COUNT:
        if (*number == 0) {
            break;
        }
        /* fall through */
    case FIELD_NUMBER:
    case FIELD_TOKEN:
    case FIELD_SPAN:
        fields_add_number(out, field, *number);
        break;
    case FIELD_USER:
        optional = &((const struct shown_user *)member)->uid;
        /* fall through */
    case FIELD_OPTIONAL:
    case FIELD_OPTIONAL_SPAN:
        if (optional->is_given) {
            fields_add_number(out, field, optional->number);
        }
        break;
    case FIELD_INSTANT:
        if (instant->is_given) {
            add_signed(out, field, instant->at);
        }
        break;
    case FIELD_SIGNED:
        add_signed(out, field, *(const int64_t *)member);
        break;
    case FIELD_FLAG:
        if (*(const bool *)member) {
            fields_add_number(out, field, 1);
        }
        break;
    case FIELD_SWITCH:
        fields_add_number(out, field, *(const bool *)member);
        break;
    case FIELD_WORDS:
    case FIELD_UNITS:
        string = ((const struct words *)member)->joined;
        if (string) {
            text_end(out, put_key(out, field, 0));
            text_add(out, string);
        }
        break;
    }
}

void fields_add(
    struct text *out, const struct field *fields, unsigned whom, const void *record)
{
    for (const struct field *field = fields; field->key; field++) {
        if (whom >> field->whom & 1) {
            field_add(out, field, record);
        }
    }
}
