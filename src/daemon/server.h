/* server.h - the loop and what hangs on it: listener, connections, core, timer, signals,
 * configuration. One thread; every callback ends with server_end_turn(). */
#ifndef BERTH_DAEMON_SERVER_H
#define BERTH_DAEMON_SERVER_H

#include "conf/conf.h"
#include "core/core.h"
#include "core/rights.h"
#include "daemon/conn.h"
#include "daemon/fleet_journal.h"
#include "daemon/fleet_names.h"
#include "daemon/fleet_views.h"
#include "daemon/job.h"
#include "daemon/ledger.h"
#include "daemon/listener.h"
#include "daemon/notify.h"
#include "daemon/numbers.h"
#include "daemon/reload.h"
#include "daemon/scheduler.h"
#include "daemon/seat.h"
#include "daemon/storing.h"
#include "daemon/turn.h"
#include "journal/state.h"
#include "wire/protocol.h"

#include <stdbool.h>
#include <uv.h>

enum { N_SERVER_SIGNALS = 3 };

struct fleet;
struct inherited;

struct server {
    uv_loop_t loop;
    struct turn turn;
    struct scheduler scheduler; /* what was put off to later ones */
    uv_poll_t accepting; /* of listener.fd */
    uv_timer_t accept_timer; /* runs when nobody can be accepted for the moment */
    uv_check_t accept_check; /* accepts, at the end of a turn */
    uv_poll_t deadline_poll; /* of deadline_fd */
    uv_timer_t stall_timer; /* runs while somebody does not read */
    uv_signal_t signals[N_SERVER_SIGNALS];
    struct listener listener;
    struct conf *conf;
    struct reload reload;
    struct daemon_admins admins;
    struct core *core; /* all leases, of both scopes */
    struct effects effects; /* what the core wants done: server_carry_out() */
    struct fleet_names databases; /* of fleet scope */
    struct fleet *fleet; /* and what is said to them */
    struct notify notify; /* the service manager */
    struct jobs jobs; /* that leases are bound to */
    struct ledger ledger; /* what is written down of leases */
    struct state state;
    struct numbers numbers; /* of leases */
    struct storing storing; /* writes it */
    struct fleet_journal fleet_journal;
    struct seats seats;
    struct conn_list conns;
    struct conn_queue dirty; /* have something to send or to do */
    struct views views;
    nanoseconds refused_until; /* accept_check's: what refusing has cost is paid for until then */
    nanoseconds started_at;
    nanoseconds armed_for; /* what deadline_fd is set to */
    int deadline_fd; /* timerfd on CLOCK_BOOTTIME */
};

/* Takes over `conf`; listens on what was inherited or, if that is nothing, on `path`, whatever the
 * file says. False (logged) if it cannot serve; server_deinit() in any case. */
bool server_init(struct server *server, struct conf *conf, const struct inherited *inherited,
    const char *path);
/* Until a signal to stop. `ready_fd` (-1: none) gets one line when clients can connect. */
void server_run(struct server *server, int ready_fd);
/* Everything is closed and freed; asserts that nothing of the loop is left. */
void server_deinit(struct server *server);

/* Tells those who sent "drain wait=1" how it ended: drained or undrained. */
void server_tell_drainers(struct server *server, enum event event);

static inline void server_carry_out(struct server *server)
{
    turn_carry_out(&server->turn);
}

static inline void server_end_turn(struct server *server)
{
    turn_end(&server->turn);
}

/* For conn.c. */
void server_watch_stalls(struct server *server);

#endif
