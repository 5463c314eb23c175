#include "daemon/server.h"

#include "base/clock.h"
#include "base/memory.h"
#include "daemon/activation.h"
#include "daemon/client_events.h"
#include "daemon/fleet_sessions.h"
#include "daemon/lease_log.h"
#include "daemon/ledger.h"
#include "daemon/pool.h"
#include "daemon/recovery.h"
#include "daemon/settings.h"
#include "journal/paths.h"
#include "log/log.h"
#include "redis/link.h"
#include "status/answer_lines.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sysexits.h>
#include <unistd.h>

enum {
    BACKLOG = 4096,
    STALL_CHECK_MS = 1000,
    ACCEPT_AGAIN_MS = 100,
    MOST_ACCEPTS = 16, /* in one turn of the loop */
    REFUSE_AGAIN_MS = 1,
    REFUSING_SHARE = 3,
};

#define REFUSING_BURST (NANOSECONDS_PER_SECOND / 50)

/* ---- a turn ---- */

void server_tell_drainers(struct server *server, enum event event)
{
    struct conn *conn;
    LIST_FOREACH (conn, &server->conns, link) {
        if (conn->wants_drained) {
            conn->wants_drained = false;
            answer_event(conn_events(conn), event);
        }
    }
}

/* Nothing is granted that could not be written down. */
static void tell_granted(struct server *server, const struct effect *effect)
{
    struct lease *lease = effect->lease;
    if (!lease->is_unwritten) {
        lease_log_place(&server->databases, lease);
        client_events_tell(server, effect);
        return;
    }
    struct effect denied = *effect;
    denied.kind = EFFECT_DENIED;
    denied.why = OUTCOME_NO_SPACE;
    client_events_tell(server, &denied);
    if (lease->state != LEASE_ENDED) {
        core_end(server->core, lease, lease->client, clock_now(), &server->effects);
    }
}

static void tell_drained(struct server *server, const struct effect *effect)
{
    (void)effect;
    server_tell_drainers(server, EVENT_DRAINED);
}

static void watch_job(struct server *server, const struct effect *effect)
{
    if (effect->lease->state != LEASE_ENDED && !server->turn.stopping) {
        job_watch(&server->jobs, effect->lease);
    }
}

static void forget_job(struct server *server, const struct effect *effect)
{
    (void)server;
    job_forget(effect->lease);
}

static void signal_job(struct server *server, const struct effect *effect)
{
    if (effect->lease->state != LEASE_ENDED) {
        job_signal(&server->jobs, effect->lease, effect->signal);
    }
}

static void ask_database(struct server *server, const struct effect *effect)
{
    fleet_carry_out(server->fleet, effect);
}

static void carry_out(struct turn *turn)
{
    static void (*const functions[])(struct server *server, const struct effect *effect) = {
        [EFFECT_GRANTED] = tell_granted,
        [EFFECT_DENIED] = client_events_over,
        [EFFECT_LOST] = client_events_over,
        [EFFECT_STOP] = client_events_over,
        [EFFECT_WATCH] = watch_job,
        [EFFECT_UNWATCH] = forget_job,
        [EFFECT_SIGNAL] = signal_job,
        [EFFECT_PLACE] = client_events_place,
        [EFFECT_ASK] = ask_database,
        [EFFECT_GIVE_BACK] = ask_database,
        [EFFECT_DRAINED] = tell_drained,
    };
    struct server *server = container_of(turn, struct server, turn);
    struct effects *effects = &server->effects;
    size_t i = 0;
    ledger_commit(&server->ledger);
    while (i < effects->n) {
        for (size_t end = effects->n; i < end; i++) {
            const struct effect effect = effects->list[i];
            functions[effect.kind](server, &effect);
        }
        ledger_commit(&server->ledger); /* before what that has appended is carried out */
    }
    for (struct lease *lease = effects->ended; lease; lease = lease->next_ended) {
        job_forget(lease);
        if (!server->turn.stopping) { /* then it goes on, for the next berthd */
            lease_log_ended(&server->databases, lease);
        }
    }
    effects_clear(effects);
}

