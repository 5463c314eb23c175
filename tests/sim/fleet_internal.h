/* fleet_internal.h - the simulated fleet: hosts (a core and a session each), jobs, the network, one
 * Redis that runs the real scripts. One thread, one clock, one source of chance. */
#pragma once

#include "core/fleet.h"
#include "fleet/session.h"
#include "random.h"
#include "redis.h"
#include "redis/resp.h"
#include "runs.h"

enum {
    MAX_SIMULATED = 30,
    MIN_HOSTS = 3,
    MAX_JOBS = 64, /* of a host */
    MAX_ASKED_FOR = 90, /* by all hosts, before more is requested */
    MAX_PACKETS = 16384,
    N_DEFINITIONS = 10,
    N_NAMES = 11, /* of resources, instances of templates among them */
    N_USERS = 3,
    N_CHANGED = 4, /* resources and templates that operators change */
    MAX_CHANGED = 6, /* units, by operators */
    N_COPIES = 8,
    MAX_BLIND = 256,
    MAX_UNDONE = 16,
    RATE_UNITS = 2, /* in RATE_WINDOW, of the resource with a rate */
    RATE_BURST = 2,
    MAX_RATED = 64,
};

#define SECOND NANOSECONDS_PER_SECOND
#define MILLISECOND (NANOSECONDS_PER_SECOND / 1000)
#define COOLDOWN (2 * SECOND) /* of the resource with a cooldown */
#define RATE_WINDOW (12 * SECOND)

/* Every span that the argument of doc/timing.md measures may take a twelfth more or less: NTP slews
 * a clock by no more. */
enum { SLEW_UNIT = 1200, MAX_SLEW = SLEW_UNIT / 12 };

/* In a run: none; any rates, and others now and then; those that are worst for a host that is cut
 * off. */
enum slews { SLEWS_NONE, SLEWS_ANY, SLEWS_WORST, N_SLEWS };

/* The clock of a host (CLOCK_BOOTTIME: of its daemon and all wrappers), or Redis'. */
struct slewed_clock {
    nanoseconds since, shown; /* it showed that at this instant */
    uint32_t rate; /* ns in SLEW_UNIT ns */
};

/* What runs under a lease, with its wrapper, even if the daemon is dead. */
struct job {
    uint64_t id; /* of its lease; 0: not used */
    uint64_t above; /* the lease under which it has asked, and which ends after it; 0: none */
    uint32_t uid;
    uint32_t holder; /* identity; 0: none */
    uint64_t turn; /* whose, and where; 0: everybody's are in the order of requests */
    uint32_t names; /* a bit for each resource that it wants */
    bool is_waiting; /* for the grant */
    bool is_alive; /* granted, and not dead yet */
    bool is_over; /* dead, and the daemon has not heard yet */
    bool is_blind; /* granted after older data had come back, before anybody had noticed */
    nanoseconds length, ends_at;
    nanoseconds dies_at; /* this and the next two: by its host's clock */
    nanoseconds deadline; /* as last pushed to its wrapper */
    nanoseconds budget;
    uint32_t units[N_NAMES]; /* while it is alive: a bit for each, or all bits */
    uint64_t asked; /* the order of requests */
    bool was_moved; /* an operator may have; or it may have taken another one's place */
    bool was_turned_away; /* an acquire left it without a place: asked again, it is a new request */
};

struct host {
    bool is_there; /* else the place is free for another host */
    uint32_t index;
    char name[SESSION_ID_SIZE]; /* of its session; no other host ever has it */
    struct slewed_clock clock;
    struct database settings;
    struct core *core; /* NULL: the daemon is dead */
    struct session *session;
    struct client clients[N_USERS];
    struct effects effects;
    struct job jobs[MAX_JOBS];
    struct text tenure, changes; /* as written down */
    struct saved_lease *journal[MAX_JOBS];
    size_t n_journal;
    nanoseconds deadline; /* as last pushed, by its clock */
    uint64_t next_id, n_asked;
    uint64_t known_call; /* the last call whose number it has been told */
    uint64_t written_call; /* the same, when its session was last written down */
    uint64_t first_call; /* the call that began its session in the data */
    nanoseconds returns_at; /* the daemon's, if it is dead */
    nanoseconds frozen_until; /* the daemon's: SIGSTOP */
    nanoseconds drained_until; /* 0: not drained */
    nanoseconds next_ask;

    bool is_connected;
    uint64_t connection;
    nanoseconds connects_at; /* if it is not */
    nanoseconds cut_until; /* no way to the server */
    nanoseconds slow_until; /* every message is late */
    uint64_t mute_connection; /* the one whose answers are lost */
    nanoseconds last_command_at, last_reply_at, last_message_at;
};

enum packet_kind { PACKET_COMMAND, PACKET_REPLY, PACKET_MESSAGE };

