/* row_help.h - rows of a database's listing, field by field. */
#pragma once

#include "base/text.h"

#include <string.h>

/* Appends one row. */
#define ADD_ROW(text, ...) add_row(text, (const char *const[]){__VA_ARGS__, NULL})
static inline void add_row(struct text *text, const char *const fields[])
{
    for (; *fields; fields++) {
        text_add_bytes(text, *fields, strlen(*fields) + 1);
    }
    text_add(text, "\n");
}