static void server_set_timer(struct server *server)
{
    nanoseconds deadline = core_next_deadline(server->core);
    nanoseconds of_fleet = fleet_next_deadline(server->fleet);
    deadline = of_fleet < deadline ? of_fleet : deadline;
    if (deadline == server->armed_for) {
        return;
    }
    server->armed_for = deadline;
    struct itimerspec timer = {0}; /* disarmed */
    if (deadline != NEVER) {
        nanoseconds at = deadline > 0 ? deadline : 1;
        timer.it_value.tv_sec = at / NANOSECONDS_PER_SECOND;
        timer.it_value.tv_nsec = at % NANOSECONDS_PER_SECOND;
    }
    if (timerfd_settime(server->deadline_fd, TFD_TIMER_ABSTIME, &timer, NULL) < 0) {
        log_error("timerfd_settime: %s", strerror(errno));
        abort();
    }
}

/* Connections and watches share the places: whoever has none of the latter is looked at instead. */
static uint32_t most_watches(const struct server *server)
{
    const struct seats *seats = &server->seats;
    uint32_t most = seats->max_conns / 2;
    uint32_t left = seats->n_conns < seats->max_conns ? seats->max_conns - seats->n_conns : 0;
    return left < most ? left : most;
}

/* Whether there was anybody to flush. */
static bool flush_all(struct server *server)
{
    struct conn *conn;
    bool any = false;
    while ((conn = STAILQ_FIRST(&server->dirty))) {
        STAILQ_REMOVE_HEAD(&server->dirty, dirty_link);
        conn->is_dirty = false;
        conn_flush(conn);
        any = true;
    }
    return any;
}

/* Flushing carries out lines that have waited, which may ask a database; which may answer. */
static void end_turn(struct turn *turn)
{
    struct server *server = container_of(turn, struct server, turn);
    do {
        fleet_end_turn(server->fleet);
    } while (flush_all(server));
    storing_end_turn(server);
    server->jobs.watches.most = most_watches(server);
    ledger_note_complete(&server->ledger);
    server_set_timer(server);
    notify_end_turn(&server->notify);
}

/* ---- callbacks ---- */

static void on_connection(uv_poll_t *poll, int status, int events);

static void start_accepting(struct server *server)
{
    uv_poll_start(&server->accepting, UV_READABLE, on_connection);
}

static void on_accept_timer(uv_timer_t *timer)
{
    start_accepting(container_of(timer, struct server, accept_timer));
}

static void stop_accepting(struct server *server, unsigned for_ms)
{
    uv_poll_stop(&server->accepting);
    uv_timer_start(&server->accept_timer, on_accept_timer, for_ms, 0);
}

/* Refusing takes little time, but whoever wants to be refused without end can always be: of any
 * second, one part in REFUSING_SHARE goes into it. */
static bool refuses_too_much(struct server *server, nanoseconds began)
{
    nanoseconds now = clock_now();
    nanoseconds from = server->refused_until > now ? server->refused_until : now;
    server->refused_until = from + (now - began) * REFUSING_SHARE;
    return server->refused_until > now + REFUSING_BURST;
}

static bool accept_next(struct server *server)
{
    nanoseconds began = clock_now();
    int fd = accept4(server->listener.fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
        bool is_enough = !conn_accept(server, fd) && refuses_too_much(server, began);
        if (is_enough) {
            stop_accepting(server, REFUSE_AGAIN_MS);
        }
        return !is_enough;
    }
    if (errno == EINTR || errno == ECONNABORTED) {
        return true;
    }
    if (errno != EAGAIN) {
        log_provoked("cannot accept a connection: %s", strerror(errno));
        stop_accepting(server, ACCEPT_AGAIN_MS);
    }
    return false;
}

