/* link.h - the way to one Redis: two connections (commands, pub/sub) on libuv streams, made ready
 * (AUTH, SELECT, role, INFO, SCRIPT LOAD, SUBSCRIBE), made again with jittered back-off when either
 * breaks, re-resolved each time (Sentinel, names). It knows bytes and scripts, no leases.
 *
 * Every call is answered exactly once, in on_reply, or by on_down: then its outcome is unknown. No
 * callback runs inside a call of these functions. SIGPIPE must be ignored. */
#ifndef BERTH_REDIS_LINK_H
#define BERTH_REDIS_LINK_H

#include "base/time.h"
#include "conf/redis_url.h"
#include "fleet/link_info.h"
#include "redis/resp.h"
#include "redis/scripts.h"

#include <uv.h>

struct link;

struct link_events {
    /* Both connections are ready, nothing has been sent yet. */
    void (*on_ready)(void *context, const struct link_info *info);
    void (*on_reply)(void *context, uint64_t tag, const struct resp *reply);
    void (*on_message)(void *context, const char *text, size_t length);
    /* Was ready and is not any more, or could not be made ready: another try follows by itself.
     * Calls in flight are forgotten. `why` is one line for the log and status. Called for each
     * failed try. `refused`: the server is there, but must not be used (guards). */
    void (*on_down)(void *context, const char *why, bool refused);
};

struct link_options {
    const struct database *database; /* must outlive the link */
    const char *session; /* whose channel is subscribed to; copied */
    /* Of looking up, of each address, of each step of making ready. The connection for messages is
     * pinged each time twice as long has passed, and has so long to answer. */
    nanoseconds timeout;
};

/* Starts connecting at once. `name` of the database is for messages of the log only. */
struct link *link_new(uv_loop_t *loop, const struct link_options *options,
    const struct link_events *events, void *context);
/* Only while ready. The script's keys are added; `argv` are its ARGV. Copies. The bytes of all
 * calls of one turn of the loop are handed to the kernel together, at its end: before the loop
 * waits. */
void link_call(struct link *link, enum script script, size_t argc, const char *const argv[],
    const size_t lengths[], uint64_t tag);
/* Gives both connections up, as if they had broken; on_down follows. Nothing while it waits for the
 * next try. */
void link_reset(struct link *link, const char *why);
/* No callback any more; frees itself once the loop has closed its handles. */
void link_close(struct link *link);
/* Whether the loop would not end before the resolver's patience does. */
bool link_is_looking_up(void);

#endif
