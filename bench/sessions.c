/* sessions.c - a crowd of simulated daemons in one process: each has a core, a session and a link
 * of its own, as berthd has, and holds leases that are bound to nothing. bench/crowd drives it.
 *
 *   sessions SOCKET|HOST:PORT SESSIONS LEASES TTL_MS PREFIX
 *   stdin:   connect MS    all begin, one after the other, within so many ms
 *            await STATE   prints STATE when it is true of all: up; held (all leases are); or, if
 *                          it is a number, when there have been so many calls
 *            acquire MS    each session asks for its leases, one after the other, likewise
 *            reset         the sums below begin again
 *            look          prints a line of sums, and the states of all sessions
 *   The end of stdin ends it.
 *
 * Sums: `tries` that have failed, `hellos` that have ended; `calls`; leases `stopped` because the
 * deadline came near, and leases that were `lost` otherwise; `least`: how many ms were left, at the
 * worst renewal or hello, until the first job would have been asked to end. */
#include "base/clock.h"
#include "base/memory.h"
#include "bench/bench.h"
#include "core/fleet.h"
#include "core/timing.h"
#include "fleet/session.h"
#include "redis/link.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <uv.h>

enum { N_STATES = SESSION_REPLACED + 1 };

struct crowd;

/* One daemon. */
struct member {
    struct crowd *crowd;
    struct core *core;
    struct session *session;
    struct link *link; /* NULL before `connect` */
    struct client client;
    struct effects effects;
    uv_timer_t timer; /* of what is due in the core and the session */
    uv_timer_t errand; /* of what stdin has asked for */
    enum session_state state;
    bool is_ready; /* the link is */
    bool is_in_grace;
    uint32_t n_wanted; /* leases to be asked for, (again) when it is up */
    uint32_t n_held;
    uint64_t n_calls; /* that the sums have */
    nanoseconds good_until; /* as last seen; 0: never */
};

struct sums {
    uint64_t tries, hellos, calls, stopped, lost;
    nanoseconds least; /* NEVER: none yet */
};

struct crowd {
    uv_loop_t loop;
    uv_pipe_t input;
    char line[256]; /* what stdin has said of the next one */
    size_t n_line;
    struct database database;
    struct definition definition;
    unsigned n, leases;
    struct member *members;
    unsigned n_in[N_STATES], n_in_grace, n_all_held;
    char awaited[24]; /* or "" */
    char last_why[200]; /* of a try that failed; or "" */
    struct sums sums;
};

static void member_turn(struct member *member);

/* ---- what all of them are in ---- */

static bool is_true_of_all(const struct crowd *crowd, const char *state)
{
    bool is_up = crowd->n_in[SESSION_UP] == crowd->n;
    if (strcmp(state, "up") == 0) {
        return is_up;
    } else if (state[0] >= '0' && state[0] <= '9') {
        return crowd->sums.calls >= strtoull(state, NULL, 10);
    }
    return is_up && crowd->n_all_held == crowd->n;
}

static void tell_if_true(struct crowd *crowd)
{
    if (crowd->awaited[0] != '\0' && is_true_of_all(crowd, crowd->awaited)) {
        printf("%s\n", crowd->awaited);
        fflush(stdout);
        crowd->awaited[0] = '\0';
    }
}

static void sums_reset(struct crowd *crowd)
{
    crowd->sums = (struct sums){.least = NEVER};
    crowd->last_why[0] = '\0';
}

static void print_look(const struct crowd *crowd)
{
    const struct sums *sums = &crowd->sums;
    printf("up=%u listing=%u down=%u replaced=%u grace=%u held=%u", crowd->n_in[SESSION_UP],
        crowd->n_in[SESSION_LISTING], crowd->n_in[SESSION_DOWN], crowd->n_in[SESSION_REPLACED],
        crowd->n_in_grace, crowd->n_all_held);
    printf(" tries=%" PRIu64 " hellos=%" PRIu64 " calls=%" PRIu64, sums->tries, sums->hellos,
        sums->calls);
    printf(" stopped=%" PRIu64 " lost=%" PRIu64 " least=%" PRId64 " why=%s\n", sums->stopped,
        sums->lost, sums->least == NEVER ? -1 : sums->least / NANOSECONDS_PER_MILLISECOND,
        crowd->last_why);
    fflush(stdout);
}