/* Not by uv_listen(): its loop would keep us for as long as somebody connects without end, and for
 * ever when there are no descriptors. Those who are left over wait for the next turn. */
static void on_accept_check(uv_check_t *check)
{
    struct server *server = container_of(check, struct server, accept_check);
    uv_check_stop(check);
    if (server->turn.stopping) {
        return; /* a signal came in the same turn */
    }
    scheduler_begin_work(&server->scheduler, NULL);
    for (int n = 1; accept_next(server) && n < MOST_ACCEPTS; n++) {
    }
    server_end_turn(server);
}

/* First all else that this turn has brought: who closes a connection and makes another one finds
 * the place free. */
static void on_connection(uv_poll_t *poll, int status, int events)
{
    struct server *server = container_of(poll, struct server, accepting);
    (void)status, (void)events;
    uv_check_start(&server->accept_check, on_accept_check);
}

static void on_deadline(uv_poll_t *poll, int status, int events)
{
    struct server *server = container_of(poll, struct server, deadline_poll);
    uint64_t expirations;
    (void)status, (void)events;
    ssize_t n = read(server->deadline_fd, &expirations, sizeof expirations);
    (void)n; /* EAGAIN: it was set anew in the meantime */
    server->armed_for = NEVER - 1; /* whatever it was, it is over: set it again */
    core_tick(server->core, clock_now(), &server->effects);
    fleet_tick(server->fleet, clock_now());
    server_carry_out(server);
    server_end_turn(server);
}

static void on_stall_timer(uv_timer_t *timer)
{
    struct server *server = container_of(timer, struct server, stall_timer);
    nanoseconds now = clock_now();
    bool any = false;
    struct conn *next;
    for (struct conn *conn = LIST_FIRST(&server->conns); conn; conn = next) {
        next = LIST_NEXT(conn, link);
        if (conn->stalled_since != 0) {
            any = true;
            conn_check_stall(conn, now);
        }
    }
    if (!any) {
        uv_timer_stop(timer);
    }
    server_end_turn(server);
}

void server_watch_stalls(struct server *server)
{
    if (!uv_is_active((uv_handle_t *)&server->stall_timer)) {
        uv_timer_start(&server->stall_timer, on_stall_timer, STALL_CHECK_MS, STALL_CHECK_MS);
    }
}

/* From here on nothing is written down: the connections end, the leases do not. Nothing is granted
 * any more. */
static void server_stop(struct server *server)
{
    if (server->turn.stopping) {
        return;
    }
    server->turn.stopping = true;
    log_info("stopping");
    notify_stopping(&server->notify);
    fleet_stop(server->fleet);
    core_drain(server->core, true, clock_now(), &server->effects);
    effects_clear(&server->effects);
    while (!LIST_EMPTY(&server->conns)) {
        conn_close(LIST_FIRST(&server->conns));
    }
    uv_stop(&server->loop);
}

static void on_signal(uv_signal_t *handle, int signal_number)
{
    struct server *server = handle->data;
    if (signal_number == SIGHUP) {
        reload_begin(server);
        server_end_turn(server);
    } else {
        server_stop(server);
    }
}

/* ---- life ---- */

/* Ids and tokens begin where no earlier run can have been: above the mark in the state directory
 * and, should that be lost, at the wall clock's microseconds. */
