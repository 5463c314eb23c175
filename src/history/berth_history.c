/* berth_history.c - berth-history from its start to its end: one thread, one loop. SQLite makes it
 * wait for the disk: one that hangs stops berth-history alone. */
#include "config.h"

#include "admission/listener.h"
#include "base/clock.h"
#include "base/memory.h"
#include "client/endpoint.h"
#include "history/berthd_link.h"
#include "history/history_conf.h"
#include "history/visitors.h"
#include "journal/paths.h"
#include "log/log.h"
#include "service/daemon_options.h"
#include "service/manager.h"

#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

enum {
    BACKLOG = 64,
    SOON_MS = 100, /* the next look at the ring, while entries come */
    LATER_MS = 1000,
    RETRY_MS = 2000, /* while the days cannot be written */
    TEND_SECONDS = 30,
    SEEN_SECONDS = 600, /* it is written down that nothing has come */
};

#define DRAIN_FOR (30 * NANOSECONDS_PER_MILLISECOND) /* before an answer */
#define VIEW_GROUP "berth-view"

struct keeper {
    uv_loop_t loop;
    struct days days;
    struct drain drain;
    struct berthd_link link;
    struct visitors visitors;
    uv_timer_t look; /* at the ring */
    uv_timer_t watchdog;
    uv_signal_t on_term, on_int;
    nanoseconds tend_at, seen_at;
};

/* ---- turns ---- */

static int64_t wall_now(void)
{
    return (int64_t)milliseconds(clock_wall_now());
}

static void tend(struct keeper *keeper, nanoseconds now)
{
    if (now >= keeper->tend_at) {
        keeper->tend_at = now + TEND_SECONDS * NANOSECONDS_PER_SECOND;
        days_tend(&keeper->days, wall_now());
    }
    if (now >= keeper->seen_at && !keeper->days.why[0]) {
        keeper->seen_at = now + SEEN_SECONDS * NANOSECONDS_PER_SECOND;
        days_note_seen(&keeper->days, wall_now());
    }
}

static void on_look(uv_timer_t *timer)
{
    struct keeper *keeper = container_of(timer, struct keeper, look);
    uint64_t n_before = keeper->days.ring.serial;
    enum drain_result result = drain_step(&keeper->drain);
    uint64_t pause = result == DRAIN_MORE ? 0
        : result == DRAIN_FAILS           ? RETRY_MS
        : keeper->days.ring.serial > n_before ? SOON_MS
                                              : LATER_MS;
    if (keeper->drain.is_lost) {
        berthd_link_ask_ring(&keeper->link);
    }
    tend(keeper, clock_now());
    visitors_look(&keeper->visitors);
    uv_timer_start(timer, on_look, pause, 0);
}

/* What has just ended is in the answer; of much, what there is time for. */
static void drain_all(void *context)
{
    struct keeper *keeper = context;
    nanoseconds until = clock_now() + DRAIN_FOR;
    while (drain_step(&keeper->drain) == DRAIN_MORE && clock_now() < until) {
    }
}

