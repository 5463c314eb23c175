/* berth_history.c - berth-history from its start to its end: one thread, one loop. SQLite makes it
 * wait for the disk: one that hangs stops berth-history alone. */
#include "admission/listener.h"
#include "base/history_socket.h"
#include "base/memory.h"
#include "history/visitors.h"
#include "journal/paths.h"
#include "log/log.h"
#include "service/daemon_options.h"
#include "service/manager.h"
#include "service/program_conf.h"

#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <unistd.h>

#define DEFAULT_CONF SYSCONFDIR "/berth/berth-history.conf"
#define VIEW_GROUP "berth-view"
#define DAY (24 * 3600 * NANOSECONDS_PER_SECOND)

enum {
    BACKLOG = 64,
    SOON_MS = 100, /* the next look at the ring, while entries come, or berthd is looked for */
    LATER_MS = 1000,
    RETRY_MS = 2000, /* while the days cannot be written */
    TEND_SECONDS = 30,
};

struct keeper {
    uv_loop_t loop;
    struct days days;
    struct drain drain;
    struct berthd_link link;
    struct copies copies;
    struct visitors visitors;
    uv_timer_t timer;
    uv_signal_t on_term, on_int;
    nanoseconds tend_at;
};

/* ---- turns ---- */

static void on_timer(uv_timer_t *timer)
{
    struct keeper *keeper = container_of(timer, struct keeper, timer);
    nanoseconds now = clock_now();
    uint64_t before = keeper->days.committed.serial;
    berthd_link_look(&keeper->link, now);
    enum drain_result result = drain_step(&keeper->drain);
    bool is_soon = copies_look(&keeper->copies, now) ||
        keeper->days.committed.serial != before || !keeper->link.has_answered;
    if (now >= keeper->tend_at) {
        keeper->tend_at = now + TEND_SECONDS * NANOSECONDS_PER_SECOND;
        days_tend(&keeper->days, (int64_t)milliseconds(clock_wall_now()));
        copies_tend(&keeper->copies, (int64_t)milliseconds(clock_wall_now()));
    }
    visitors_look(&keeper->visitors, now);
    if (manager_watchdog() > 0) {
        manager_notify("WATCHDOG=1");
    }
    uint64_t pause = result == DRAIN_FAILS ? RETRY_MS
        : result == DRAIN_MORE             ? 0
        : is_soon                          ? SOON_MS
                                           : LATER_MS;
    uv_timer_start(timer, on_timer, pause, 0);
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
    berthd_link_init(&keeper->link, endpoint, &keeper->drain);
    uv_loop_init(&keeper->loop);
    uv_signal_init(&keeper->loop, &keeper->on_term);
    uv_signal_init(&keeper->loop, &keeper->on_int);
    uv_signal_start(&keeper->on_term, on_signal, SIGTERM);
    uv_signal_start(&keeper->on_int, on_signal, SIGINT);
    uv_timer_init(&keeper->loop, &keeper->timer);
    keeper->visitors = (struct visitors){.loop = &keeper->loop,
        .days = &keeper->days,
        .drain = &keeper->drain,
        .link = &keeper->link,
        .copies = &keeper->copies,
        .view_group = viewers ? viewers->gr_gid : (gid_t)-1};
    visitors_begin(&keeper->visitors, fd);
    on_timer(&keeper->timer);
}

static void say_ready(const struct keeper *keeper, const char *socket, int ready_fd)
{
    log_info("answering at %s, from %s", socket, keeper->days.directory);
    if (manager_is_there()) {
        manager_notify("READY=1\nSTATUS=keeping the history");
    }
    if (ready_fd >= 0) {
        dprintf(ready_fd, "%s\n", socket);
        close(ready_fd);
    }
}

/* Keeps what it can still read. */
static void end(struct keeper *keeper)
{
    enum drain_result result;
    manager_notify("STOPPING=1\nSTATUS=stopping");
    while ((result = drain_step(&keeper->drain)) == DRAIN_MORE) {
    }
    if (result == DRAIN_DONE) {
        drain_note_seen(&keeper->drain);
    }
    visitors_end(&keeper->visitors);
    uv_close((uv_handle_t *)&keeper->timer, NULL);
    uv_close((uv_handle_t *)&keeper->on_term, NULL);
    uv_close((uv_handle_t *)&keeper->on_int, NULL);
    uv_run(&keeper->loop, UV_RUN_DEFAULT);
    uv_loop_close(&keeper->loop);
    berthd_link_deinit(&keeper->link);
    drain_deinit(&keeper->drain);
    copies_end(&keeper->copies);
}

