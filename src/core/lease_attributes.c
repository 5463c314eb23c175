#include "core/lease_attributes.h"

#include "base/words.h"

#include <string.h>

const struct attribute_row attribute_rows[N_ATTRIBUTES] = {
#define ATTRIBUTE(name, kind, max, none, title)                                                    \
    [ATTRIBUTE_##name] = {                                                                         \
        .word = #name,                                                                             \
        .type = ATTRIBUTE_##kind,                                                                  \
        .offset = offsetof(struct lease_attributes, name),                                         \
        .bound = (max),                                                                            \
        .initial = (none),                                                                         \
        .is_shown = (title) != NULL,                                                               \
    },
#include "base/attributes.def"
#undef ATTRIBUTE
};

void lease_attributes_init(struct lease_attributes *attributes)
{
    *attributes = (struct lease_attributes){
#define ATTRIBUTE(word, type, bound, initial, title) .word = (MEMBER_##type)(initial),
#include "base/attributes.def"
#undef ATTRIBUTE
    };
}

const char *lease_attributes_text(
    const struct lease_attributes *attributes, const struct attribute_row *row)
{
    const void *member = (const char *)attributes + row->offset;
    return row->type == ATTRIBUTE_TEXT ? *(const char *const *)member : NULL;
}

bool lease_attributes_parse(
    struct lease_attributes *attributes, enum attribute attribute, const char *value)
{
    const struct attribute_row *row = &attribute_rows[attribute];
    void *member = (char *)attributes + row->offset;
    bool is_good = false;
    int64_t number = 0;
    unsigned word = 0;
    switch (row->type) {
    case ATTRIBUTE_TEXT:
        *(const char **)member = value;
        return true; /* the protocol checks its length */
    case ATTRIBUTE_NUMBER:
        is_good = signed_number_parse(value, (int64_t)row->bound, &number);
        *(int32_t *)member = (int32_t)number;
        return is_good;
    case ATTRIBUTE_SPAN:
        return duration_parse(value, member);
    case ATTRIBUTE_ON_LOST:
        is_good = word_look_up(on_lost_words, value, &word);
        *(uint8_t *)member = (uint8_t)word;
        return is_good;
    case ATTRIBUTE_REPLACE:
        is_good = word_look_up(replace_words, value, &word) && word != REPLACE_NOTHING;
        *(uint8_t *)member = (uint8_t)word;
        return is_good;
    case ATTRIBUTE_SIGNAL:
        is_good = signed_number_parse(value, (int64_t)row->bound, &number) && number > 0;
        *(uint8_t *)member = (uint8_t)number;
        return is_good;
    case ATTRIBUTE_LEASE:
        return lease_id_parse(value, member);
    case N_ATTRIBUTE_TYPES:
        break;
    }
    return false;
}

size_t lease_attributes_texts_size(const struct lease_attributes *attributes)
{
    size_t size = 0;
#pragma GCC unroll 16 /* so the compiler knows each row */
    for (size_t i = 0; i < N_ATTRIBUTES; i++) {
        const char *text = lease_attributes_text(attributes, &attribute_rows[i]);
        size += text ? strlen(text) + 1 : 0;
    }
    return size;
}

void lease_attributes_copy(
    struct lease_attributes *copy, const struct lease_attributes *attributes, char *room)
{
    *copy = *attributes;
#pragma GCC unroll 16
    for (size_t i = 0; i < N_ATTRIBUTES; i++) {
        const struct attribute_row *row = &attribute_rows[i];
        const char *text = lease_attributes_text(attributes, row);
        if (text) {
            *(char **)((char *)copy + row->offset) = room;
            room = stpcpy(room, text) + 1;
        }
    }
}
