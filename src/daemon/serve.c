#include "daemon/serve.h"

#include "base/clock.h"
#include "base/memory.h"
#include "conn/command_call.h"
#include "conn/conn.h"
#include "database/client_events.h"
#include "database/fleet_sessions.h"
#include "database/follow_source.h"
#include "database/session_name.h"
#include "journal/paths.h"
#include "log/log.h"
#include "record/journal_log.h"
#include "redis/link.h"
#include "setup/settings.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sysexits.h>
#include <unistd.h>

enum { BACKLOG = 4096 };

/* ---- callbacks ---- */

/* From here on nothing is written down: the connections end, the leases do not. Nothing is granted
 * any more. */
static void stop(struct serving *serving)
{
    struct server *server = &serving->server;
    if (server->turn.stopping) {
        return;
    }
    server->turn.stopping = true;
    job_origins_stop(&server->origins);
    if (!serving->begins_again) {
        log_info("stopping");
        notify_stopping(&serving->notify);
        fleet_leave(server->fleet);
    }
    fleet_stop(server->fleet);
    core_grant_no_more(server->core);
    while (!LIST_EMPTY(&server->conns)) {
        conn_close(LIST_FIRST(&server->conns));
    }
    uv_stop(&server->loop);
}

static void on_signal(uv_signal_t *handle, int signal_number)
{
    struct serving *serving = handle->data;
    if (signal_number == SIGHUP) {
        reload_begin(&serving->reload, NULL);
        loop_iteration_end(&serving->server.turn);
    } else {
        stop(serving);
    }
}

/* Whether libuv's threads do what may take long: the end would not wait for them. */
static bool is_looking_up(const struct serving *serving)
{
    return link_is_looking_up() || serving->reload.is_reading ||
        serving->server.user_names.is_looking;
}

/* ---- a state file that cannot be read ---- */

enum { LOOK_AGAIN_MS = 1000 };

static void look_at_state(uv_timer_t *timer);

static void look_in_pool(uv_work_t *work)
{
    struct serving *serving = container_of(work, struct serving, state_wait.work);
    serving->state_wait.is_readable = state_can_be_read(&serving->server.state);
}

static void on_looked(uv_work_t *work, int status)
{
    struct serving *serving = container_of(work, struct serving, state_wait.work);
    serving->state_wait.is_looking = false;
    if (status != 0 || serving->server.turn.stopping) {
        return;
    }
    if (!serving->state_wait.is_readable || is_looking_up(serving)) {
        uv_timer_start(&serving->state_wait.timer, look_at_state, LOOK_AGAIN_MS, 0);
        return;
    }
    log_info("%s can be read: berthd begins again", serving->server.state.path);
    serving->begins_again = true;
    stop(serving);
}

/* What operators have changed and who may prove what is not known: nothing is granted until then. A
 * restart, which is not an event, then does all that a start does. */
static void look_at_state(uv_timer_t *timer)
{
    struct serving *serving = container_of(timer, struct serving, state_wait.timer);
    serving->state_wait.is_looking = true;
    int error = uv_queue_work(timer->loop, &serving->state_wait.work, look_in_pool, on_looked);
    assert(error == 0);
    (void)error;
}

/* ---- the threads of libuv's pool, for work that may take long ---- */

/* Signals to jobs are sent from the pool too (group.h), and must not wait for a disk or a name
 * service that hangs. So it has a thread for everything that may hang at once, and one more:
 *
 *   - a look-up of a user's name, a reload, a write of the state file, a look whether that can be
 *     read, and for each database a reading of its TLS files: each of them begins again only when
 *     it is over;
 *   - look-ups of hosts, one for each try to connect: libuv gives them (n + 1) / 2 of n threads at
 *     most. */
enum {
    N_SIGNALLERS = 1,
    N_THAT_MAY_HANG = 4 + MAX_DATABASES,
    N_THREADS = 2 * (N_THAT_MAY_HANG + N_SIGNALLERS),
};

