#include "daemon/fleet_sessions.h"

#include "base/clock.h"
#include "base/memory.h"
#include "core/fleet.h"
#include "daemon/deadlines.h"
#include "daemon/fleet_journal.h"
#include "daemon/server.h"
#include "daemon/session_name.h"
#include "log/log.h"
#include "redis/link.h"
#include "redis/scripts.h"
#include "status/fleet_why.h"

#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/random.h>
#include <time.h>

/* A connection that waits for what a database says. */
struct fleet_request {
    LIST_ENTRY(fleet_request) entry; /* in its member's */
    struct conn *conn;
    fleet_done *done;
};

/* One database of ours. */
struct member {
    struct server *server;
    uint8_t database; /* 1 ... */
    struct session *session;
    struct link *link; /* NULL before fleet_start() */
    struct link_info info; /* of the server, as last heard */
    bool has_info;
    bool is_ready;
    bool was_down; /* and that was said */
    bool was_in_grace; /* and that was said */
    nanoseconds told_until; /* what clients have been told of the deadline */
    LIST_HEAD(, fleet_request) requests;
};

struct fleet {
    size_t n;
    struct member members[];
};

static struct member *member_of(const struct server *server, uint8_t database)
{
    return &server->fleet->members[database - 1];
}

static const char *name_of(const struct member *member)
{
    return fleet_name_of(&member->server->databases, member->database);
}

static struct log_about about_member(const struct member *member, const char *event)
{
    return (struct log_about){.event = event, .database = name_of(member)};
}

/* ---- what the link brings ---- */

static void end_turn(struct member *member)
{
    server_carry_out(member->server);
    server_end_turn(member->server);
}

static void on_ready(void *context, const struct link_info *info)
{
    struct member *member = context;
    bool is_news = member->was_down || !member->has_info;
    member->info = *info;
    member->has_info = member->is_ready = true;
    member->was_down = false;
    if (is_news) {
        const struct log_about about = about_member(member, "connected");
        log_about(LOG_LEVEL_INFO, &about, "database %s: connected to Redis %s at %s",
            about.database, info->version, info->address);
        if (info->warning[0]) {
            log_about(
                LOG_LEVEL_WARNING, &about, "database %s: %s", about.database, info->warning);
        }
    }
    session_connected(member->session, clock_now());
    end_turn(member);
}

static void on_reply(void *context, uint64_t tag, const struct resp *reply)
{
    struct member *member = context;
    session_reply(
        member->session, tag, reply, clock_now(), &member->server->effects);
    end_turn(member);
}

static void on_message(void *context, const char *text, size_t length)
{
    struct member *member = context;
    session_message(
        member->session, text, length, clock_now(), &member->server->effects);
    end_turn(member);
}

/* Said once, not at each try. */
static void on_down(void *context, const char *why, bool refused)
{
    struct member *member = context;
    if (!member->was_down) {
        const struct log_about about = about_member(member, "down");
        log_about(LOG_LEVEL_ERROR, &about, "database %s: %s: %s", about.database,
            refused ? "refused" : "cannot be reached", why);
    }
    member->was_down = true;
    member->is_ready = false;
    session_disconnected(member->session, why, clock_now());
    end_turn(member);
}

static const struct link_events link_events = {
    .on_ready = on_ready,
    .on_reply = on_reply,
    .on_message = on_message,
    .on_down = on_down,
};

/* ---- the end of a turn ---- */

/* The clock is read before each call's bytes are given to the kernel: deadlines count from it. */
static void send_calls(struct member *member)
{
    struct session_call call;
    while (member->is_ready && session_next_call(member->session, clock_now(), &call)) {
        link_call(member->link, call.script, call.argc, call.argv, call.lengths, call.tag);
    }
}

static void hand_out_results(struct member *member)
{
    struct session_result result;
    while (session_take_result(member->session, &result)) {
        struct fleet_request *request = result.context;
        if (request) {
            LIST_REMOVE(request, entry);
            request->done(request->conn, &result);
            free(request);
        }
        text_deinit(&result.rows);
    }
}