/* ---- the file ---- */

struct history_conf {
    nanoseconds keep;
    uint64_t size;
    bool databases;
};

static const char *set_keep(void *member, char *argument)
{
    nanoseconds *keep = member;
    return duration_parse(argument, keep) && *keep >= DAY
        ? NULL
        : "expected a duration from 1d to 3650d, such as 14d";
}

static const char *set_size(void *member, char *argument)
{
    uint64_t *size = member;
    return size_parse(argument, UINT64_C(1) << 40, size) && *size >= UINT64_C(1) << 20
        ? NULL
        : "expected a number of bytes from 1M to 1024G, such as 512M";
}

static const char *set_databases(void *member, char *argument)
{
    bool *databases = member;
    *databases = strcmp(argument, "yes") == 0;
    return *databases || strcmp(argument, "no") == 0 ? NULL : "expected yes or no";
}

static const struct conf_row keys[] = {
    {"keep", set_keep, offsetof(struct history_conf, keep)},
    {"size", set_size, offsetof(struct history_conf, size)},
    {"databases", set_databases, offsetof(struct history_conf, databases)},
    {0},
};

/* ---- the command line ---- */

struct history_options {
    struct daemon_options common;
    const char *socket, *listen; /* NULL: not given */
};

#define TO(set, member) set, offsetof(struct history_options, member)

static const struct option_row rows[] = {
    {'c', 1, "config", "FILE", TO(option_set_text, common.conf_path),
        "the configuration; else " DEFAULT_CONF ", if\nit is there"},
    {'S', 1, "socket", "PATH", TO(option_set_text, socket),
        "the socket of berthd; \"user\" is that of your own"},
    {'L', 1, "listen", "PATH", TO(option_set_text, listen),
        "where to answer; else beside the socket of berthd"},
    {0, 1, "check", NULL, TO(option_set_true, common.check_only), "only check the configuration"},
    DAEMON_OPTION_ROWS("berth-history", "write where it answers to descriptor N when it does"),
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
    if (inherited.fd >= 0) { /* the manager starts us once */
        listener->fd = inherited.fd;
        listener->path = memory_string(inherited.path);
        return true;
    }
    bool listens = listener_open(listener, path, 0666);
    if (listens && listen(listener->fd, BACKLOG) < 0) {
        log_error("%s: cannot listen: %m", path);
        return false;
    }
    return listens;
}

/* Returns the exit status. */
static int serve(const struct history_options *options, const struct history_conf *conf)
{
    static struct keeper keeper;
    struct listener listener = LISTENER_INIT;
    struct endpoint endpoint;
    char berthd[PATH_MAX], at[PATH_MAX], state[PATH_MAX], directory[PATH_MAX];
    bool is_path = endpoint_choose(&endpoint, options->socket);
    if (is_path) {
        endpoint_absolute(&endpoint, berthd);
    }
    if (!is_path || !path_of_history_socket(berthd, at, sizeof at) ||
        !path_of_state_directory(state, sizeof state) ||
        !path_in_state_directory(berthd, ".past", directory, sizeof directory)) {
        log_error("the path of berthd's socket is empty or too long");
        return EX_CONFIG;
    }
    mkdir(state, 0700); /* of a user's own; else it is there */
    bool serves = listen_at(&listener, options->listen ? options->listen : at) &&
        days_open(&keeper.days, directory, conf->keep, conf->size);
    if (serves && conf->databases) {
        copies_begin(&keeper.copies, &endpoint, directory, conf->keep, conf->size);
    }
    if (serves) {
        begin(&keeper, &endpoint, listener.fd);
        say_ready(&keeper, listener.path, options->common.ready_fd);
        uv_run(&keeper.loop, UV_RUN_DEFAULT);
        end(&keeper);
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
    struct history_conf conf = {.keep = 14 * DAY, .size = UINT64_C(512) << 20};
    daemon_options_read(&options.common, &usage, argv);
    daemon_options_log(&options.common);
    int status = EX_CONFIG;
    if (program_conf_read(options.common.conf_path, DEFAULT_CONF, "history", keys, &conf)) {
        status = options.common.check_only ? (puts("OK") >= 0 ? EXIT_SUCCESS : EXIT_FAILURE)
                                           : serve(&options, &conf);
    }
    if (status != EXIT_SUCCESS && !options.common.check_only) {
        manager_not_started(log_last_error());
    }
    return status;
}
