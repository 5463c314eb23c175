/* web.h - all that berth-web has, for its routes. */
#pragma once

#include "view/prometheus.h"
#include "view/status.h"
#include "web/feed.h"
#include "web/follow_berthd.h"
#include "web/http.h"
#include "web/past_ask.h"
#include "web/web_conf.h"

#include <sys/queue.h>
#include <uv.h>

/* The hosts of the fleet, asked for while somebody reads: fleet_look.c. */
struct fleet_look {
    struct web *web;
    uv_timer_t timer;
    struct berthd_request *talk;
    struct status status; /* the answer, as far as it has come */
    struct text json, gone; /* of the last one: arrays, of hosts and of those that are gone */
    uint64_t hash; /* of all but how long ago they were heard */
    uint64_t events; /* how often they were others, or held or waited for something else */
    nanoseconds asked_at;
};

/* An answer that was made. */
struct made {
    struct http_bytes *bytes; /* NULL: none */
    struct feed_serial after, serial;
    nanoseconds at, again_at; /* when it was made, and may be made again */
};

/* /status.json: at once, or as soon as something has changed after the serial that the reader has:
 * long_polls.c. */
struct long_polls {
    struct web *web;
    TAILQ_HEAD(poll_list, long_poll) waiting; /* the one that has waited longest first */
    size_t n_waiting;
    struct made full, changes;
    nanoseconds read_at, next_at; /* not before that are waiting ones answered */
    uv_timer_t timer;
};

/* /history.json: each question is asked once for all who ask it at that time: past_looks.c. */
struct past_looks {
    struct web *web;
    struct past_asker asker;
    TAILQ_HEAD(past_look_list, past_look) list; /* the oldest first */
    size_t n, n_asked;
    uv_timer_t timer; /* while answers are kept */
};

/* /metrics: berthd's metrics, fetched on demand, followed by berth-web's own: scrape.c. */
struct scrape {
    struct web *web;
    struct http_request **waiting;
    size_t n_waiting;
    struct http_bytes *made; /* NULL: none */
    nanoseconds made_at;

    /* While berthd is asked, in one answer after another: */
    bool is_asking;
    struct berthd_request *talk;
    struct metrics_asking asking;
};

struct web {
    uv_loop_t *loop;
    const struct web_conf *conf;
    char host[256]; /* this one's name */
    struct follower follower;
    struct feed feed;
    struct http *http;
    struct fleet_look fleet_look;
    struct long_polls polls;
    struct past_looks past_looks;
    struct scrape scrape;
};

/* Those that begin do so with the loop; it must run once more after their ends. */

void fleet_look_init(struct fleet_look *look, struct web *web);
void fleet_look_deinit(struct fleet_look *look);
/* Somebody has asked: looks again, if the last time is a while ago. */
void fleet_look_note(struct fleet_look *look);

void long_polls_init(struct long_polls *polls, struct web *web);
/* Answers all. */
void long_polls_deinit(struct long_polls *polls);
void long_polls_take(struct long_polls *polls, struct http_request *request);
/* The copy, or what is said beside it, has changed. */
void long_polls_note(struct long_polls *polls);
/* Whether somebody has asked in the last minute. */
bool long_polls_are_read(const struct long_polls *polls);

void past_looks_init(struct past_looks *looks, struct web *web);
/* Answers all. */
void past_looks_deinit(struct past_looks *looks);
void past_looks_take(struct past_looks *looks, struct http_request *request);

void scrape_take(struct scrape *scrape, struct http_request *request);
/* Answers all. */
void scrape_deinit(struct scrape *scrape);

/* ---- routes.c ---- */

/* What is answered to which path. */

/* Of struct http_settings; the context is the web. */
void routes_take(void *web, struct http_request *request);
