#include "redis/resp.h"

#include "base/memory.h"

#include <hiredis/hiredis.h>
#include <stdlib.h>
#include <string.h>

/* For one reply, whatever the bound. */
enum {
    MAX_ELEMENTS = 1024 * 1024,
    MAX_DEPTH = 6, /* arrays in arrays; hiredis 0.14 has a bound of its own, 1.2 has none */
    MAX_LINE_BYTES = 64 * 1024, /* hiredis searches the whole line for its end each time */
    MAX_HEADER_BYTES = 32, /* "$64000000\r\n", without the dollar */
};

struct resp_reader {
    redisReader *hiredis;
    size_t max_bytes, max_elements; /* of a reply */
    size_t n_bytes; /* fed since the last whole reply */
    size_t n_elements; /* of the reply being read */
    struct resp *reply; /* the last one returned */
};

/* ---- hiredis' builder: makes struct resp directly ---- */

static void resp_deinit(struct resp *resp)
{
    for (size_t i = 0; i < resp->n; i++) {
        resp_deinit((struct resp *)&resp->elements[i]);
    }
    free((void *)resp->elements);
    if (resp->length > 0) {
        free((void *)resp->text);
    }
}

static void resp_free(void *reply)
{
    if (reply) {
        resp_deinit(reply);
        free(reply);
    }
}

/* Where the value belongs: in its array, or alone. */
static struct resp *place(const redisReadTask *task, enum resp_type type)
{
    struct resp *resp;
    if (task->parent) {
        const struct resp *array = task->parent->obj;
        resp = (struct resp *)&array->elements[task->idx];
    } else {
        resp = memory_new(sizeof *resp);
    }
    resp->type = type;
    resp->text = "";
    return resp;
}

static void *build_string(const redisReadTask *task, char *text, size_t length)
{
    bool is_error = task->type == REDIS_REPLY_ERROR, is_status = task->type == REDIS_REPLY_STATUS;
    if (!is_error && !is_status && task->type != REDIS_REPLY_STRING) {
        return NULL; /* RESP 3 */
    }
    struct resp *resp = place(task, is_error ? RESP_ERROR : is_status ? RESP_STATUS : RESP_STRING);
    if (length > 0) {
        char *copy = memory_resize(NULL, length + 1, 1);
        memcpy(copy, text, length);
        copy[length] = '\0';
        resp->text = copy;
        resp->length = length;
    }
    return resp;
}

#if HIREDIS_MAJOR >= 1
typedef size_t element_count;
#else
typedef int element_count;
#endif

static void *build_array(const redisReadTask *task, element_count n)
{
    struct resp_reader *reader = task->privdata;
    if (task->type != REDIS_REPLY_ARRAY || reader->hiredis->ridx >= MAX_DEPTH ||
        (size_t)n > reader->max_elements - reader->n_elements) {
        return NULL;
    }
    struct resp *resp = place(task, RESP_ARRAY);
    reader->n_elements += (size_t)n;
    if (n > 0) {
        struct resp *elements = memory_new((size_t)n * sizeof *elements);
        for (size_t i = 0; i < (size_t)n; i++) {
            elements[i].text = "";
        }
        resp->elements = elements;
        resp->n = (size_t)n;
    }
    return resp;
}

static void *build_integer(const redisReadTask *task, long long integer)
{
    struct resp *resp = place(task, RESP_INTEGER);
    resp->integer = integer;
    return resp;
}

/* A string or an array that is not there; RESP 3 has a type for it. */
static void *build_nil(const redisReadTask *task)
{
    return task->type == REDIS_REPLY_NIL ? NULL : place(task, RESP_NIL);
}

#if HIREDIS_MAJOR >= 1
static void *refuse_double(const redisReadTask *task, double value, char *text, size_t length)
{
    (void)task, (void)value, (void)text, (void)length;
    return NULL;
}

static void *refuse_bool(const redisReadTask *task, int value)
{
    (void)task, (void)value;
    return NULL;
}
#endif

static redisReplyObjectFunctions builder = {
    .createString = build_string,
    .createArray = build_array,
    .createInteger = build_integer,
    .createNil = build_nil,
#if HIREDIS_MAJOR >= 1
    .createDouble = refuse_double,
    .createBool = refuse_bool,
#endif
    .freeObject = resp_free,
};

/* ---- reading ---- */

struct resp_reader *resp_reader_new(void)
{
    struct resp_reader *reader = memory_new(sizeof *reader);
    reader->hiredis = redisReaderCreateWithFunctions(&builder);
    if (!reader->hiredis) {
        abort();
    }
    reader->hiredis->privdata = reader;
    resp_reader_set_bound(reader, RESP_MAX_BYTES);
    return reader;
}

void resp_reader_set_bound(struct resp_reader *reader, size_t n_bytes)
{
    size_t n_elements = n_bytes / RESP_BYTES_PER_ELEMENT;
    reader->max_bytes = n_bytes;
    reader->max_elements = n_elements < MAX_ELEMENTS ? n_elements : MAX_ELEMENTS;
}

struct resp_reader *resp_reader_free(struct resp_reader *reader)
{
    if (reader) {
        redisReaderFree(reader->hiredis);
        resp_free(reader->reply);
        free(reader);
    }
    return NULL;
}

void resp_reader_feed(struct resp_reader *reader, const char *bytes, size_t n)
{
    reader->n_bytes += n;
    redisReaderFeed(reader->hiredis, bytes, n);
}

/* Whether a line (such as an error) has grown too long without an end; a string begins with its
 * short length. */
static bool line_is_endless(const redisReader *hiredis)
{
    size_t n = hiredis->len - hiredis->pos;
    return n > MAX_LINE_BYTES &&
        !memmem(hiredis->buf + hiredis->pos, MAX_HEADER_BYTES, "\r\n", 2);
}

enum resp_next resp_reader_next(struct resp_reader *reader, const struct resp **replyp)
{
    void *reply = NULL;
    resp_free(reader->reply);
    reader->reply = NULL;
    if (redisReaderGetReply(reader->hiredis, &reply) != REDIS_OK) {
        return RESP_NONSENSE;
    }
    if (!reply) {
        bool is_good =
            reader->n_bytes <= reader->max_bytes && !line_is_endless(reader->hiredis);
        return is_good ? RESP_MORE : RESP_NONSENSE;
    }
    reader->n_bytes = reader->hiredis->len - reader->hiredis->pos;
    reader->n_elements = 0;
    *replyp = reader->reply = reply;
    return RESP_REPLY;
}

/* ---- writing ---- */

char *resp_command(size_t argc, const char *const argv[], const size_t lengths[], size_t *np)
{
    char *bytes = NULL;
    long long n = redisFormatCommandArgv(&bytes, (int)argc, (const char **)argv, lengths);
    if (n < 0) {
        abort(); /* no memory */
    }
    *np = (size_t)n;
    return bytes;
}

void resp_add_command(struct text *out, const char *const words[])
{
    size_t n_words = 0, n;
    while (words[n_words]) {
        n_words++;
    }
    char *bytes = resp_command(n_words, words, NULL, &n);
    text_add_bytes(out, bytes, n);
    explicit_bzero(bytes, n); /* there may be a password in it */
    free(bytes);
}
