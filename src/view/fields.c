#include "view/fields.h"

#include "base/words.h"
#include "view/printable.h"

#include <string.h>

void words_parse(struct words *words, char *value)
{
    for (char *word; (word = strsep(&value, ",")) != NULL;) {
        if (strcmp(word, "...") == 0 && !value) {
            words->is_cut = true;
        } else if (word[0] != '\0') {
            words->list = memory_resized(words->list, words->n + 1, sizeof words->list[0]);
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

static bool field_take(const struct field *field, char *value, char *record)
{
    void *member = record + field->offset;
    switch (field->type) {
    case FIELD_TEXT:
        *(const char **)member = value;
        return percent_decode(value);
    case FIELD_NUMBER:
        return number_parse(value, INT64_MAX, member);
    case FIELD_OPTIONAL:
        return optional_parse(value, member);
    case FIELD_SIGNED:
        return signed_number_parse(value, INT64_MAX, member);
    case FIELD_FLAG:
        return flag_parse(value, member);
    case FIELD_WORDS:
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

void *array_grown(void *list, size_t n, size_t *sizep, size_t element)
{
    if (n == *sizep) {
        *sizep = n > 0 ? n * 2 : 8;
        list = memory_resized(list, *sizep, element);
    }
    memset((char *)list + n * element, 0, element);
    return list;
}