/* ---- a turn of one ---- */

static void carry_out_one(struct member *member, const struct effect *effect)
{
    switch (effect->kind) {
    case EFFECT_ASK:
        if (effect->lease->state == LEASE_WAITING) {
            session_ask(member->session, effect->lease, clock_now(), &member->effects);
        }
        break;
    case EFFECT_GIVE_BACK:
        session_give_back(member->session, effect->lease);
        break;
    case EFFECT_GRANTED:
        member->crowd->n_all_held += ++member->n_held == member->crowd->leases;
        break;
    case EFFECT_DENIED:
        member->n_wanted++;
        break;
    case EFFECT_STOP:
    case EFFECT_LOST:
        member->crowd->sums.lost += effect->why != OUTCOME_DEADLINE;
        member->crowd->sums.stopped +=
            effect->why == OUTCOME_DEADLINE && effect->kind == EFFECT_STOP;
        break;
    default:
        break;
    }
}

static void carry_out(struct member *member)
{
    for (size_t i = 0; i < member->effects.n; i++) {
        struct effect effect = member->effects.list[i];
        carry_out_one(member, &effect);
    }
    effects_clear_changed(&member->effects);
    effects_clear(&member->effects);
}

/* How long before its end a lease's job is asked to end. */
static nanoseconds stop_budget(const struct definition *definition)
{
    return definition->kill_after + timing_stop_margin(definition->kill_after);
}

/* A new promise: was there time left on the one before? */
static void note_promise(struct member *member, nanoseconds good_until)
{
    struct crowd *crowd = member->crowd;
    if (good_until > member->good_until && member->good_until != 0) {
        nanoseconds left = member->good_until - stop_budget(&crowd->definition) - clock_now();
        crowd->sums.least = earlier(crowd->sums.least, left);
    }
    member->good_until = good_until;
}

static void note_state(struct member *member)
{
    struct crowd *crowd = member->crowd;
    const struct session_view view = session_look(member->session);
    crowd->n_in[member->state]--;
    crowd->n_in[view.state]++;
    crowd->sums.hellos += view.state == SESSION_UP && member->state != SESSION_UP;
    member->state = view.state;
    crowd->n_in_grace -= member->is_in_grace;
    member->is_in_grace = view.grace_until != NEVER;
    crowd->n_in_grace += member->is_in_grace;
    crowd->sums.calls += view.n_calls - member->n_calls;
    member->n_calls = view.n_calls;
    note_promise(member, view.good_until);
}

static void send_calls(struct member *member)
{
    struct script_call call;
    while (member->is_ready && session_next_call(member->session, clock_now(), &call)) {
        link_call(member->link, &call);
    }
}

static void on_timer(uv_timer_t *timer)
{
    struct member *member = container_of(timer, struct member, timer);
    core_tick(member->core, clock_now(), &member->effects);
    session_tick(member->session, clock_now(), &member->effects);
    member_turn(member);
}

static void ask_for_one(struct member *member)
{
    const struct acquire_request ask = {
        .wants = {{.name = member->crowd->definition.name, .count = 1}},
        .n_wants = 1,
        .wait = NEVER,
        .attributes.program = "nightly-etl",
        .attributes.signal = SIGTERM,
        .pid = 12345};
    struct lease *lease;
    const char *at_fault;
    enum outcome outcome = core_acquire(
        member->core, &member->client, &ask, clock_now(), &member->effects, &lease, &at_fault);
    if (outcome != OUTCOME_PENDING) {
        fprintf(stderr, "sessions: an acquire ends with outcome %d\n", (int)outcome);
        exit(1);
    }
}