static struct core_options first_numbers(const struct state *state)
{
    struct timespec now;
    struct core_options options;
    clock_gettime(CLOCK_REALTIME, &now);
    options.first_id = (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
    if (options.first_id < state->mark) {
        options.first_id = state->mark;
    }
    options.first_token = options.first_id;
    if (getrandom(&options.seed, sizeof options.seed, 0) != sizeof options.seed) {
        options.seed = options.first_id;
    }
    return options;
}

/* An inherited socket listens already. Clients see as whose server it is who has called listen()
 * last: the service manager's, which they trust where our own user is not known, as in a container. */
static bool start_listening(struct server *server)
{
    if (!listener_is_inherited(&server->listener) && listen(server->listener.fd, BACKLOG) < 0) {
        log_error("%s: cannot listen: %s", server->listener.path, strerror(errno));
        return false;
    }
    uv_poll_init(&server->loop, &server->accepting, server->listener.fd);
    start_accepting(server);
    return true;
}

static void start_signals(struct server *server)
{
    static const int numbers[N_SERVER_SIGNALS] = {SIGTERM, SIGINT, SIGHUP};
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* a write fails instead */
    for (size_t i = 0; i < N_SERVER_SIGNALS; i++) {
        server->signals[i].data = server;
        uv_signal_start(&server->signals[i], on_signal, numbers[i]);
    }
}

static void begin_ledger(struct server *server)
{
    struct ledger *ledger = &server->ledger;
    ledger->core = server->core;
    ledger->effects = &server->effects;
    ledger->turn = &server->turn;
    ledger->numbers = &server->numbers;
    ledger->databases = &server->databases;
    ledger->grace = server->conf->grace;
}

static void begin_jobs(struct server *server)
{
    struct jobs *jobs = &server->jobs;
    jobs->turn = &server->turn;
    jobs->core = server->core;
    jobs->effects = &server->effects;
    jobs->databases = &server->databases;
}

static void begin_fleet(struct server *server, const char *socket_path)
{
    const struct fleet_options options = {
        .loop = &server->loop,
        .turn = &server->turn,
        .core = server->core,
        .effects = &server->effects,
        .databases = &server->databases,
        .journal = &server->fleet_journal,
        .boot_id = server->state.boot_id,
        .socket_path = socket_path,
    };
    server->fleet_journal = (struct fleet_journal){
        .journal = &server->ledger.journal,
        .state = &server->state,
        .storing = &server->storing,
        .turn = &server->turn,
        .databases = &server->databases,
        .line = TEXT_INIT,
    };
    server->fleet = fleet_new(&options);
    views_init(&server->views, server->fleet, &server->turn);
}

/* One at a time per socket: that lock is taken before anything is read. */
static bool start_core(struct server *server)
{
    const char *refused;
    char socket[PATH_MAX];
    bool fits = path_canonical(server->listener.path, socket, sizeof socket);
    state_load(&server->state, fits ? socket : server->listener.path);
    const struct core_options options = first_numbers(&server->state);
    server->core = core_new(&options);
    server->databases =
        (struct fleet_names){server->conf->databases, server->conf->n_databases};
    server->numbers = (struct numbers){.core = server->core, .state = &server->state};
    begin_ledger(server);
    begin_jobs(server);
    server->seats.core = server->core;
    begin_fleet(server, fits ? socket : server->listener.path);
    settings_define(server, server->conf, &refused); /* nothing is in use yet: cannot be refused */
    fleet_define(server->fleet, server->conf->definitions, server->conf->n_definitions);
    bool may_start = recovery_run(server, fits ? socket : server->listener.path);
    server_set_timer(server); /* what is due need not wait for somebody to connect */
    return may_start;
}

static bool open_listener(
    struct server *server, const struct inherited *inherited, const char *path)
{
    return inherited->fd >= 0 ? listener_adopt(&server->listener, inherited)
                              : listener_open(&server->listener, path, server->conf->socket_mode);
}

bool server_init(struct server *server, struct conf *conf, const struct inherited *inherited,
    const char *path)
{
    *server = (struct server){
        .turn = {.carry_out = carry_out, .end = end_turn},
        .seats = {
            .fair_queue = &server->scheduler.fair_queue,
            .admins = &server->admins,
            .watches = &server->jobs.watches,
        },
        .listener = LISTENER_INIT,
        .ledger = {.journal = JOURNAL_INIT, .line = TEXT_INIT},
        .started_at = clock_now(),
        .armed_for = NEVER,
        .deadline_fd = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC),
    };
    LIST_INIT(&server->conns);
    STAILQ_INIT(&server->dirty);
    reload_init(&server->reload);
    int error = server->deadline_fd < 0 ? -errno : uv_loop_init(&server->loop);
    if (error < 0 || !scheduler_init(&server->scheduler, &server->loop, geteuid())) {
        log_error("cannot start: %s", uv_strerror(error < 0 ? error : -errno));
        exit(EX_UNAVAILABLE);
    }
    uv_check_init(&server->loop, &server->accept_check);
    uv_timer_init(&server->loop, &server->accept_timer);
    uv_timer_init(&server->loop, &server->stall_timer);
    for (size_t i = 0; i < N_SERVER_SIGNALS; i++) {
        uv_signal_init(&server->loop, &server->signals[i]);
    }
    uv_poll_init(&server->loop, &server->deadline_poll, server->deadline_fd);
    uv_poll_start(&server->deadline_poll, UV_READABLE, on_deadline);
    pool_start(&server->loop);
    storing_init(server);
    settings_use(server, conf);
    group_signaller_init(&server->jobs.signaller, &server->loop);
    watches_init(&server->jobs.watches, &server->loop, most_watches(server));
    start_signals(server);
    notify_init(&server->notify, &server->loop, &server->turn);
    if (!open_listener(server, inherited, path) || !start_core(server) ||
        !start_listening(server)) {
        return false;
    }
    fleet_start(server->fleet);
    return true;
}

