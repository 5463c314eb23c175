/* sentinel.h - asks the Sentinels of a database, one after the other, which server is its master.
 * Their answer may be out of date: the caller checks the server itself. */
#pragma once

#include "base/time.h"
#include "conf/redis_url.h"

#include <uv.h>

struct tls_context;

/* Which entry of url.hosts is asked first. */
struct sentinel_order {
    uint8_t index[MAX_HOSTS];
    size_t n;
};

void sentinel_order_init(struct sentinel_order *order, size_t n);
/* The answer of this Sentinel was right, or it was not. */
void sentinel_order_first(struct sentinel_order *order, uint8_t index);
void sentinel_order_last(struct sentinel_order *order, uint8_t index);

struct sentinel_answer {
    const char *host; /* numeric, or a name */
    uint16_t port;
    uint8_t index; /* the Sentinel that answered */
};

struct sentinel;

/* Called exactly once, but never inside sentinel_ask() or after sentinel_cancel(). `answer` is NULL
 * if no Sentinel knows, for the reason `why`. Both are good during the call only. */
typedef void sentinel_done(void *context, const struct sentinel_answer *answer, const char *why);

/* The database must outlive the question; the order and the password (or NULL) are copied, and it
 * keeps a reference of `tls` (NULL: plain connections). No step takes longer than `timeout`, and a
 * dead Sentinel costs half a second at most. */
struct sentinel *sentinel_ask(uv_loop_t *loop, const struct database *database,
    const struct sentinel_order *order, struct tls_context *tls, const char *password,
    nanoseconds timeout, sentinel_done *done, void *context);
/* Accepts NULL; returns NULL. */
struct sentinel *sentinel_cancel(struct sentinel *sentinel);