static void set_timer(struct member *member)
{
    nanoseconds at =
        earlier(session_next_deadline(member->session), core_next_deadline(member->core));
    nanoseconds now = clock_now();
    if (at == NEVER) {
        uv_timer_stop(&member->timer);
    } else {
        nanoseconds after = at > now ? at - now : 0;
        uv_timer_start(&member->timer, on_timer,
            (uint64_t)(after / NANOSECONDS_PER_MILLISECOND + (after > 0)), 0);
    }
}

/* As fleet_end_turn() does it. */
static void member_turn(struct member *member)
{
    carry_out(member);
    const char *why = session_wants_reset(member->session);
    if (why && member->is_ready) {
        link_fail(member->link, why);
    }
    while (session_take_notice(member->session)) {
        ;
    }
    for (; member->state == SESSION_UP && member->n_wanted > 0; member->n_wanted--) {
        ask_for_one(member);
        carry_out(member);
    }
    send_calls(member);
    note_state(member);
    set_timer(member);
    tell_if_true(member->crowd);
}

/* ---- what the link brings ---- */

static void on_ready(void *context, const struct link_info *info)
{
    struct member *member = context;
    (void)info;
    member->is_ready = true;
    session_connected(member->session, clock_now());
    member_turn(member);
}

static void on_reply(void *context, uint64_t tag, const struct resp *reply)
{
    struct member *member = context;
    session_reply(member->session, tag, reply, clock_now(), &member->effects);
    member_turn(member);
}

static void on_message(void *context, const char *text, size_t length)
{
    struct member *member = context;
    session_message(member->session, text, length, clock_now(), &member->effects);
    member_turn(member);
}

static void on_down(void *context, const char *why, bool refused)
{
    struct member *member = context;
    struct crowd *crowd = member->crowd;
    (void)refused;
    crowd->sums.tries++;
    snprintf(crowd->last_why, sizeof crowd->last_why, "%s", why);
    member->is_ready = false;
    session_disconnected(member->session, why, clock_now());
    link_spread(member->link, session_spread(member->session, clock_now()));
    member_turn(member);
}

static const struct link_events link_events = {on_ready, on_reply, on_message, on_down};

/* ---- a member's life ---- */

static void member_init(struct member *member, struct crowd *crowd, unsigned number)
{
    static const struct user_bounds bounds = {1000, 100000, 100000, 1000};
    char id[SESSION_ID_SIZE], host[32];
    const char *refused;
    snprintf(id, sizeof id, "%016x", number);
    snprintf(host, sizeof host, "worker-%05u", number);
    member->crowd = crowd;
    member->core = core_new(number);
    const struct session_options options = {.core = member->core,
        .database = 1,
        .settings = &crowd->database,
        .bounds = &script_bounds,
        .layouts = script_layouts,
        .id = id,
        .host = host,
        .version = "bench",
        .seed = (uint64_t)clock_now() + number};
    core_define(
        member->core, &crowd->definition, 1, &bounds, clock_now(), &member->effects, &refused);
    core_client_init(member->core, &member->client, 1000);
    member->session = session_new(&options);
    session_define(member->session, &crowd->definition, 1);
    uv_timer_init(&crowd->loop, &member->timer);
    uv_timer_init(&crowd->loop, &member->errand);
    crowd->n_in[member->state]++;
    carry_out(member);
}

static void on_begin(uv_timer_t *errand)
{
    struct member *member = container_of(errand, struct member, errand);
    const struct link_options options = {
        .database = &member->crowd->database,
        .session = session_id(member->session),
        .timeout = member->crowd->database.ttl / 12,
    };
    member->link = link_new(&member->crowd->loop, &options, &link_events, member);
}

static void on_acquire(uv_timer_t *errand)
{
    struct member *member = container_of(errand, struct member, errand);
    member->n_wanted = member->crowd->leases;
    member_turn(member);
}

/* ---- what stdin says ---- */

static void after_another(struct crowd *crowd, uint64_t span, uv_timer_cb callback)
{
    for (unsigned i = 0; i < crowd->n; i++) {
        uv_timer_start(&crowd->members[i].errand, callback, span * i / crowd->n, 0);
    }
}

