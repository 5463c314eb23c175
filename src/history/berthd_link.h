/* berthd_link.h - the connection to berthd: its ring, and what users may see. It is made again
 * whenever it is lost. */
#pragma once

#include "base/backoff.h"
#include "base/text.h"
#include "client/connection.h"
#include "history/drain.h"
#include "history/sight.h"

struct berthd_link {
    struct endpoint endpoint;
    struct connection connection;
    struct drain *drain;
    struct backoff backoff;
    bool has_answered; /* berthd, on this connection, to `ring` */
    nanoseconds act_at; /* connects, asks again, or gives up */
    struct text said; /* why there is no ring, as it was logged */
};

void berthd_link_init(
    struct berthd_link *link, const struct endpoint *endpoint, struct drain *drain);
void berthd_link_deinit(struct berthd_link *link);
/* Looks at the connection, which takes 100 ms at most. */
void berthd_link_look(struct berthd_link *link, nanoseconds now);
/* While there has been no ring yet, and berthd has been asked for it: looks for the answer, which
 * takes 10 ms at most. False: nothing is awaited. */
bool berthd_link_await_ring(struct berthd_link *link);
/* Asks what the user may see who is in these groups, "G,G": waits for up to 700 ms. False: berthd
 * is down, or silent; the connection is lost then, so that the next one need not wait. */
bool berthd_link_ask_sight(
    struct berthd_link *link, uint32_t uid, const char *groups, struct sight *sight);
