/* top_feed.h - what berthd shows, followed over a connection that is made again whenever it is
 * lost. Never waits. */
#ifndef BERTH_BERTHCTL_TOP_FEED_H
#define BERTH_BERTHCTL_TOP_FEED_H

#include "base/backoff.h"
#include "base/text.h"
#include "client/connection.h"
#include "view/live.h"

struct top_feed {
    const struct endpoint *endpoint;
    struct connection connection;
    struct live live;
    struct text batch; /* its lines so far, each with an LF */
    struct backoff backoff;
    nanoseconds retry_at; /* without a connection */
    nanoseconds lost_at; /* the picture was good until then; NEVER: it still is */
    bool has_changed; /* since top_feed_picture() */
    struct text trouble; /* why there is no connection, escaped; or "" */
    enum code refused; /* CODE_NONE; or berthd will not have us: .trouble says why */
};

/* Makes the first connection. 0, or the error of connection_open(). */
int top_feed_begin(struct top_feed *feed, const struct endpoint *endpoint, nanoseconds now);
void top_feed_end(struct top_feed *feed);

/* Reads what is there. */
void top_feed_read(struct top_feed *feed, nanoseconds now);

/* When it has to try again; NEVER: it has a connection. */
nanoseconds top_feed_due(const struct top_feed *feed);
void top_feed_retry(struct top_feed *feed, nanoseconds now);

/* The last whole picture, as it is now, or was last; NULL: there was none yet. */
const struct status *top_feed_picture(struct top_feed *feed, nanoseconds now);

#endif
