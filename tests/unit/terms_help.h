/* terms_help.h - whether two leases have the same attributes. */
#pragma once

#include "core/lease_attributes.h"

#include <string.h>

static inline bool texts_are_same(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* The word of the first attribute that differs; NULL if none does. */
static inline const char *lease_attributes_difference(
    const struct lease_attributes *a, const struct lease_attributes *b)
{
#define IS_SAME_TEXT(x, y) texts_are_same(x, y)
#define IS_SAME_NUMBER(x, y) ((x) == (y))
#define IS_SAME_SPAN IS_SAME_NUMBER
#define IS_SAME_ON_LOST IS_SAME_NUMBER
#define IS_SAME_SIGNAL IS_SAME_NUMBER
#define IS_SAME_LEASE IS_SAME_NUMBER
#define IS_SAME_REPLACE IS_SAME_NUMBER
#define ATTRIBUTE(word, type, ...)                                                                 \
    if (!IS_SAME_##type(a->word, b->word)) {                                                       \
        return #word;                                                                              \
    }
#include "base/attributes.def"
#undef ATTRIBUTE
    return NULL;
}
