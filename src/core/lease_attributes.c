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

static bool parse_number(const char *value, uint64_t bound, int32_t *member)
{
    int64_t number;
    bool is_good = signed_number_parse(value, (int64_t)bound, &number);
    *member = is_good ? (int32_t)number : 0;
    return is_good;
}

static bool parse_signal(const char *value, uint64_t bound, uint8_t *member)
{
    uint64_t number = 0;
    bool is_good = number_parse(value, bound, &number) && number != 0;
    *member = (uint8_t)number;
    return is_good;
}

static bool parse_on_lost(const char *value, uint8_t *member)
{
    enum on_lost on_lost = ON_LOST_KILL;
    bool is_good = word_look_up(on_lost_words, value, &on_lost);
    *member = (uint8_t)on_lost;
    return is_good;
}

bool lease_attributes_parse(
    struct lease_attributes *attributes, enum attribute attribute, const char *value)
{
    const struct attribute_row *row = &attribute_rows[attribute];
    void *member = (char *)attributes + row->offset;
    switch (row->type) {
    case ATTRIBUTE_TEXT:
        *(const char **)member = value;
        return true; /* the protocol checks its length */
    case ATTRIBUTE_NUMBER:
        return parse_number(value, row->bound, member);
    case ATTRIBUTE_SPAN:
        return duration_parse(value, member);
    case ATTRIBUTE_ON_LOST:
        return parse_on_lost(value, member);
    case ATTRIBUTE_SIGNAL:
        return parse_signal(value, row->bound, member);
    case ATTRIBUTE_LEASE:
        return lease_id_parse(value, member);
    case N_ATTRIBUTE_TYPES:
        break;
    }
    return false;
}

/* The attributes that are texts. */
#define IF_TEXT_TEXT(word) ATTRIBUTE_##word,
#define IF_TEXT_NUMBER(word)
#define IF_TEXT_SPAN(word)
#define IF_TEXT_ON_LOST(word)
#define IF_TEXT_SIGNAL(word)
#define IF_TEXT_LEASE(word)
static const enum attribute texts[] = {
#define ATTRIBUTE(word, type, ...) IF_TEXT_##type(word)
#include "base/attributes.def"
#undef ATTRIBUTE
};

enum { N_TEXTS = sizeof texts / sizeof texts[0] };

size_t lease_attributes_texts_size(const struct lease_attributes *attributes)
{
    size_t size = 0;
#pragma GCC unroll 8 /* so the compiler knows each row */
    for (size_t i = 0; i < N_TEXTS; i++) {
        const char *text = lease_attributes_text(attributes, &attribute_rows[texts[i]]);
        size += text ? strlen(text) + 1 : 0;
    }
    return size;
}

void lease_attributes_copy(
    struct lease_attributes *copy, const struct lease_attributes *attributes, char *room)
{
    *copy = *attributes;
#pragma GCC unroll 8
    for (size_t i = 0; i < N_TEXTS; i++) {
        const struct attribute_row *row = &attribute_rows[texts[i]];
        const char *text = lease_attributes_text(attributes, row);
        if (text) {
            *(char **)((char *)copy + row->offset) = room;
            room = stpcpy(room, text) + 1;
        }
    }
}
