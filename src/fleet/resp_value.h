/* resp_value.h - what a Redis has sent, as plain values. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum resp_type { RESP_NIL, RESP_STATUS, RESP_ERROR, RESP_INTEGER, RESP_STRING, RESP_ARRAY };

/* `text` is `length` bytes and a NUL; bytes may be anything. */
struct resp {
    enum resp_type type;
    int64_t integer; /* RESP_INTEGER */
    const char *text; /* RESP_STATUS, RESP_ERROR, RESP_STRING; else "" */
    size_t length;
    const struct resp *elements; /* RESP_ARRAY */
    size_t n;
};

static inline bool resp_is_text(const struct resp *resp)
{
    return resp->type == RESP_STRING || resp->type == RESP_STATUS;
}

/* Whether it is that string. */
static inline bool resp_is(const struct resp *resp, const char *text)
{
    return resp->type == RESP_STRING && resp->length == strlen(text) &&
        memcmp(resp->text, text, resp->length) == 0;
}
