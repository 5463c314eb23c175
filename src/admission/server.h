/* server.h - what requests need to be carried out, and what they are about. One thread; every
 * callback of the loop ends with loop_iteration_end(). serve.c owns it. */
#pragma once

#include "admission/admission.h"
#include "admission/followers.h"
#include "admission/idle_wait.h"
#include "admission/listener.h"
#include "admission/scheduler.h"
#include "admission/user_names.h"
#include "base/metrics.h"
#include "conf/conf.h"
#include "core/core.h"
#include "core/rights.h"
#include "job/job.h"
#include "job/job_origin.h"
#include "journal/state.h"
#include "record/fleet_names.h"
#include "record/ledger.h"
#include "record/loop_iteration.h"
#include "status/database_load.h"
#include "wire/protocol.h"

#include <stddef.h>
#include <sys/queue.h>
#include <uv.h>

struct conn;
struct fleet;
struct fleet_follows;
struct fleet_journal;
struct history;
struct reload;
struct disk_wait;
struct traffic;
struct views;

/* ---- what berthd counts of itself and of its databases, from zero ---- */

struct daemon_counts {
    uint64_t requests[N_COMMANDS], refusals[N_CODES];
    uint64_t connections, connections_refused[N_REFUSED_CAUSES];
    struct metric_histogram turn;
};

struct database_counts {
    uint64_t sessions;
    struct metric_histogram renewals;
};

/* ---- the server ---- */

LIST_HEAD(conn_list, conn);
TAILQ_HEAD(past_questions, past_question);
STAILQ_HEAD(conn_queue, conn);

struct server {
    uv_loop_t loop;
    struct loop_iteration turn;
    struct scheduler scheduler; /* what was put off to later ones */
    struct listener listener;
    struct admissions admissions;
    struct conn_list conns;
    struct conn_queue dirty; /* connections with something to send or to do */
    struct traffic *spare; /* conn_input.c's: what an idle connection has left for the next one */
    uv_timer_t stall_timer; /* conn_output.c's: runs while a client does not read */
    bool (*run_line)(struct conn *conn, char *line, size_t length); /* command_run() */
    struct conf *conf;
    struct daemon_admins admins;
    struct core *core; /* all leases, of both scopes */
    struct effects effects; /* what the core wants done: apply_effects() */
    struct jobs jobs; /* that leases are bound to */
    struct ledger ledger; /* writes leases down */
    struct state state;
    struct daemon_counts counts;
    struct database_counts database_counts[MAX_DATABASES]; /* database 1 first */
    struct history *history; /* of leases */
    struct job_origins origins; /* of their jobs */
    struct disk_wait *disk_wait; /* of the state, on disk */
    struct fleet_names databases; /* of fleet scope */
    struct fleet *fleet; /* and the sessions there */
    struct fleet_follows *fleet_follows;
    struct fleet_journal *fleet_journal;
    struct views *views;
    struct past_questions past_questions; /* about the history of databases */
    struct user_names user_names;
    struct reload *reload;
    struct idle_waits idle_waits;
    struct followers followers; /* connections that have sent "watch" */
    nanoseconds started_at;
    nanoseconds clock_offset; /* clock_namespace_offset() */
};
