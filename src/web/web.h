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
