/* link.h - the way to one Redis: two connections (commands, pub/sub) on libuv streams, made ready
 * (handshake.h: AUTH, SELECT, INFO, scripts, SUBSCRIBE). When either breaks, both are made again,
 * with jittered back-off, and the server is looked up each time (Sentinel, names). Knows bytes and
 * scripts, no leases.
 *
 * Every call is answered exactly once by on_reply, or else on_down makes its outcome unknown. No
 * callback runs inside a call of these functions. SIGPIPE must be ignored. */
#pragma once

#include "base/time.h"
#include "conf/redis_url.h"
#include "fleet/link_info.h"
#include "redis/resp.h"
#include "redis/scripts.h"

#include <uv.h>

struct link;
struct tls_context;

struct link_events {
    /* Both connections are ready, nothing has been sent yet. */
    void (*on_ready)(void *context, const struct link_info *info);
    void (*on_reply)(void *context, uint64_t tag, const struct resp *reply);
    void (*on_message)(void *context, const char *text, size_t length);
    /* The link was ready and is no longer, or could not be made ready; it tries again by itself.
     * Calls in flight are forgotten. `why` is one line for the log and status. Called for each
     * failed try. `refused`: the server is there, but must not be used (guards). */
    void (*on_down)(void *context, const char *why, bool refused);
};

struct link_options {
    const struct database *database; /* must outlive the link */
    const char *session; /* the one whose channel is subscribed to; copied */
    const char *client_name; /* what the server is to call both connections; copied; or NULL */
    /* For the lookup, for each address, for each step of making ready. The connection for messages
     * is pinged after each two timeouts, and has one timeout to answer. */
    nanoseconds timeout;
};

/* Starts connecting at once. The database's name is only for log messages. */
struct link *link_new(uv_loop_t *loop, const struct link_options *options,
    const struct link_events *events, void *context);
/* Only while the link is ready. Adds the database's keys. Copies. The kernel gets all calls of one
 * turn of the loop together, at its end: before the loop waits. */
void link_call(struct link *link, const struct script_call *wanted);
/* Hands the calls to the kernel now, as far as it takes them: before link_close(). */
void link_flush(struct link *link);
/* Many clients use the server: when the link has broken, all come back within `span`. 0: few do. */
void link_spread(struct link *link, nanoseconds span);
/* Gives both connections up, as if they had broken; on_down follows, in another turn. Does nothing
 * while it is due already, or the link waits for its next try. */
void link_fail(struct link *link, const char *why);
/* New connections use these certificates, of which the link keeps a reference; those that are there
 * stay. Only for a database whose url asks for TLS. */
void link_use_tls(struct link *link, struct tls_context *tls);
/* No callback comes afterwards. The link frees itself once the loop has closed its handles. */
void link_close(struct link *link);
/* Whether the loop would not end before a lookup has timed out in the resolver, or a file is read.
 */
bool link_is_looking_up(void);
