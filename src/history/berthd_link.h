/* berthd_link.h - the connection to berthd: its ring, and what users may see. It is made again
 * whenever it is lost; nobody waits for it for longer than 2 s. */
#pragma once

#include "base/backoff.h"
#include "client/connection.h"
#include "history/drain.h"
#include "history/sight.h"

#include <uv.h>

enum { MAX_SEEN_USERS = 64, GROUPS_BYTES = 3840 };

/* Who asks. */
struct sight_user {
    uint32_t uid;
    char *groups; /* "G,G"; owned */
};

/* What berthd has said of a user lately. */
struct known_sight {
    struct sight_user user;
    struct sight sight;
    nanoseconds at; /* when; 0: it has not */
    nanoseconds asked_at; /* when it was wanted last */
};

struct berthd_link {
    uv_loop_t *loop;
    struct endpoint endpoint;
    struct connection connection;
    struct drain *drain;
    void (*changed)(void *context); /* a ring, or what a user may see, has come */
    void *context;
    uv_poll_t *poll; /* while there is a connection */
    uv_timer_t timer; /* for the answer, or until the next try */
    struct backoff backoff;
    bool has_ring; /* berthd has answered `ring`, in whatever way */
    bool wants_ring; /* the one that it has passed is lost, or it had none */
    int passed_fd; /* with the answer that is being read; -1: none */
    struct known_sight *asked; /* whose answer is awaited; or NULL */
    struct sight incoming;
    struct known_sight known[MAX_SEEN_USERS];
    char *said; /* why there is no connection, as it was logged */
};

void berthd_link_init(struct berthd_link *link, uv_loop_t *loop, const struct endpoint *endpoint,
    struct drain *drain, void (*changed)(void *context), void *context);
void berthd_link_start(struct berthd_link *link);
/* Its handles are closed, once the loop has run. */
void berthd_link_stop(struct berthd_link *link);
void berthd_link_deinit(struct berthd_link *link);

/* The ring was cut: berthd is asked for another one. */
void berthd_link_ask_ring(struct berthd_link *link);
/* What that user may see; NULL: it is not known. *waitp: it may be soon. */
const struct sight *berthd_link_sight(
    struct berthd_link *link, const struct sight_user *user, bool *waitp);