static_assert(N_THREADS - (N_THREADS + 1) / 2 >= N_THAT_MAY_HANG + N_SIGNALLERS, "too few threads");
static_assert(N_THREADS + 2 <= 32, "TasksMax in the unit: the loop's, and that of the last write");

static void do_nothing(uv_work_t *work)
{
    (void)work;
}

/* Before anything else starts them: the first work starts all threads, which inherit the signal
 * mask. They get no signals: at the end, when libuv has restored the default actions, the loop's
 * thread blocks all signals, and one that came to another thread would end us half-way. A fault in
 * a thread must still reach it. */
static void pool_start(uv_loop_t *loop)
{
    static const int faults[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL};
    static uv_work_t first;
    sigset_t all, before;
    char number[16];
    snprintf(number, sizeof number, "%d", N_THREADS);
    setenv("UV_THREADPOOL_SIZE", number, 1);
    sigfillset(&all);
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        sigdelset(&all, faults[i]);
    }
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int error = uv_queue_work(loop, &first, do_nothing, NULL);
    assert(error == 0);
    (void)error;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* ---- life ---- */

/* An inherited socket listens already. Clients see as the server the process that has called
 * listen() last: the service manager, which they trust where our own user is not known, as in a
 * container. */
static bool start_listening(struct serving *serving)
{
    struct server *server = &serving->server;
    if (!listener_is_inherited(&server->listener) && listen(server->listener.fd, BACKLOG) < 0) {
        log_error("%s: cannot listen: %s", server->listener.path, strerror(errno));
        return false;
    }
    accepting_begin(&serving->accepting, server->listener.fd);
    return true;
}

static sigset_t mask; /* of the runs; set once one has ended: */
static bool are_blocked;

static void start_signals(struct serving *serving)
{
    static const int numbers[N_SERVING_SIGNALS] = {SIGTERM, SIGINT, SIGHUP};
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a write fails instead */
    for (size_t i = 0; i < N_SERVING_SIGNALS; i++) {
        serving->signals[i].data = serving;
        uv_signal_start(&serving->signals[i], on_signal, numbers[i]);
    }
    if (are_blocked) {
        sigprocmask(SIG_SETMASK, &mask, NULL);
    }
}

static void begin_fleet(struct serving *serving, const char *socket_path)
{
    struct server *server = &serving->server;
    serving->fleet_journal = (struct fleet_journal){.server = server, .line = TEXT_INIT};
    server->fleet = fleet_new(server, socket_path);
    views_init(&serving->views, server);
    fleet_follows_init(&serving->fleet_follows, server);
    user_names_init(&server->user_names, &server->loop, &server->turn);
}

static void load_state(struct state *state, const char *socket_path)
{
    bool has_secret = state_load(state, socket_path);
    state_log_loaded(state);
    if (!has_secret) {
        log_error("cannot get random numbers");
        abort();
    }
}

static void begin_history(struct server *server)
{
    history_begin(
        server->history, server->listener.path, server->state.boot_id, server->conf->history);
    if (server->conf->history > 0) {
        job_origins_begin(&server->origins);
    }
}

/* One at a time per socket: takes that lock before anything is read. */
static bool start_core(struct serving *serving)
{
    struct server *server = &serving->server;
    const char *refused;
    char canonical[PATH_MAX];
    const char *socket = path_canonical(server->listener.path, canonical, sizeof canonical)
        ? canonical
        : server->listener.path;
    load_state(&server->state, socket);
    server->core = core_new(random_number());
    server->ledger.core = server->jobs.core = server->admissions.core = server->core;
    server->ledger.grace = server->conf->grace;
    server->databases =
        (struct fleet_names){server->conf->databases, server->conf->n_databases};
    begin_history(server);
    server->effects.news = core_news(server->core);
    const struct follow_source source = follow_source_of(server);
    followers_begin(&server->followers, conn_followers_ops, &source, &server->turn);
    TAILQ_INIT(&server->past_questions);
    server->idle_waits = (struct idle_waits){.core = server->core, .notify = client_events_idle};
    begin_fleet(serving, socket);
    settings_define(server, server->conf, &refused); /* nothing is in use yet: cannot be refused */
    fleet_define(server->fleet, server->conf->definitions, server->conf->n_definitions);
    bool may_start = recovery_run(serving, socket);
    serve_set_timer(serving); /* what is due need not wait for a connection */
    return may_start;
}

