/* web.h - all that berth-web has, for its routes. */
#pragma once

#include "web/feed.h"
#include "web/follow_berthd.h"
#include "web/http.h"
#include "web/store.h"
#include "web/web_conf.h"

struct fleet_look;
struct long_polls;
struct recorder;
struct scrape;

struct web {
    uv_loop_t *loop;
    const struct web_conf *conf;
    char host[256]; /* this one's name */
    char *peers; /* JSON; owned */
    char *page_policy; /* owned */
    struct follower follower;
    struct feed feed;
    struct store *store;
    struct http *http;
    struct recorder *recorder;
    struct fleet_look *fleet_look;
    struct long_polls *polls;
    struct scrape *scrape;
};

/* ---- fleet_look.c ---- */

/* The hosts of the fleet, asked for while somebody reads. */

/* `changed` is called when other hosts are there, or hold or wait for something else. */
struct fleet_look *fleet_look_new(struct web *web, void (*changed)(struct web *web));
/* The loop must run once more. */
void fleet_look_free(struct fleet_look *look);
/* Somebody has asked: looks again, if the last time is a while ago. */
void fleet_look_note(struct fleet_look *look);

const char *fleet_look_json(const struct fleet_look *look); /* an array */
uint64_t fleet_look_events(const struct fleet_look *look); /* how often it has changed */

/* ---- long_polls.c ---- */

/* /status.json: at once, or as soon as something has changed after the serial that the reader
 * has. */

struct long_polls *long_polls_new(struct web *web);
/* Answers all. The loop must run once more. */
void long_polls_free(struct long_polls *polls);

void long_polls_take(struct long_polls *polls, struct http_request *request);
/* The copy, or what is said beside it, has changed. */
void long_polls_note(struct long_polls *polls);
/* Whether somebody has asked in the last minute. */
bool long_polls_are_read(const struct long_polls *polls);
size_t long_polls_waiting(const struct long_polls *polls);

/* ---- routes.c ---- */

/* What is answered to which path. */

/* Of struct http_settings; the context is the web. */
void routes_take(void *web, struct http_request *request);

/* The header of the page; the caller frees it. */
char *routes_page_policy(const struct web_conf *conf);

/* ---- scrape.c ---- */

/* /metrics: berthd's metrics, fetched on demand, followed by berth-web's own. */

struct scrape *scrape_new(struct web *web);
/* Answers all. */
void scrape_free(struct scrape *scrape);
void scrape_take(struct scrape *scrape, struct http_request *request);
