/* fleet_internal.h - the simulated fleet: hosts (a core and a session each), jobs, the network, one
 * database. One thread, one clock, one source of chance. */
#ifndef BERTH_TESTS_SIM_FLEET_INTERNAL_H
#define BERTH_TESTS_SIM_FLEET_INTERNAL_H

#include "core/fleet.h"
#include "fleet_model.h"
#include "random.h"
#include "store/session.h"

enum { N_HOSTS = 3, MAX_JOBS = 64, MAX_PACKETS = 4096, MAX_ARGUMENTS = 2048 };

#define SECOND NANOSECONDS_PER_SECOND
#define MILLISECOND (NANOSECONDS_PER_SECOND / 1000)

/* What runs under a lease, with its wrapper, whether or not the daemon lives. */
struct job {
    uint64_t id; /* of its lease; 0: not used */
    bool is_waiting; /* for its grant */
    bool is_alive; /* granted, and not dead yet */
    bool is_over; /* dead, and the daemon has not been told yet */
    nanoseconds length, ends_at, dies_at;
    nanoseconds deadline; /* as last pushed to its wrapper */
    nanoseconds budget;
    uint32_t units[N_MODEL_RESOURCES]; /* while it is alive */
    uint64_t asked; /* in which order */
};

struct host {
    uint32_t index;
    char name[20];
    struct database settings;
    struct core *core; /* NULL: the daemon is dead */
    struct session *session;
    struct client client;
    struct effects effects;
    struct job jobs[MAX_JOBS];
    struct text tenure; /* as written down */
    struct remembered *journal[MAX_JOBS];
    size_t n_journal;
    nanoseconds deadline; /* as last pushed */
    uint64_t next_id, n_asked;
    nanoseconds returns_at; /* the daemon, if it is dead */
    nanoseconds frozen_until; /* SIGSTOP */
    nanoseconds drained_until; /* 0: not drained */
    nanoseconds next_ask;

    bool is_connected;
    uint64_t connection;
    nanoseconds connects_at; /* if it is not */
    nanoseconds cut_until; /* no way to the server */
    nanoseconds slow_until; /* all is late */
    uint64_t mute_connection; /* whose answers are lost */
    nanoseconds last_command_at, last_reply_at, last_message_at;
};

enum packet_kind { PACKET_COMMAND, PACKET_REPLY, PACKET_MESSAGE };

struct packet {
    enum packet_kind kind;
    nanoseconds at;
    uint64_t serial;
    uint32_t host;
    uint64_t connection, run, tag;
    enum script script;
    struct text bytes; /* strings that each end with a NUL */
    size_t n;
};

struct fleet {
    struct random random;
    nanoseconds now;
    struct host hosts[N_HOSTS];
    struct model_server server;
    struct model backup;
    nanoseconds backup_at, server_returns_at, writes_at; /* 0: it is there, takes writes */
    bool is_calm; /* no faults, no new requests any more */
    bool faults;
    nanoseconds next_fault;
    struct packet packets[MAX_PACKETS];
    size_t n_packets;
    uint64_t serial, n_grants, n_events, n_calls;
    struct definition definitions[N_MODEL_RESOURCES];
};

__attribute__((format(printf, 2, 3), noreturn)) void fail(
    struct fleet *fleet, const char *format, ...);
__attribute__((format(printf, 2, 3))) void trace(struct fleet *fleet, const char *format, ...);
nanoseconds chance(struct fleet *fleet, nanoseconds from, nanoseconds to);

/* ---- fleet_net.c ---- */

void net_send(struct fleet *fleet, struct host *host, const struct session_call *call);
void net_break(struct fleet *fleet, struct host *host, const char *why);
void net_connect(struct fleet *fleet, struct host *host);
void net_publish(void *context, uint32_t session, const char *text);
/* The packet that comes next; NULL: none. */
struct packet *net_next(struct fleet *fleet, nanoseconds *atp);
void net_deliver(struct fleet *fleet, struct packet *packet);
/* The server's process is gone, and all that was on its way to it. */
void net_forget_commands(struct fleet *fleet);
void net_clear(struct fleet *fleet);

/* ---- fleet_host.c ---- */

void host_start(struct fleet *fleet, struct host *host);
void host_crash(struct fleet *fleet, struct host *host);
void host_deinit(struct fleet *fleet, struct host *host);
/* Carries out what is to be done, and sends what is to be sent. */
void host_turn(struct fleet *fleet, struct host *host);
void host_tick(struct fleet *fleet, struct host *host);
nanoseconds host_next_deadline(const struct fleet *fleet, const struct host *host);
void host_drain(struct fleet *fleet, struct host *host, bool draining);
bool host_is_live(const struct fleet *fleet, const struct host *host);

/* ---- fleet_jobs.c ---- */

void jobs_ask(struct fleet *fleet, struct host *host);
struct job *jobs_find(struct host *host, uint64_t id);
void job_is_granted(struct fleet *fleet, struct host *host, const struct lease *lease);
/* Dead at once. */
void job_dies(struct job *job);
void job_is_stopped(struct fleet *fleet, struct host *host, struct job *job);
/* What jobs and their wrappers do by themselves. */
void jobs_tick(struct fleet *fleet, struct host *host);
nanoseconds jobs_next_deadline(const struct host *host);
size_t jobs_used(const struct host *host);

#endif