void server_run(struct server *server, int ready_fd)
{
    log_info("serving on %s, definitions: %zu", server->listener.path, server->conf->n_definitions);
    if (ready_fd >= 0) {
        if (write(ready_fd, "ready\n", 6) != 6) {
            log_warning("cannot write to the ready descriptor: %s", strerror(errno));
        }
        if (ready_fd > STDERR_FILENO) {
            close(ready_fd);
        }
    }
    const struct notify_subject subject = {
        .socket = server->listener.path,
        .core = server->core,
        .databases = &server->databases,
        .fleet = server->fleet,
    };
    notify_ready(&server->notify, &subject);
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
static bool stop_core(struct server *server)
{
    if (!server->core) {
        return true;
    }
    server->turn.stopping = true;
    core_abandon(server->core, clock_now(), &server->effects);
    server_carry_out(server);
    views_deinit(&server->views);
    server->fleet = fleet_free(server->fleet);
    fleet_journal_deinit(&server->fleet_journal);
    bool is_stored = storing_end(server);
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

/* The process ends with its threads, whatever these wait for. */
static void end_at_once(const char *what)
{
    log_info("not waiting for a %s that does not answer", what);
    _exit(EXIT_SUCCESS);
}

/* libuv is about to put their default actions back: one that comes now would end us half-way. */
static void stop_listening_to_signals(void)
{
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGBUS); /* journal_map.c's */
    sigprocmask(SIG_BLOCK, &all, NULL);
}

void server_deinit(struct server *server)
{
    stop_listening_to_signals();
    if (uv_handle_get_type((uv_handle_t *)&server->accepting) == UV_POLL) {
        uv_close((uv_handle_t *)&server->accepting, NULL); /* before its descriptor */
    }
    bool is_stored = stop_core(server);
    listener_close(&server->listener);
    if (!is_stored) {
        end_at_once("disk");
    }
    if (link_is_looking_up() || reload_is_reading(server)) {
        end_at_once("name service");
    }
    uv_walk(&server->loop, close_handle, NULL);
    uv_run(&server->loop, UV_RUN_DEFAULT);
    int error = uv_loop_close(&server->loop);
    assert(error == 0);
    (void)error;
    group_signaller_deinit(&server->jobs.signaller);
    storing_deinit(server);
    scheduler_deinit(&server->scheduler);
    close(server->deadline_fd);
    server->conf = conf_free(server->conf);
}