static void tell_deadlines(struct member *member)
{
    struct server *server = member->server;
    nanoseconds until = core_fleet_deadline(server->core, member->database);
    if (until != member->told_until) {
        member->told_until = until;
        deadlines_tell(server, member->database);
    }
}

static void log_notices(struct member *member)
{
    const char *notice;
    while ((notice = session_take_notice(member->session))) {
        const struct log_about about = about_member(member, "notice");
        log_about(LOG_LEVEL_WARNING, &about, "database %s: %s", about.database, notice);
    }
}

static void log_grace(struct member *member)
{
    struct session_view view;
    session_look(member->session, &view);
    bool is_in_grace = view.grace_until != NEVER;
    if (is_in_grace == member->was_in_grace || view.state != SESSION_UP) {
        return;
    }
    member->was_in_grace = is_in_grace;
    const struct log_about about = about_member(member, "grace");
    if (is_in_grace) {
        log_about(LOG_LEVEL_WARNING, &about,
            "database %s: it is new or has lost its data: nothing new is granted for %lld ms",
            about.database, (long long)(view.grace_until - clock_now()) / 1000000);
    } else {
        log_about(LOG_LEVEL_INFO, &about, "database %s: its grace is over", about.database);
    }
}

/* While the journal was lost, whoever has a lease may still come to reclaim it. */
static void hold_listing(struct member *member)
{
    session_hold_listing(member->session, core_is_closed(member->server->core));
}

void fleet_end_turn(struct server *server)
{
    for (size_t i = 0; i < server->fleet->n; i++) {
        struct member *member = &server->fleet->members[i];
        hold_listing(member);
        hand_out_results(member);
        const char *why = session_wants_reset(member->session);
        if (why && member->is_ready) {
            link_reset(member->link, why);
        }
        log_notices(member);
        log_grace(member);
        tell_deadlines(member);
        send_calls(member);
        fleet_write_down(server, member->database);
    }
}

nanoseconds fleet_next_deadline(const struct server *server)
{
    nanoseconds next = NEVER;
    for (size_t i = 0; i < server->fleet->n; i++) {
        nanoseconds at = session_next_deadline(server->fleet->members[i].session);
        next = at < next ? at : next;
    }
    return next;
}

void fleet_tick(struct server *server, nanoseconds now)
{
    for (size_t i = 0; i < server->fleet->n; i++) {
        session_tick(server->fleet->members[i].session, now, &server->effects);
    }
}

/* ---- leases ---- */

void fleet_carry_out(struct server *server, const struct effect *effect)
{
    struct lease *lease = effect->lease;
    if (lease->database > server->fleet->n) {
        return; /* we stop */
    }
    struct session *session = member_of(server, lease->database)->session;
    if (effect->kind == EFFECT_GIVE_BACK) {
        session_give_back(session, lease, clock_now());
    } else if (lease->state == LEASE_WAITING) {
        session_ask(session, lease, clock_now(), &server->effects);
    }
}

void fleet_restore(struct server *server, struct lease *lease)
{
    session_restore(member_of(server, lease->database)->session, lease);
}

enum outcome fleet_may_use(const struct server *server, const struct definition *definition)
{
    return session_may_use(member_of(server, definition->database)->session, definition);
}

void fleet_define(struct server *server)
{
    for (size_t i = 0; i < server->fleet->n; i++) {
        session_define(server->fleet->members[i].session, server->conf->definitions,
            server->conf->n_definitions, clock_now());
    }
}

/* ---- requests ---- */

static struct fleet_request *request_new(struct member *member, struct conn *conn, fleet_done *done)
{
    struct fleet_request *request = memory_new(sizeof *request);
    request->conn = conn;
    request->done = done;
    LIST_INSERT_HEAD(&member->requests, request, entry);
    return request;
}

void fleet_admin(struct server *server, uint8_t database, struct conn *conn, size_t argc,
    const char *const argv[], fleet_done *done)
{
    struct member *member = member_of(server, database);
    session_admin(member->session, request_new(member, conn, done), argc, argv, clock_now());
}

void fleet_snapshot(struct server *server, uint8_t database, struct conn *conn, size_t n,
    const char *const names[], fleet_done *done)
{
    struct member *member = member_of(server, database);
    session_snapshot(member->session, request_new(member, conn, done), n, names, clock_now());
}