static void on_link_change(void *context)
{
    struct keeper *keeper = context;
    if (keeper->drain.next_fd >= 0) {
        uv_timer_start(&keeper->look, on_look, 0, 0);
    }
    visitors_look(&keeper->visitors);
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

/* ---- start and end ---- */

static void begin(struct keeper *keeper, const struct endpoint *endpoint, int fd)
{
    const struct group *viewers = getgrnam(VIEW_GROUP);
    signal(SIGPIPE, SIG_IGN);
    drain_init(&keeper->drain, &keeper->days);
    uv_signal_init(&keeper->loop, &keeper->on_term);
    uv_signal_init(&keeper->loop, &keeper->on_int);
    uv_signal_start(&keeper->on_term, on_signal, SIGTERM);
    uv_signal_start(&keeper->on_int, on_signal, SIGINT);
    uv_timer_init(&keeper->loop, &keeper->look);
    uv_timer_init(&keeper->loop, &keeper->watchdog);
    berthd_link_init(
        &keeper->link, &keeper->loop, endpoint, &keeper->drain, on_link_change, keeper);
    keeper->visitors = (struct visitors){.loop = &keeper->loop,
        .days = &keeper->days,
        .link = &keeper->link,
        .drain_all = drain_all,
        .context = keeper,
        .view_group = viewers ? viewers->gr_gid : (gid_t)-1};
    visitors_begin(&keeper->visitors, fd);
    keeper->tend_at = keeper->seen_at = clock_now() + TEND_SECONDS * NANOSECONDS_PER_SECOND;
    berthd_link_start(&keeper->link);
    on_look(&keeper->look);
}

static void say_ready(struct keeper *keeper, const char *socket, int ready_fd)
{
    uint64_t watchdog = milliseconds(manager_watchdog());
    log_info("answering at %s, from %s", socket, keeper->days.directory);
    if (manager_is_there()) {
        manager_notify("READY=1\nSTATUS=keeping the history");
    }
    if (watchdog > 0) {
        uint64_t pause = watchdog / 2 > 0 ? watchdog / 2 : 1;
        uv_timer_start(&keeper->watchdog, on_watchdog, pause, pause);
    }
    if (ready_fd >= 0) {
        dprintf(ready_fd, "%s\n", socket);
        close(ready_fd);
    }
}

/* Keeps what it can still read. */
static void end(struct keeper *keeper)
{
    manager_notify("STOPPING=1\nSTATUS=stopping");
    enum drain_result result;
    while ((result = drain_step(&keeper->drain)) == DRAIN_MORE) {
    }
    if (result == DRAIN_DONE) {
        days_note_seen(&keeper->days, wall_now());
    }
    visitors_end(&keeper->visitors);
    berthd_link_stop(&keeper->link);
    uv_close((uv_handle_t *)&keeper->look, NULL);
    uv_close((uv_handle_t *)&keeper->watchdog, NULL);
    uv_close((uv_handle_t *)&keeper->on_term, NULL);
    uv_close((uv_handle_t *)&keeper->on_int, NULL);
    uv_run(&keeper->loop, UV_RUN_DEFAULT);
    berthd_link_deinit(&keeper->link);
    drain_deinit(&keeper->drain);
}

/* ---- the command line ---- */

struct history_options {
    struct daemon_options common;
    const char *socket, *listen; /* NULL: not given */
};

#define TO(set, member) set, offsetof(struct history_options, member)

static const struct option_row rows[] = {
    {'c', 1, "config", "FILE", TO(option_set_text, common.conf_path),
        "the configuration; else " SYSCONFDIR "/berth/berth-history.conf, if\nit is there"},
    {'S', 1, "socket", "PATH", TO(option_set_text, socket),
        "the socket of berthd; \"user\" is that of your own"},
    {'L', 1, "listen", "PATH", TO(option_set_text, listen),
        "where to answer; else beside the socket of berthd"},
    {0, 1, "check", NULL, TO(option_set_true, common.check_only), "only check the configuration"},
    {0, 1, "ready-fd", "N", TO(option_set_fd, common.ready_fd),
        "write where it answers to descriptor N when it does"},
    {'v', 1, "verbose", NULL, TO(option_set_true, common.verbose), "log more"},
    {'h', 1, "help", NULL, TO(option_set_true, common.help), "this text"},
    {0, 1, "version", NULL, TO(option_set_true, common.version), "berth-history's version"},
    {0},
};

static const struct daemon_usage usage = {
    .head = "usage: berth-history [-c FILE] [-S PATH] [-L PATH] [--check] [--ready-fd N] [-v]\n"
            "\n"
            "Keeps what has ended on this host for days, and answers `history`.\n",
    .rows = rows,
    .more = "More: man berth-history\n",
};

/* False (logged). */
static bool listen_at(struct listener *listener, const char *path)
{
    struct inherited inherited;
    if (!inherited_take(&inherited)) {
        return false;
    }
    if (inherited.fd >= 0) { /* the days are locked: no need for another lock */
        listener->fd = inherited.fd;
        listener->path = memory_string(inherited.path);
        return true;
    }
    if (!listener_open(listener, path, 0666)) {
        return false;
    }
    if (listen(listener->fd, BACKLOG) < 0) {
        log_error("%s: cannot listen: %m", path);
        return false;
    }
    return true;
}

/* Returns the exit status. */
static int serve(const struct history_options *options, const struct history_conf *conf)
{
    static struct keeper keeper;
    struct listener listener = LISTENER_INIT;
    struct endpoint endpoint;
    char berthd[PATH_MAX], at[PATH_MAX], directory[PATH_MAX];
    if (!endpoint_choose(&endpoint, options->socket)) {
        log_error("the path of berthd's socket is empty or too long");
        return EX_CONFIG;
    }
    endpoint_absolute(&endpoint, berthd);
    if (!path_of_history_socket(berthd, at, sizeof at) ||
        !path_in_state_directory(berthd, ".past", directory, sizeof directory)) {
        log_error("the path of berthd's socket is too long");
        return EX_CONFIG;
    }
    bool serves = listen_at(&listener, options->listen ? options->listen : at) &&
        days_open(&keeper.days, directory, conf->keep, conf->size);
    if (serves) {
        uv_loop_init(&keeper.loop);
        begin(&keeper, &endpoint, listener.fd);
        say_ready(&keeper, listener.path, options->common.ready_fd);
        uv_run(&keeper.loop, UV_RUN_DEFAULT);
        end(&keeper);
        uv_loop_close(&keeper.loop);
    }
    days_close(&keeper.days);
    listener_close(&listener);
    return serves ? EXIT_SUCCESS : EX_UNAVAILABLE;
}

int main(int argc, char **argv)
{
    (void)argc;
    log_program = "berth-history";
    struct history_options options = {.common.ready_fd = -1};
    struct history_conf conf;
    daemon_options_read(&options.common, &usage, argv);
    daemon_options_log(&options.common);
    int status = EX_CONFIG;
    if (history_conf_read(&conf, options.common.conf_path)) {
        status = options.common.check_only ? (puts("OK") >= 0 ? EXIT_SUCCESS : EXIT_FAILURE)
                                           : serve(&options, &conf);
    }
    if (status != EXIT_SUCCESS && !options.common.check_only) {
        manager_not_started(log_last_error());
    }
    return status;
}