static bool open_listener(
    struct server *server, const struct inherited *inherited, const char *path)
{
    return inherited->fd >= 0 ? listener_adopt(&server->listener, inherited)
                              : listener_open(&server->listener, path, server->conf->socket_mode);
}

/* What requests are carried out with. */
static void begin_server(struct serving *serving)
{
    struct server *server = &serving->server;
    *server = (struct server){
        .turn = {.apply_effects = serve_apply_effects, .end = serve_end_turn},
        .admissions =
            {
                .fair_queue = &server->scheduler.fair_queue,
                .admins = &server->admins,
                .watches = &server->jobs.watches,
            },
        .listener = LISTENER_INIT,
        .scheduler = {.turns = &server->counts.turn},
        .ledger =
            {
                .journal = JOURNAL_INIT,
                .line = TEXT_INIT,
                .effects = &server->effects,
                .turn = &server->turn,
                .databases = &server->databases,
                .history = &serving->history,
            },
        .jobs =
            {
                .turn = &server->turn,
                .effects = &server->effects,
                .databases = &server->databases,
            },
        .started_at = clock_now(),
        .clock_offset = clock_namespace_offset(),
        .run_line = command_run,
        .disk_wait = &serving->disk_wait,
        .history = &serving->history,
        .fleet_journal = &serving->fleet_journal,
        .fleet_follows = &serving->fleet_follows,
        .views = &serving->views,
        .reload = &serving->reload,
    };
    LIST_INIT(&server->conns);
    STAILQ_INIT(&server->dirty);
}

/* libuv ends the process where it cannot make its pipe for signals, so what a loop opens (in
 * libuv 1.50 epoll, a ring, that pipe and an eventfd) must fit. Returns 0, or a negative errno. */
static int init_loop(uv_loop_t *loop, int any_fd)
{
    int fds[5], error = 0;
    size_t n = 0;
    while (n < sizeof fds / sizeof fds[0] && error == 0) {
        fds[n] = fcntl(any_fd, F_DUPFD_CLOEXEC, 0);
        error = fds[n] < 0 ? -errno : 0;
        n += error == 0;
    }
    while (n > 0) {
        close(fds[--n]);
    }
    return error < 0 ? error : uv_loop_init(loop);
}

bool serve_init(struct serving *serving, struct conf *conf, const struct inherited *inherited,
    const char *path)
{
    struct server *server = &serving->server;
    *serving = (struct serving){.armed_for = NEVER};
    begin_server(serving);
    serving->deadline_fd = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    reload_init(&serving->reload, server, &serving->notify);
    int error = serving->deadline_fd < 0 ? -errno : init_loop(&server->loop, serving->deadline_fd);
    if (error < 0 ||
        !scheduler_init(
            &server->scheduler, &server->loop, geteuid(), conn_scheduler_ops, &server->turn)) {
        log_error("cannot start: %s", uv_strerror(error < 0 ? error : -errno));
        exit(EX_UNAVAILABLE);
    }
    accepting_init(&serving->accepting, server);
    uv_timer_init(&server->loop, &server->stall_timer);
    uv_timer_init(&server->loop, &server->followers.timer);
    job_origins_init(&server->origins, &server->loop);
    history_log_init(&serving->history_log, &server->loop, &serving->history);
    for (size_t i = 0; i < N_SERVING_SIGNALS; i++) {
        uv_signal_init(&server->loop, &serving->signals[i]);
    }
    uv_poll_init(&server->loop, &serving->deadline_poll, serving->deadline_fd);
    uv_poll_start(&serving->deadline_poll, UV_READABLE, serve_on_deadline);
    pool_start(&server->loop);
    disk_wait_init(&serving->disk_wait, server);
    uv_timer_init(&server->loop, &serving->state_wait.timer);
    watches_init(&server->jobs.watches, &server->loop, 0);
    settings_use(server, conf);
    server->jobs.signaller.loop = &server->loop;
    start_signals(serving);
    notify_init(&serving->notify, server);
    if (!open_listener(server, inherited, path) || !start_core(serving) ||
        !start_listening(serving)) {
        return false;
    }
    fleet_start(server->fleet);
    return true;
}

