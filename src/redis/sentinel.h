/* sentinel.h - asks the Sentinels of a database, one after the other, which server is its master.
 * What they say may be out of date: whoever is told looks at the server itself. */
#ifndef BERTH_REDIS_SENTINEL_H
#define BERTH_REDIS_SENTINEL_H

#include "base/time.h"
#include "conf/redis_url.h"

#include <uv.h>

/* Which of url.hosts is asked first. */
struct sentinel_order {
    uint8_t index[MAX_SENTINELS];
    size_t n;
};

void sentinel_order_init(struct sentinel_order *order, size_t n);
/* What this one said was right, or not. */
void sentinel_order_first(struct sentinel_order *order, uint8_t index);
void sentinel_order_last(struct sentinel_order *order, uint8_t index);

struct sentinel_answer {
    const char *host; /* numeric, or a name */
    uint16_t port;
    uint8_t index; /* who said so */
};

struct sentinel;

/* Exactly once, never inside sentinel_ask(), not after sentinel_cancel(). `answer` NULL: none
 * knows, and `why`. Both good during the call only. */
typedef void sentinel_done(void *context, const struct sentinel_answer *answer, const char *why);

/* `url` must outlive it, the order and the password (or NULL) are copied. No step takes longer than
 * `timeout`, and a dead Sentinel costs half a second at most. */
struct sentinel *sentinel_ask(uv_loop_t *loop, const struct redis_url *url,
    const struct sentinel_order *order, const char *password, nanoseconds timeout,
    sentinel_done *done, void *context);
/* NULL is fine. Returns NULL. */
struct sentinel *sentinel_cancel(struct sentinel *sentinel);

#endif
