/* berth_web.c - berth-web from its start to its end. */
#include "config.h"

#include "base/memory.h"
#include "base/time.h"
#include "client/endpoint.h"
#include "client/random.h"
#include "log/log.h"
#include "service/daemon_options.h"
#include "service/manager.h"
#include "view/users.h"
#include "web/web.h"
#include "web/web_listener.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sysexits.h>
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

static void set_name(struct web *web)
{
    if (gethostname(web->host, sizeof web->host - 1) < 0) {
        strcpy(web->host, "localhost");
    }
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
    set_name(web);
    follower_init(&web->follower, web->loop, endpoint, on_follower_change, service);
    user_name = user_look_up;
    feed_init(&web->feed, &web->follower.link.live, random_bits());
    long_polls_init(&web->polls, web);
    fleet_look_init(&web->fleet_look, web);
    past_looks_init(&web->past_looks, web);
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
    follower_stop(&web->follower);
    if (web->http) {
        long_polls_deinit(&web->polls);
        scrape_deinit(&web->scrape);
        past_looks_deinit(&web->past_looks);
    }
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
    uv_loop_close(web->loop);
}

/* Serves until SIGTERM or SIGINT. Takes the listener's descriptor over. When browsers can connect
 * it writes the listener's name to `ready_fd`, if that is not negative, and closes it. False
 * (logged): it could not begin. */
static bool web_serve(const struct web_conf *conf, const struct endpoint *endpoint,
    const struct web_listener *listener, int ready_fd)
{
    static struct service service;
    struct web *web = &service.web;
    service.listener = listener;
    service.ready_fd = ready_fd;
    service.http_settings = (struct http_settings){
        .hosts = &conf->hosts, .take = routes_take, .context = web};
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

/* ---- the command line ---- */

struct web_options {
    struct daemon_options common;
    const char *socket, *listen; /* NULL: not given */
};

#define TO(set, member) set, offsetof(struct web_options, member)

static const struct option_row rows[] = {
    {'c', 1, "config", "FILE", TO(option_set_text, common.conf_path),
        "the configuration; else " SYSCONFDIR "/berth/berth-web.conf, if it\nis there"},
    {'S', 1, "socket", "PATH", TO(option_set_text, socket),
        "the socket of berthd; \"user\" is that of your own"},
    {'l', 1, "listen", "WHERE", TO(option_set_text, listen),
        "an address of loopback with a port, or the path of a Unix socket;\n"
        "else " WEB_LISTEN_DEFAULT},
    {0, 1, "check", NULL, TO(option_set_true, common.check_only), "only check the configuration"},
    DAEMON_OPTION_ROWS(
        "berth-web", "write where it serves to descriptor N when browsers can connect"),
};

static const struct daemon_usage usage = {
    .head =
        "usage: berth-web [-c FILE] [-S PATH] [-l ADDRESS:PORT|PATH] [--check] [--ready-fd N] [-v]\n"
        "\n"
        "Shows what berthd shows, and what has ended, as a web page for this host.\n",
    .rows = rows,
    .more = "More: man berth-web\n",
};

static struct web_options parse_options(char **argv)
{
    struct web_options options = {.common.ready_fd = -1};
    daemon_options_read(&options.common, &usage, argv);
    const char *wrong = options.listen ? web_listener_explain(options.listen) : NULL;
    if (wrong) {
        fprintf(stderr, "berth-web: --listen %s: %s\n", options.listen, wrong);
        exit(EX_USAGE);
    }
    return options;
}

/* Each connection is a descriptor. */
static void allow_many_files(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

/* False (logged). */
static bool listen_at(struct web_listener *listener, const struct web_options *options,
    const struct web_conf *conf)
{
    bool is_there;
    const char *where = options->listen ? options->listen : conf->listen;
    if (!web_listener_take(listener, &is_there)) {
        return false;
    }
    if (is_there) {
        if (where) {
            log_warning("listen = %s is ignored: the service manager has made %s", where,
                listener->name);
        }
        return true;
    }
    return web_listener_open(listener, where ? where : WEB_LISTEN_DEFAULT);
}

/* Returns the exit status. */
static int berth_web_run(const struct web_options *options, const struct web_conf *conf)
{
    static struct web_listener listener;
    struct endpoint endpoint;
    if (!endpoint_choose(&endpoint, options->socket ? options->socket : conf->socket)) {
        log_error("the path of berthd's socket is empty or too long");
        return EX_CONFIG;
    }
    bool is_serving = listen_at(&listener, options, conf) &&
        web_serve(conf, &endpoint, &listener, options->common.ready_fd);
    web_listener_close(&listener);
    return is_serving ? EXIT_SUCCESS : EX_UNAVAILABLE;
}

/* Returns the exit status. */
static int say_right(void)
{
    return puts("OK") >= 0 && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    (void)argc;
    log_program = "berth-web";
    struct web_options options = parse_options(argv);
    daemon_options_log(&options.common);
    struct web_conf conf = {0};
    int status = EX_CONFIG;
    if (web_conf_read(&conf, options.common.conf_path)) {
        allow_many_files();
        status = options.common.check_only ? say_right() : berth_web_run(&options, &conf);
    }
    if (status != EXIT_SUCCESS && !options.common.check_only) {
        manager_not_started(log_last_error());
    }
    web_conf_deinit(&conf);
    return status;
}