struct packet {
    enum packet_kind kind;
    nanoseconds at;
    uint64_t serial;
    uint32_t host;
    uint64_t connection, run, tag;
    uint64_t call; /* of a reply: the call that it answers; of a command: the last answered call */
    enum script script;
    struct text bytes; /* of a command, `n` words that each end with a NUL; of a reply, RESP */
    size_t n;
};

/* Calls that the data do not know, as they went back while nobody has noticed that: each span is of
 * calls above `from`, up to `to`. */
struct undone {
    struct {
        uint64_t from, to;
    } spans[MAX_UNDONE];
    size_t n;
};

/* Data as they were after that many calls. */
struct copy {
    struct redis_data *data; /* or NULL */
    uint64_t n_executed;
    struct undone undone;
};

/* From when older data came back under the same server's name until somebody has noticed: a lease
 * granted in between may get units of a holder that nobody has reported. */
struct blind_span {
    uint64_t first_token, last_token; /* given in the span, or after the copy */
};

struct server {
    struct redis redis;
    struct keys keys;
    struct text check; /* fleet_check.lua */
    uint64_t run; /* number of its process */
    struct slewed_clock clock;
    nanoseconds clock_offset; /* by how much it has been set so far */
    nanoseconds clock_set_at, data_lost_at, died_at; /* for the last time */
    uint32_t breaks_off_permille; /* of all calls */
    uint64_t n_broken_off;
    uint64_t n_executed; /* calls, ever */
    struct copy copies[N_COPIES];
    size_t n_copies; /* ever made: the oldest one is overwritten */

    bool is_blind;
    struct undone undone; /* none, unless it is blind */
    struct blind_span blind[MAX_BLIND];
    size_t n_blind;
    nanoseconds noticed_at; /* the last time */
};

struct rated_grant {
    nanoseconds at;
    char member[64]; /* NAME UNIT KEY */
};

struct rated {
    struct rated_grant grants[MAX_RATED]; /* the last ones */
    size_t n; /* ever */
    bool is_founded;
};

enum act_word { ACT_PAUSE, ACT_RESUME, ACT_LIMIT, ACT_RESET, ACT_FORGET };

/* What operators have done to one name, as far as they know. */
struct act {
    bool is_known; /* every request has been answered */
    bool is_paused;
    uint32_t limit; /* UNBOUNDED: the file's */
    nanoseconds unknown_since, answered_at;

    bool is_asked; /* the next one is under way, through that host */
    uint32_t host;
    enum act_word word;
    uint32_t asked_limit;
    nanoseconds asked_at;
};

/* What happens to all hosts or the server, at the same instant in this order. */
enum timer {
    TIMER_RETURN, /* of the server, if it is not there */
    TIMER_MEMORY, /* of the server, if it is full */
    TIMER_COPY,
    TIMER_OPERATOR,
    TIMER_HOST_FAULT, /* from here on only as long as there are faults */
    TIMER_SERVER_FAULT,
    TIMER_CLOCK_STEP,
    N_TIMERS,
};

/* What a run counts. */
enum figure {
    FIGURE_GRANTS,
    FIGURE_CIRCLES,
    FIGURE_REPLACED, /* waiters, by newer ones */
    FIGURE_WITHDRAWN, /* jobs that were stopped for those */
    FIGURE_EVENTS,
    FIGURE_FORGOTTEN, /* definitions, each of which all hosts have in their files */
    FIGURE_MOVED, /* waiters, by operators */
    FIGURE_FOUNDED, /* how often the first grace was ended */
    FIGURE_RATES, /* of clocks */
    FIGURE_STEPS, /* of the server's clock */
    FIGURE_RATED, /* units, by a rate */
    N_FIGURES,
};

struct fleet {
    struct random random;
    nanoseconds now;
    struct host hosts[MAX_SIMULATED];
    uint32_t n_hosts; /* places for hosts in this run */
    uint64_t n_named; /* how many hosts there have been */
    struct server server;
    struct resp_reader *reader;
    nanoseconds ttl;
    uint32_t percent_long; /* of all jobs: some outlast what their host has */
    bool has_words; /* requests give them, and take their turns */
    uint32_t percent_nested; /* of all requests, if there is a job under which they may run */
    enum slews slews;
    bool is_calm; /* no more faults and new requests */
    nanoseconds calm_since;
    bool has_faults, had_faults; /* at present; ever */
    struct act acts[N_CHANGED];
    uint32_t n_undone; /* since all is well: in turn, as a chance may never come */
    nanoseconds timers[N_TIMERS]; /* NEVER: not set */
    struct packet packets[MAX_PACKETS];
    size_t n_packets;
    uint64_t serial;
    uint64_t figures[N_FIGURES];
    uint64_t tokens[N_NAMES][32]; /* the largest with which a job has begun, by unit */
    nanoseconds ended_at[N_NAMES]; /* the last job */
    struct rated rated;
    struct definition definitions[N_DEFINITIONS];
};

__attribute__((format(printf, 2, 3))) void trace(struct fleet *fleet, const char *format, ...);
nanoseconds chance(struct fleet *fleet, nanoseconds from, nanoseconds to);

