#include "web/web_serve.h"

#include "base/memory.h"
#include "base/time.h"
#include "client/random.h"
#include "log/log.h"
#include "service/manager.h"
#include "view/json.h"
#include "view/users.h"
#include "web/recorder.h"
#include "web/web.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* For the first answer of berthd, in milliseconds. */
enum { LONGEST_PATIENCE = 1000 };

struct service {
    uv_loop_t loop;
    struct web web;
    struct http_settings http_settings;
    const struct web_listener *listener;
    int ready_fd;
    bool has_begun; /* to take requests, or failed to */
    uv_signal_t on_term, on_int;
    uv_timer_t watchdog, patience;
};

/* ---- what is told ---- */

static void say_status(const struct service *service, const char *more)
{
    const struct follower *follower = &service->web.follower;
    char text[1024];
    snprintf(text, sizeof text, "%sSTATUS=serving %.200s; %.600s", more, service->listener->name,
        follower->link.is_kept ? "following berthd" : follower->link.why.bytes);
    manager_notify(text);
}

/* ---- what changes ---- */

static void begin_serving(struct service *service);

static void on_follower_change(void *context)
{
    struct service *service = context;
    struct web *web = &service->web;
    static uint64_t events;
    begin_serving(service);
    if (events != web->follower.events) {
        events = web->follower.events;
        say_status(service, "");
    }
    recorder_note(web->recorder);
    long_polls_note(&web->polls);
}

static void on_watchdog(uv_timer_t *timer)
{
    (void)timer;
    manager_notify("WATCHDOG=1");
}

static void on_signal(uv_signal_t *signal, int number)
{
    (void)number;
    uv_stop(signal->loop);
}

/* ---- the start ---- */

static void set_names(struct web *web)
{
    struct text peers = TEXT_INIT;
    if (gethostname(web->host, sizeof web->host - 1) < 0) {
        strcpy(web->host, "localhost");
    }
    text_add(&peers, "[");
    for (size_t i = 0; i < web->conf->peers.n; i++) {
        char *url = memory_string(web->conf->peers.names[i]);
        size_t n = strlen(url);
        if (url[n - 1] == '/') {
            url[n - 1] = '\0';
        }
        text_add(&peers, i > 0 ? "," : "");
        json_add_string(url, &peers);
        free(url);
    }
    text_add(&peers, "]");
    web->peers = text_take(&peers);
    web->page_policy = routes_page_policy(web->conf);
}

static void begin_signals(struct service *service)
{
    signal(SIGPIPE, SIG_IGN);
    uv_signal_init(&service->loop, &service->on_term);
    uv_signal_init(&service->loop, &service->on_int);
    uv_signal_start(&service->on_term, on_signal, SIGTERM);
    uv_signal_start(&service->on_int, on_signal, SIGINT);
}

static void web_serve_begin(struct service *service, const struct endpoint *endpoint)
{
    struct web *web = &service->web;
    begin_signals(service);
    set_names(web);
    web->store = store_open(web->loop, web->conf->database, web->conf->retention);
    follower_init(&web->follower, web->loop, endpoint, on_follower_change, service);
    user_name = user_look_up;
    feed_init(&web->feed, &web->follower.link.live, random_bits());
    web->recorder = recorder_new(web);
    long_polls_init(&web->polls, web);
    fleet_look_init(&web->fleet_look, web);
    web->scrape.web = web;
    uv_timer_init(web->loop, &service->watchdog);
    uv_timer_init(web->loop, &service->patience);
}

static void say_ready(struct service *service)
{
    int ready_fd = service->ready_fd;
    uint64_t watchdog = milliseconds(manager_watchdog());
    log_info("serving %s", service->listener->name);
    if (manager_is_there()) {
        say_status(service, "READY=1\n");
    }
    if (watchdog > 0) {
        uint64_t pause = watchdog / 2 > 0 ? watchdog / 2 : 1;
        uv_timer_start(&service->watchdog, on_watchdog, pause, pause);
    }
    if (ready_fd >= 0) {
        dprintf(ready_fd, "%s\n", service->listener->name);
        close(ready_fd);
    }
}

/* Once it is known whether berthd answers: whoever has activated our socket must not hear that it
 * does not, because it was asked only now. */
static void begin_serving(struct service *service)
{
    struct web *web = &service->web;
    if (service->has_begun) {
        return;
    }
    service->has_begun = true;
    uv_timer_stop(&service->patience);
    web->http = http_open(web->loop, service->listener->fd, &service->http_settings);
    if (web->http) {
        say_ready(service);
    } else {
        uv_stop(web->loop);
    }
}

static void on_patience_ends(uv_timer_t *timer)
{
    begin_serving(container_of(timer, struct service, patience));
}

/* ---- the end ---- */

/* Requests that wait are answered while there is still somebody who can. */
static void web_serve_end(struct service *service)
{
    struct web *web = &service->web;
    manager_notify("STOPPING=1\nSTATUS=stopping");
    recorder_free(web->recorder);
    follower_stop(&web->follower);
    if (web->http) {
        long_polls_deinit(&web->polls);
        scrape_deinit(&web->scrape);
    }
    store_close(web->store);
    if (web->http) {
        http_close(web->http);
    }
    fleet_look_deinit(&web->fleet_look);
    service->has_begun = true;
    uv_close((uv_handle_t *)&service->watchdog, NULL);
    uv_close((uv_handle_t *)&service->patience, NULL);
    uv_close((uv_handle_t *)&service->on_term, NULL);
    uv_close((uv_handle_t *)&service->on_int, NULL);
    uv_run(web->loop, UV_RUN_DEFAULT);
    feed_deinit(&web->feed);
    follower_deinit(&web->follower);
    free(web->peers);
    free(web->page_policy);
    uv_loop_close(web->loop);
}

bool web_serve(const struct web_conf *conf, const struct endpoint *endpoint,
    const struct web_listener *listener, int ready_fd)
{
    static struct service service;
    struct web *web = &service.web;
    service.listener = listener;
    service.ready_fd = ready_fd;
    service.http_settings = (struct http_settings){
        .hosts = &conf->hosts, .origins = &conf->origins, .take = routes_take, .context = web};
    uv_loop_init(&service.loop);
    web->loop = &service.loop;
    web->conf = conf;
    web_serve_begin(&service, endpoint);
    follower_start(&web->follower);
    uv_timer_start(&service.patience, on_patience_ends, LONGEST_PATIENCE, 0);
    uv_run(web->loop, UV_RUN_DEFAULT);
    bool has_served = web->http || !service.has_begun;
    web_serve_end(&service);
    return has_served;
}