static void run_line(struct crowd *crowd, const char *line)
{
    if (strncmp(line, "connect ", 8) == 0) {
        after_another(crowd, strtoull(line + 8, NULL, 10), on_begin);
    } else if (strncmp(line, "acquire ", 8) == 0) {
        after_another(crowd, strtoull(line + 8, NULL, 10), on_acquire);
    } else if (strcmp(line, "reset") == 0) {
        sums_reset(crowd);
    } else if (strcmp(line, "look") == 0) {
        print_look(crowd);
    } else if (strncmp(line, "await ", 6) == 0) {
        snprintf(crowd->awaited, sizeof crowd->awaited, "%s", line + 6);
        tell_if_true(crowd);
    } else {
        bench_fail(line);
    }
}

static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    struct crowd *crowd = container_of(handle, struct crowd, input);
    (void)suggested;
    *buffer = uv_buf_init(
        crowd->line + crowd->n_line, (unsigned)(sizeof crowd->line - 1 - crowd->n_line));
}

/* No destructors: the process ends, and the kernel closes all connections. */
static void on_input(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer)
{
    struct crowd *crowd = container_of(stream, struct crowd, input);
    char *end;
    (void)buffer;
    if (n < 0) {
        exit(0);
    }
    crowd->n_line += (size_t)n;
    crowd->line[crowd->n_line] = '\0';
    while ((end = strchr(crowd->line, '\n'))) {
        *end = '\0';
        run_line(crowd, crowd->line);
        crowd->n_line -= (size_t)(end + 1 - crowd->line);
        memmove(crowd->line, end + 1, crowd->n_line + 1);
    }
}

/* ---- beginning ---- */

static void set_address(struct redis_url *url, char *address)
{
    char *colon = strrchr(address, ':');
    if (address[0] == '/') {
        url->scheme = REDIS_UNIX;
        url->path = address;
    } else if (colon) {
        *colon = '\0';
        url->scheme = REDIS_TCP;
        url->hosts[0] = (struct redis_host){address, (uint16_t)bench_number(colon + 1)};
        url->n_hosts = 1;
    } else {
        bench_fail("an address is /PATH or HOST:PORT");
    }
}

static void allow_many_files(void)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

static void crowd_init(struct crowd *crowd, char *argv[])
{
    nanoseconds ttl = bench_number(argv[4]) * NANOSECONDS_PER_MILLISECOND;
    crowd->n = bench_number(argv[2]);
    crowd->leases = bench_number(argv[3]);
    crowd->database = (struct database){.name = "default",
        .prefix = argv[5],
        .ttl = ttl,
        .failover_lag = 11 * NANOSECONDS_PER_SECOND,
        .generation = 1};
    set_address(&crowd->database.url, argv[1]);
    crowd->definition = (struct definition){.name = "crowd",
        .kind = KIND_SEMAPHORE,
        .database = 1,
        .limit = 1000000,
        .max_hold = NEVER,
        .kill_after = ttl / 4,
        .on_lost = ON_LOST_KILL,
        .keep = 10 * NANOSECONDS_PER_SECOND,
        .max_waiters = 1000000,
        .max_units_per_user = UNBOUNDED};
    sums_reset(crowd);
    uv_loop_init(&crowd->loop);
    crowd->members = memory_new(crowd->n * sizeof crowd->members[0]);
    for (unsigned i = 0; i < crowd->n; i++) {
        member_init(&crowd->members[i], crowd, i + 1);
    }
}

int main(int argc, char *argv[])
{
    static struct crowd crowd;
    if (argc != 6) {
        bench_fail("usage: sessions SOCKET|HOST:PORT SESSIONS LEASES TTL_MS PREFIX");
    }
    signal(SIGPIPE, SIG_IGN);
    allow_many_files();
    crowd_init(&crowd, argv);
    uv_pipe_init(&crowd.loop, &crowd.input, 0);
    uv_pipe_open(&crowd.input, 0);
    uv_read_start((uv_stream_t *)&crowd.input, on_alloc, on_input);
    uv_run(&crowd.loop, UV_RUN_DEFAULT);
    return 1;
}
