/* link_internal.h - shared by link.c (makes a link, again if necessary) and link_calls.c (what a
 * link that is up does). */
#pragma once

#include "base/backoff.h"
#include "redis/dial.h"
#include "redis/handshake.h"
#include "redis/link.h"
#include "redis/old_libraries.h"
#include "redis/route.h"
#include "redis/same_server.h"
#include "redis/sentinel.h"
#include "redis/stream.h"
#include "redis/tls_load.h"

#include <sys/queue.h>

enum link_state {
    LINK_WAITING, /* for the next try */
    LINK_CONNECTING, /* until both connections are ready */
    LINK_UP,
    LINK_FAILED, /* on_down is due */
    LINK_CLOSED,
};

struct link_call;
typedef void link_takes_reply(struct link *link, struct link_call *call, const struct resp *reply);

struct link_call {
    STAILQ_ENTRY(link_call) link;
    link_takes_reply *take; /* what its reply is handed to */
    const struct script_set *set; /* what is called, or loaded */
    unsigned n_loads; /* how often it was sent again behind what it lacked */
    uint64_t tag; /* of a call of the session */
    char *bytes; /* owned: what was sent */
    size_t n;
};

STAILQ_HEAD(link_calls, link_call);

struct link {
    uv_loop_t *loop;
    const struct database *database;
    char *client_name; /* owned; or NULL */
    nanoseconds timeout;
    const struct link_events *events;
    void *context;
    struct keys keys;

    enum link_state state;
    uv_timer_t timer; /* WAITING: the next try; FAILED: on_down; UP: link_send_postponed() */
    struct backoff backoff;
    nanoseconds longest_pause; /* between tries; short where leases do not last long */
    nanoseconds spread; /* over which all clients come back; 0: there are few */
    uint64_t up_since; /* uv_now() */
    bool was_up; /* when it broke, or could not be made ready */
    char why[ONE_LINE_BYTES];
    bool refused;

    struct tls_context *tls; /* of new connections; NULL: plain ones, or not read yet */
    struct tls_load *load; /* while files are read, or a Sentinel or a connection is tried, one of
                              these */
    struct sentinel *sentinel;
    struct dial *dial;
    struct sentinel_order order;
    uint8_t named_by; /* the Sentinel that named the master */
    bool is_named;
    struct stream *commands, *messages; /* or NULL */
    struct route route; /* in a cluster */
    struct handshake ready; /* of the connection that is being made ready */
    struct known_server known; /* the server last reached */
    struct same_server same; /* do both connections reach it? */
    struct link_info info;

    bool has_library; /* functions are called; else the script */
    const struct script_set *set; /* of the last call: the next connection needs it */
    const struct script_set *loading; /* what is being loaded, again; or NULL */
    struct link_calls calls;
    struct link_calls postponed; /* to be sent again, as the keys are at two nodes */
    uint64_t postponed_since; /* uv_now() */
    unsigned n_postponed; /* times in a row */
    struct old_libraries old_libraries;
    uint64_t sweeps_at; /* uv_now(); the sweep before has long ended, or its link */
    bool is_pinged;
};

/* The node has answered that not all of our keys are there: dials the one that has them, or says
 * why that is not possible. */
void link_redirected(struct link *link, const struct redirection *redirection, const char *error);
/* Calls link_send_postponed() after so many ms. */
void link_wake_after(struct link *link, uint64_t ms);

/* Forgets them all. */
void calls_clear(struct link_calls *calls);
/* A reply on a link that is up. */
void link_take_reply(struct link *link, const struct resp *reply);
void link_send_postponed(struct link *link);
void link_take_message(struct link *link, const struct resp *reply);
/* The heartbeat of the connection for messages. */
void link_heartbeat_begin(struct link *link);
void link_heartbeat_tick(struct link *link);