static void forget_request(struct member *member, struct fleet_request *request)
{
    session_forget(member->session, request);
    LIST_REMOVE(request, entry);
    free(request);
}

void fleet_forget(struct server *server, struct conn *conn)
{
    for (size_t i = 0; i < server->fleet->n; i++) {
        struct member *member = &server->fleet->members[i];
        struct fleet_request *next;
        for (struct fleet_request *request = LIST_FIRST(&member->requests); request; request = next) {
            next = LIST_NEXT(request, entry);
            if (request->conn == conn) {
                forget_request(member, request);
            }
        }
    }
}

/* ---- looking ---- */

void fleet_look(const struct server *server, uint8_t database, struct session_view *view)
{
    session_look(member_of(server, database)->session, view);
}

void fleet_why(char *out, size_t size, const struct server *server, uint8_t database,
    const char *name, enum outcome why)
{
    struct session_view view;
    fleet_look(server, database, &view);
    fleet_why_of(out, size, fleet_database(&server->databases, database), view.why, name, why);
}

bool fleet_is_down(const struct fleet *fleet, uint8_t database)
{
    return fleet->members[database - 1].was_down;
}

const struct link_info *fleet_server_info(const struct server *server, uint8_t database)
{
    const struct member *member = member_of(server, database);
    return member->has_info ? &member->info : NULL;
}

const char *fleet_session_id(const struct server *server, uint8_t database)
{
    return session_id(member_of(server, database)->session);
}

struct session *fleet_session(const struct server *server, uint8_t database)
{
    return member_of(server, database)->session;
}

/* ---- life ---- */

/* To tell the time of day from the boot clock's. */
static nanoseconds wall_offset(void)
{
    struct timespec wall;
    clock_gettime(CLOCK_REALTIME, &wall);
    return wall.tv_sec * NANOSECONDS_PER_SECOND + wall.tv_nsec - clock_now();
}

static void member_init(
    struct member *member, struct server *server, uint8_t database, const char *socket_path)
{
    const struct database *settings = fleet_database(&server->databases, database);
    char id[SESSION_ID_SIZE], host[SESSION_HOST_SIZE];
    uint64_t seed = 0;
    if (getrandom(&seed, sizeof seed, 0) != sizeof seed) {
        seed = (uint64_t)clock_now();
    }
    session_host_read(host);
    session_name_make(id, server->state.boot_id, socket_path, settings->name);
    *member = (struct member){.server = server, .database = database};
    LIST_INIT(&member->requests);
    const struct session_options options = {
        .core = server->core,
        .database = database,
        .settings = settings,
        .bounds = &script_bounds,
        .id = id,
        .host = host,
        .seed = seed,
        .wall_offset = wall_offset(),
    };
    member->session = session_new(&options);
}

void fleet_init(struct server *server, const char *socket_path)
{
    size_t n = server->databases.n;
    server->fleet = memory_new(sizeof *server->fleet + n * sizeof server->fleet->members[0]);
    server->fleet->n = n;
    for (size_t i = 0; i < n; i++) {
        member_init(&server->fleet->members[i], server, (uint8_t)(i + 1), socket_path);
    }
}

void fleet_start(struct server *server)
{
    for (size_t i = 0; i < server->fleet->n; i++) {
        struct member *member = &server->fleet->members[i];
        const struct database *settings = fleet_database(&server->databases, member->database);
        const struct link_options options = {
            .database = settings,
            .session = session_id(member->session),
            .timeout = settings->ttl / 12,
        };
        member->link = link_new(&server->loop, &options, &link_events, member);
    }
}

void fleet_stop(struct server *server)
{
    for (size_t i = 0; i < server->fleet->n; i++) {
        struct member *member = &server->fleet->members[i];
        while (!LIST_EMPTY(&member->requests)) {
            forget_request(member, LIST_FIRST(&member->requests));
        }
        if (member->link) {
            link_close(member->link);
        }
        member->session = session_free(member->session);
    }
    server->fleet->n = 0;
}

void fleet_deinit(struct server *server)
{
    if (server->fleet) {
        fleet_stop(server);
        free(server->fleet);
        server->fleet = NULL;
    }
}
