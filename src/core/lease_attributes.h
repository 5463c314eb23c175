/* lease_attributes.h - a lease's attributes, other than its resources: the rows of
 * base/attributes.def. */
#pragma once

#include "base/on_lost.h"
#include "base/replace.h"
#include "core/types.h"

#define MEMBER_TEXT const char *
#define MEMBER_NUMBER int32_t
#define MEMBER_SPAN nanoseconds
#define MEMBER_ON_LOST uint8_t
#define MEMBER_SIGNAL uint8_t
#define MEMBER_LEASE uint64_t
#define MEMBER_REPLACE uint8_t

/* A text is NULL if it is not given. It belongs to others: in a lease, it stands behind it. */
struct lease_attributes {
#define ATTRIBUTE(word, type, ...) MEMBER_##type word;
#include "base/attributes.def"
#undef ATTRIBUTE
};

enum attribute {
#define ATTRIBUTE(word, ...) ATTRIBUTE_##word,
#include "base/attributes.def"
#undef ATTRIBUTE
    N_ATTRIBUTES
};

enum attribute_type {
    ATTRIBUTE_TEXT,
    ATTRIBUTE_NUMBER,
    ATTRIBUTE_SPAN,
    ATTRIBUTE_ON_LOST,
    ATTRIBUTE_SIGNAL,
    ATTRIBUTE_LEASE,
    ATTRIBUTE_REPLACE,
    N_ATTRIBUTE_TYPES
};

struct attribute_row {
    const char *word;
    enum attribute_type type;
    size_t offset; /* in struct lease_attributes */
    uint64_t bound, initial;
    bool is_shown; /* status shows it in a column */
};

extern const struct attribute_row attribute_rows[N_ATTRIBUTES];

/* NULL if it is not given, or no text. */
const char *lease_attributes_text(
    const struct lease_attributes *attributes, const struct attribute_row *row);

/* The terms of a record that does not mention them. */
void lease_attributes_init(struct lease_attributes *attributes);
/* Parses the value in a request. False: malformed, or out of bounds. Does not copy `value`. */
bool lease_attributes_parse(
    struct lease_attributes *attributes, enum attribute attribute, const char *value);
/* Bytes of all texts, with their final NULs. */
size_t lease_attributes_texts_size(const struct lease_attributes *attributes);
/* With copies of all texts, which go into `room` for so many bytes. */
void lease_attributes_copy(
    struct lease_attributes *copy, const struct lease_attributes *attributes, char *room);
