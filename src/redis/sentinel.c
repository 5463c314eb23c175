#include "redis/sentinel.h"

#include "base/memory.h"
#include "redis/dial.h"
#include "redis/one_line.h"
#include "redis/secret.h"
#include "redis/tls.h"

#include <stdlib.h>
#include <string.h>

#define LONGEST_STEP (NANOSECONDS_PER_SECOND / 2)

struct sentinel {
    uv_loop_t *loop;
    const struct database *database;
    struct sentinel_order order;
    size_t next; /* index in .order */
    struct tls_context *tls; /* or NULL */
    char *password;
    nanoseconds timeout;
    sentinel_done *done;
    void *context;
    struct dial *dial; /* for the Sentinel being asked, one of these */
    struct stream *stream;
    bool is_authenticating; /* the reply to AUTH comes first */
    char why[ONE_LINE_BYTES]; /* of all so far */
};

/* ---- the order ---- */

void sentinel_order_init(struct sentinel_order *order, size_t n)
{
    order->n = n;
    for (size_t i = 0; i < n; i++) {
        order->index[i] = (uint8_t)i;
    }
}

static size_t order_find(const struct sentinel_order *order, uint8_t index)
{
    size_t at = 0;
    while (order->index[at] != index) {
        at++;
    }
    return at;
}

void sentinel_order_first(struct sentinel_order *order, uint8_t index)
{
    size_t at = order_find(order, index);
    memmove(order->index + 1, order->index, at);
    order->index[0] = index;
}

void sentinel_order_last(struct sentinel_order *order, uint8_t index)
{
    size_t at = order_find(order, index);
    memmove(order->index + at, order->index + at + 1, order->n - at - 1);
    order->index[order->n - 1] = index;
}

/* ---- the end ---- */

struct sentinel *sentinel_cancel(struct sentinel *sentinel)
{
    if (sentinel) {
        dial_cancel(sentinel->dial);
        stream_close(sentinel->stream);
        secret_free(sentinel->password);
        tls_context_unref(sentinel->tls);
        free(sentinel);
    }
    return NULL;
}

static void sentinel_end(struct sentinel *sentinel, const struct sentinel_answer *answer)
{
    char why[ONE_LINE_BYTES];
    sentinel_done *done = sentinel->done;
    void *context = sentinel->context;
    format_one_line(why, sizeof why, "%s", sentinel->why);
    /* The answer points into the stream's reader, which lives until the loop has closed the
     * stream. */
    sentinel_cancel(sentinel);
    done(context, answer, why);
}

/* ---- one after the other ---- */

static uint8_t sentinel_index(const struct sentinel *sentinel)
{
    return sentinel->order.index[sentinel->next];
}

static void ask_next(struct sentinel *sentinel);

static void on_failed(void *context, const char *why)
{
    struct sentinel *sentinel = context;
    const struct redis_host *host = &sentinel->database->url.hosts[sentinel_index(sentinel)];
    size_t length = strlen(sentinel->why);
    format_one_line(sentinel->why + length, sizeof sentinel->why - length, "%s%s:%u: %s",
        length ? "; " : "", host->host, host->port, why);
    sentinel->stream = stream_close(sentinel->stream);
    if (++sentinel->next < sentinel->order.n) {
        ask_next(sentinel);
    } else {
        sentinel_end(sentinel, NULL);
    }
}

static void sentinel_on_timer(void *context)
{
    on_failed(context, "no answer in time");
}

/* ---- the answer ---- */

static bool read_answer(const struct resp *reply, struct sentinel_answer *answer)
{
    if (reply->type != RESP_ARRAY || reply->n != 2 || reply->elements[0].type != RESP_STRING ||
        reply->elements[1].type != RESP_STRING) {
        return false;
    }
    char *end;
    unsigned long port = strtoul(reply->elements[1].text, &end, 10);
    answer->host = reply->elements[0].text;
    answer->port = (uint16_t)port;
    return answer->host[0] && !*end && port >= 1 && port <= UINT16_MAX;
}

#define UNKNOWN "ERR unknown command"

static void on_reply(void *context, const struct resp *reply)
{
    struct sentinel *sentinel = context;
    struct sentinel_answer answer = {.index = sentinel_index(sentinel)};
    if (reply->type == RESP_ERROR) {
        /* The reply to AUTH might repeat the password. */
        on_failed(sentinel,
            sentinel->is_authenticating ? "user or password not accepted"
                : strncmp(reply->text, UNKNOWN, strlen(UNKNOWN)) == 0
                ? "it is not a Sentinel: it does not know the command SENTINEL"
                : reply->text);
    } else if (sentinel->is_authenticating) {
        sentinel->is_authenticating = false;
        stream_set_timer(sentinel->stream, sentinel->timeout);
    } else if (read_answer(reply, &answer)) {
        sentinel_end(sentinel, &answer);
    } else {
        on_failed(sentinel,
            reply->type == RESP_NIL ? "it does not know this master"
                                    : "unexpected reply: is this a Sentinel?");
    }
}

/* ---- asking ---- */

static const struct stream_events events = {
    .on_reply = on_reply,
    .on_timer = sentinel_on_timer,
    .on_broken = on_failed,
};

static void on_dialed(void *context, struct stream *stream, const char *why)
{
    struct sentinel *sentinel = context;
    const char *user = sentinel->database->sentinel_user, *password = sentinel->password;
    struct text out = TEXT_INIT;
    sentinel->dial = NULL;
    if (!stream) {
        on_failed(sentinel, why);
        return;
    }
    sentinel->stream = stream;
    stream_hand_over(stream, &events, sentinel);
    sentinel->is_authenticating = password != NULL;
    if (password) {
        resp_add_command(&out,
            (const char *const[]){
                "AUTH", user ? user : password, user ? password : NULL, NULL});
        stream_send_text(stream, &out); /* by itself: what it erases has not been moved to grow */
    }
    resp_add_command(&out,
        (const char *const[]){
            "SENTINEL", "get-master-addr-by-name", sentinel->database->url.master, NULL});
    stream_send_text(stream, &out);
    stream_set_timer(stream, sentinel->timeout);
}

static void ask_next(struct sentinel *sentinel)
{
    const struct redis_host *host = &sentinel->database->url.hosts[sentinel_index(sentinel)];
    sentinel->dial = dial_tcp(sentinel->loop, host->host, host->port, sentinel->tls,
        sentinel->timeout, on_dialed, sentinel);
}

struct sentinel *sentinel_ask(uv_loop_t *loop, const struct database *database,
    const struct sentinel_order *order, struct tls_context *tls, const char *password,
    nanoseconds timeout, sentinel_done *done, void *context)
{
    struct sentinel *sentinel = memory_new(sizeof *sentinel);
    sentinel->loop = loop;
    sentinel->database = database;
    sentinel->order = *order;
    sentinel->tls = tls_context_ref(tls);
    sentinel->password = memory_string(password);
    sentinel->timeout = timeout < LONGEST_STEP ? timeout : LONGEST_STEP;
    sentinel->done = done;
    sentinel->context = context;
    ask_next(sentinel);
    return sentinel;
}
