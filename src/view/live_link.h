/* live_link.h - keeps a copy of what berthd shows up to date, over a connection that is made again
 * whenever it is lost. Never waits: its owner polls the connection, and the clock. */
#pragma once

#include "base/backoff.h"
#include "base/text.h"
#include "client/connection.h"
#include "view/live.h"

enum live_loss {
    LIVE_KEPT, /* nothing was lost */
    LIVE_AWAY, /* nobody answers, or the connection has ended */
    LIVE_REFUSED, /* .code says why */
    LIVE_NONSENSE, /* the server does not speak this protocol */
};

struct live_link {
    struct live live; /* each batch is taken at once: so the copy is always whole */
    struct endpoint endpoint;
    struct connection connection; /* .fd is to be polled; -1: there is none */
    bool is_kept; /* the copy is whole, and is kept up to date */
    bool has_changed; /* the copy, or .why; the owner sets it to false */
    uint64_t connections; /* how many have brought a whole copy */
    /* When live_link_act() is due: at once for the first time. NEVER: only lines are awaited. */
    nanoseconds due;

    /* Since the last whole batch: */
    enum live_loss loss;
    struct text why; /* in words, not escaped; or "" */
    enum code code; /* of LIVE_REFUSED; CODE_NONE: one that is not known here */
    nanoseconds lost_at; /* when the copy was good last; NEVER: it still is */

    /* private */
    const char *request;
    struct text batch; /* its lines so far, each with an LF */
    struct backoff backoff;
    nanoseconds now; /* while lines are taken */
    nanoseconds deadline; /* for the first line; 0: no connection is being made */
};

/* `request` is a line `watch`, with its LF, which must outlive the link. */
void live_link_init(
    struct live_link *link, const struct endpoint *endpoint, const char *request);
void live_link_deinit(struct live_link *link);

/* Makes the connection, or gives up one that does not answer. */
void live_link_act(struct live_link *link, nanoseconds now);
/* Reads once what is there. */
void live_link_read(struct live_link *link, nanoseconds now);
void live_link_close(struct live_link *link);
/* Says why the command has no picture to go on with. Returns the exit status. */
int live_link_complain(const struct live_link *link, const char *command);
