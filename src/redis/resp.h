/* resp.h - what Redis sends, as plain values, and what it is sent. resp.c alone uses hiredis, and
 * only its reader and formatter: its asynchronous core aborts on surprises and loses errors. */
#pragma once

#include "base/text.h"
#include "fleet/resp_value.h"

/* What is said of a server that does not reply as a Redis does. */
#define RESP_UNEXPECTED "unexpected reply: is this a Redis server?"

struct resp_reader;

struct resp_reader *resp_reader_new(void);
struct resp_reader *resp_reader_free(struct resp_reader *reader); /* accepts NULL; returns NULL */
void resp_reader_feed(struct resp_reader *reader, const char *bytes, size_t n);

/* Larger replies are nonsense. Berth asks for far less: this bounds what a broken server can cost.
 */
enum { RESP_MAX_BYTES = 64 * 1024 * 1024 };
/* The same for replies that have not begun: at most so many bytes, and one element of arrays for
 * each RESP_BYTES_PER_ELEMENT of them. RESP_MAX_BYTES at first. */
enum { RESP_BYTES_PER_ELEMENT = 16 };
void resp_reader_set_bound(struct resp_reader *reader, size_t n_bytes);

enum resp_next {
    RESP_MORE, /* no whole reply yet */
    RESP_REPLY, /* *replyp is good until the next call with this reader */
    RESP_NONSENSE, /* not RESP 2, or deeper or larger than any answer: give up */
};
enum resp_next resp_reader_next(struct resp_reader *reader, const struct resp **replyp);

/* A command as bytes, *np many, which the caller frees. `lengths` NULL: its words are strings. */
char *resp_command(size_t argc, const char *const argv[], const size_t lengths[], size_t *np);
/* Adds one of strings; NULL follows the last. */
void resp_add_command(struct text *out, const char *const words[]);