/* ---- fleet_clock.c ---- */

void clock_begin(struct fleet *fleet, struct slewed_clock *clock);
/* NTP changes its rate. */
void clock_slew(struct fleet *fleet, struct slewed_clock *clock);
nanoseconds clock_at(const struct slewed_clock *clock, nanoseconds now);
/* The instant at which it shows that, or just has. */
nanoseconds clock_when(const struct slewed_clock *clock, nanoseconds shown);
nanoseconds host_now(const struct fleet *fleet, const struct host *host);
/* How long that span takes by the slowest clock. */
nanoseconds slow(nanoseconds span);
void clocks_print(const struct fleet *fleet);

/* ---- fleet_resources.c ---- */

extern const char *const resource_names[N_NAMES];
void resources_define(struct fleet *fleet, bool has_levels);
uint32_t resource_number(const char *name);
/* The most units that are ever granted. */
uint32_t resource_max_units(uint32_t number);
/* A definition that may leave the database at any time: operators' changes and rests are not
 * checked there. */
const char *resource_to_forget(struct fleet *fleet);
/* Few jobs want it, so that it can be forgotten. */
bool resource_is_rare(uint32_t number);
uint32_t unit_number(const struct unit *unit);
bool resource_rests(uint32_t number);
bool resource_has_quota(uint32_t number);
/* Of users, or of the words of requests. */
bool resource_has_turns(uint32_t number, bool *by_words);

/* ---- fleet_rates.c ---- */

/* After each call. */
void rates_look(struct fleet *fleet);
/* The data may lack what was granted before, and nobody may notice yet. */
void rates_forget(struct fleet *fleet);

/* ---- fleet_operators.c ---- */

void operators_begin(struct fleet *fleet);
/* An operator changes something through that host; once all is calm, checks everything and resets
 * it. */
void operator_acts(struct fleet *fleet, struct host *host);
void operator_hears(struct fleet *fleet, struct host *host);
/* Its daemon is dead. */
void operator_is_cut_off(struct fleet *fleet, const struct host *host);
/* It goes for good. */
void operator_loses(struct fleet *fleet, const struct host *host);

/* ---- fleet_faults.c ---- */

void timers_begin(struct fleet *fleet);
void timers_tick(struct fleet *fleet);
nanoseconds timers_next(const struct fleet *fleet);

/* ---- fleet_server.c ---- */

void server_init(struct fleet *fleet);
void server_deinit(struct fleet *fleet);
bool server_is_there(const struct fleet *fleet);
/* A command arrives: the reply, in RESP. */
void server_execute(struct fleet *fleet, const struct packet *packet, struct text *reply);
void server_dies(struct fleet *fleet);
void server_returns(struct fleet *fleet);
void server_is_emptied(struct fleet *fleet);
void server_loses_a_key(struct fleet *fleet);
/* The server's machine goes back to a snapshot. */
void server_is_rolled_back(struct fleet *fleet);
/* Whether a job that begins now, with that token, was granted before anybody could notice. */
bool server_was_blind(const struct fleet *fleet, uint64_t token);
void server_breaks_connections(struct fleet *fleet);
void server_sets_clock(struct fleet *fleet, nanoseconds step);
/* A backup. */
void server_copies_data(struct fleet *fleet);
/* Nothing of any host is left; else why. */
bool server_is_done(const struct fleet *fleet, struct text *why);

/* ---- fleet_net.c ---- */

void net_send(struct fleet *fleet, struct host *host, const struct script_call *call);
void net_break(struct fleet *fleet, struct host *host, const char *why);
void net_connect(struct fleet *fleet, struct host *host);
void net_publish(void *context, struct bytes channel, struct bytes message);
/* The next packet; NULL: none. */
struct packet *net_next(struct fleet *fleet, nanoseconds *atp);
void net_deliver(struct fleet *fleet, struct packet *packet);
/* The server's process is gone, and so is all that was on its way there. */
void net_forget_commands(struct fleet *fleet);
/* The host is gone, and so is all that was on its way there. */
void net_forget_host(struct fleet *fleet, const struct host *host);
void net_clear(struct fleet *fleet);

/* ---- fleet_host.c ---- */

/* A host that nobody knows joins. */
void host_join(struct fleet *fleet, struct host *host);
/* The host leaves with all its jobs, and what it remembers. */
void host_leave(struct fleet *fleet, struct host *host);
void host_start(struct fleet *fleet, struct host *host);
void host_crash(struct fleet *fleet, struct host *host);
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
void job_dies(struct fleet *fleet, struct job *job);
void job_is_stopped(struct fleet *fleet, const struct host *host, struct job *job);
/* No two jobs on one unit for longer than anybody could avoid. */
void jobs_check(struct fleet *fleet);
/* What jobs and their wrappers do by themselves. */
void jobs_tick(struct fleet *fleet, struct host *host);
nanoseconds jobs_next_deadline(const struct host *host);
size_t jobs_used(const struct host *host);
