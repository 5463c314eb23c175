#include "daemon/serve_turn.h"

#include "base/clock.h"
#include "base/memory.h"
#include "conn/conn.h"
#include "database/fleet_sessions.h"
#include "database/follow_source.h"
#include "log/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

void serve_set_timer(struct serving *serving)
{
    const struct server *server = &serving->server;
    nanoseconds deadline = core_next_deadline(server->core);
    nanoseconds of_fleet = fleet_next_deadline(server->fleet);
    deadline = of_fleet < deadline ? of_fleet : deadline;
    if (deadline == serving->armed_for) {
        return;
    }
    serving->armed_for = deadline;
    struct itimerspec timer = {0}; /* disarmed */
    if (deadline != NEVER) {
        nanoseconds at = deadline > 0 ? deadline : 1;
        timer.it_value.tv_sec = at / NANOSECONDS_PER_SECOND;
        timer.it_value.tv_nsec = at % NANOSECONDS_PER_SECOND;
    }
    if (timerfd_settime(serving->deadline_fd, TFD_TIMER_ABSTIME, &timer, NULL) < 0) {
        log_error("timerfd_settime: %s", strerror(errno));
        abort();
    }
}

/* Flushing carries out waiting lines, which may ask a database, which may answer. */
void serve_end_turn(struct turn *turn)
{
    struct serving *serving = container_of(turn, struct serving, server.turn);
    struct server *server = &serving->server;
    do {
        fleet_end_turn(server->fleet);
    } while (conn_flush_all(server));
    history_log_end_turn(&serving->history_log, server->conf->logs_leases);
    storing_end_turn(&serving->storing);
    server->jobs.watches.max = seats_max_watches(&server->seats);
    ledger_note_complete(&server->ledger);
    serve_set_timer(serving);
    notify_end_turn(&serving->notify);
    if (server->followers.n > 0) {
        follow_source_look(server);
        followers_end_turn(&server->followers);
    }
}

void serve_on_deadline(uv_poll_t *poll, int status, int events)
{
    struct serving *serving = container_of(poll, struct serving, deadline_poll);
    struct server *server = &serving->server;
    uint64_t expirations;
    (void)status, (void)events;
    ssize_t n = read(serving->deadline_fd, &expirations, sizeof expirations);
    (void)n; /* EAGAIN: it has been set again since */
    serving->armed_for = NEVER - 1; /* whatever it was, it is over: set it again */
    core_tick(server->core, clock_now(), &server->effects);
    fleet_tick(server->fleet, clock_now());
    apply_effects(&server->turn);
    server_end_turn(server);
}