void serve_run(struct serving *serving, int ready_fd)
{
    struct server *server = &serving->server;
    log_info("serving on %s, definitions: %zu", server->listener.path, server->conf->n_definitions);
    if (ready_fd >= 0) {
        if (write(ready_fd, "ready\n", 6) != 6) {
            log_warning("cannot write to the ready descriptor: %s", strerror(errno));
        }
        if (ready_fd > STDERR_FILENO) {
            close(ready_fd);
        }
    }
    notify_ready(&serving->notify);
    if (server->state.found == STATE_UNREADABLE) {
        uv_timer_start(&serving->state_wait.timer, look_at_state, LOOK_AGAIN_MS, 0);
    }
    uv_run(&server->loop, UV_RUN_DEFAULT);
}

static void close_handle(uv_handle_t *handle, void *unused)
{
    (void)unused;
    if (!uv_is_closing(handle)) {
        uv_close(handle, NULL);
    }
}

/* False: a thread still waits for the disk. */
static bool stop_core(struct serving *serving)
{
    struct server *server = &serving->server;
    if (!server->core) {
        return true;
    }
    server->turn.stopping = true;
    core_abandon(server->core, clock_now(), &server->effects);
    apply_effects(&server->turn);
    table_deinit(&server->idle_waits.by_name);
    views_deinit(&serving->views);
    fleet_follows_deinit(&serving->fleet_follows);
    server->fleet = fleet_free(server->fleet);
    text_deinit(&serving->fleet_journal.line);
    bool is_stored = disk_wait_end(&serving->disk_wait);
    effects_clear(&server->effects);
    effects_deinit(&server->effects);
    core_free(server->core);
    ledger_deinit(&server->ledger);
    if (is_stored) {
        state_deinit(&server->state);
    }
    watches_deinit(&server->jobs.watches);
    return is_stored;
}

/* Ends the process with its threads, whatever these wait for. */
static void end_at_once(const struct serving *serving, const char *what)
{
    log_info("exiting without waiting for the %s, which does not respond", what);
    _exit(serving->begins_again ? EX_UNAVAILABLE : EXIT_SUCCESS);
}

/* libuv is about to restore the default actions: a signal now would end us half-way. */
static void stop_listening_to_signals(void)
{
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGBUS); /* sigbus_guard.c's */
    are_blocked = sigprocmask(SIG_BLOCK, &all, &mask) == 0;
}

void serve_deinit(struct serving *serving)
{
    struct server *server = &serving->server;
    stop_listening_to_signals();
    accepting_end(&serving->accepting);
    bool is_stored = stop_core(serving);
    listener_close(&server->listener);
    if (!is_stored || serving->state_wait.is_looking) {
        end_at_once(serving, "disk");
    }
    if (is_looking_up(serving)) {
        end_at_once(serving, "name service");
    }
    user_names_deinit(&server->user_names);
    uv_walk(&server->loop, close_handle, NULL);
    uv_run(&server->loop, UV_RUN_DEFAULT);
    int error = uv_loop_close(&server->loop);
    assert(error == 0);
    (void)error;
    group_signaller_deinit(&server->jobs.signaller);
    state_writer_deinit(&serving->disk_wait.writer);
    conf_errors_deinit(&serving->reload.notes);
    scheduler_deinit(&server->scheduler);
    traffic_free(server->spare);
    close(serving->deadline_fd);
    history_end(&serving->history);
    job_origins_deinit(&server->origins);
    server->conf = serving->begins_again ? server->conf : conf_free(server->conf);
}
