#include "database/fleet_sessions.h"
#include "config.h"

#include "admission/server.h"
#include "base/clock.h"
#include "base/memory.h"
#include "core/fleet.h"
#include "database/client_events.h"
#include "database/down_reasons.h"
#include "database/fleet_journal.h"
#include "database/session_name.h"
#include "job/job.h"
#include "log/log.h"
#include "record/history.h"
#include "record/lease_log.h"
#include "record/log_subject.h"
#include "redis/link.h"
#include "redis/scripts.h"
#include "status/database_line.h"
#include "status/why.h"

#include <stdlib.h>

/* A database of ours. */
struct member {
    struct server *server;
    uint8_t database; /* 1 ... */
    struct session *session;
    struct link *link; /* NULL before fleet_start() */
    struct link_info info; /* of the server, as last heard; its address is "" before that */
    enum { MEMBER_UNTRIED, MEMBER_READY, MEMBER_DOWN } state; /* DOWN: and this was logged */
    const char *name; /* the database's */
    struct down_reasons down_reasons; /* that were logged */
    bool was_in_grace; /* as the log says */
    nanoseconds sent_until; /* the deadline that clients have */
    nanoseconds due_at; /* when its session has something to do by itself */
    bool is_touched; /* something has happened to it in this turn */
};

struct fleet {
    struct server *server;
    nanoseconds misses_leases_until; /* the core's, as the sessions know it; 0: that is over */
    size_t n; /* 0: stopped */
    struct member members[];
};

static const struct member *member_of(const struct fleet *fleet, uint8_t database)
{
    return &fleet->members[database - 1];
}

/* For whatever changes a session, or what it looks at: only then is it looked at as the turn ends.
 * A turn that concerns this host alone costs nothing here. */
static struct member *touch(struct fleet *fleet, uint8_t database)
{
    struct member *member = &fleet->members[database - 1];
    member->is_touched = true;
    return member;
}

struct session *fleet_session(struct fleet *fleet, uint8_t database)
{
    return touch(fleet, database)->session;
}

/* ---- what the log says: when it comes and goes, and its graces; nothing twice ---- */

static struct log_subject subject_of(const struct member *member, const char *event)
{
    return (struct log_subject){.event = event, .database = member->name};
}

static void log_connected(struct member *member, const struct link_info *info)
{
    const struct log_subject subject = subject_of(member, "connected");
    member->down_reasons = (struct down_reasons){.n_reasons = 0};
    log_message_on(LOG_LEVEL_INFO, &subject, "database %s: connected to %s%s at %s", member->name,
        link_info_kind(info), link_info_version(info), info->address);
    if (info->warning[0]) {
        log_message_on(LOG_LEVEL_WARNING, &subject, "database %s: %s", member->name, info->warning);
    }
}

static void log_down(struct member *member, const char *why, bool refused)
{
    if (down_reasons_add(&member->down_reasons, why)) {
        const struct log_subject subject = subject_of(member, "down");
        log_message_on(LOG_LEVEL_ERROR, &subject, "database %s: %s: %s", member->name,
            refused ? "refused" : "cannot be reached", why);
    }
}

static void log_notices(struct member *member)
{
    const struct log_subject subject = subject_of(member, "notice");
    const char *notice;
    while ((notice = session_take_notice(member->session))) {
        log_message_on(LOG_LEVEL_WARNING, &subject, "database %s: %s", member->name, notice);
    }
}

static void log_grace(struct member *member)
{
    const struct session_view view = session_look(member->session);
    bool is_in_grace = view.grace_until != NEVER;
    if (is_in_grace == member->was_in_grace || view.state != SESSION_UP) {
        return;
    }
    member->was_in_grace = is_in_grace;
    const struct log_subject subject = subject_of(member, "grace");
    if (is_in_grace) {
        char left[16];
        age_format(left, sizeof left, milliseconds(view.grace_until - clock_now()) + 999);
        log_message_on(LOG_LEVEL_WARNING, &subject,
            "database %s: it is new or has lost its data: nothing new is granted for %s%s%s",
            member->name, left, view.is_new ? "; if it never held anything: berthctl found " : "",
            view.is_new ? member->name : "");
    } else {
        log_message_on(LOG_LEVEL_INFO, &subject, "database %s: its grace has ended", member->name);
    }
}

/* ---- what the link brings ---- */

static void end_turn(struct member *member)
{
    struct loop_iteration *turn = &member->server->turn;
    member->is_touched = true;
    apply_effects(turn);
    loop_iteration_end(turn);
}

static void on_ready(void *context, const struct link_info *info)
{
    struct member *member = context;
    member->info = *info;
    member->state = MEMBER_READY;
    log_connected(member, info);
    session_allow_history(member->session, !info->lacks_history);
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

/* Somebody at another host. */
static bool on_taken(
    void *context, const struct lease *lease, const struct session_taking *taking)
{
    static const struct {
        enum command_index command;
        const char *event;
    } rows[] = {
        [SESSION_REVOKE] = {COMMAND_revoke, "revoked"},
        [SESSION_WITHDRAW] = {COMMAND_revoke, "revoked"},
        [SESSION_DROP] = {COMMAND_drop, "dropped"},
        [SESSION_RELEASE] = {COMMAND_release, "released"},
    };
    const struct member *member = context;
    struct server *server = member->server;
    if (taking->verb == SESSION_WITHDRAW && job_holder_may_not_signal(lease)) {
        return false;
    }
    lease_log_taken_remotely(&server->databases, lease, &taking->by, rows[taking->verb].command,
        rows[taking->verb].event, taking->reason);
    if (!taking->is_repeat) {
        lease_note_taker(
            core_find_lease(server->core, lease->id), &taking->by, taking->reason);
    }
    return true;
}

static void on_down(void *context, const char *why, bool refused)
{
    struct member *member = context;
    log_down(member, why, refused);
    member->state = MEMBER_DOWN;
    session_disconnected(member->session, why, clock_now());
    link_spread(member->link, session_spread(member->session, clock_now()));
    end_turn(member);
}

static const struct link_events link_events = {
    .on_ready = on_ready,
    .on_reply = on_reply,
    .on_message = on_message,
    .on_down = on_down,
};

/* ---- the end of a turn ---- */

/* The clock is read before the kernel gets each call's bytes: deadlines count from it. */
static void send_calls(struct member *member)
{
    struct script_call call;
    while (
        member->state == MEMBER_READY && session_next_call(member->session, clock_now(), &call)) {
        link_call(member->link, &call);
    }
}

static void hand_out_results(struct member *member)
{
    struct session_result result;
    while (session_take_result(member->session, &result)) {
        if (result.context) {
            result.done(result.context, &result);
        }
        text_deinit(&result.rows);
    }
}

static void member_connect(struct member *member);

static void take_new_name(struct member *member)
{
    char id[SESSION_NAME_SIZE];
    session_name_random(id);
    session_rename(member->session, id);
    link_close(member->link);
    member->state = MEMBER_DOWN;
    member_connect(member);
}

static void send_deadlines(struct member *member)
{
    struct core *core = member->server->core;
    nanoseconds until = core_fleet_deadline(core, member->database);
    if (until != member->sent_until) {
        member->sent_until = until;
        client_events_deadlines(core, member->database);
    }
}

static void end_turn_of(struct member *member)
{
    member->is_touched = false;
    nanoseconds held_until = member->server->fleet->misses_leases_until;
    session_hold_listing(member->session, held_until != 0);
    hand_out_results(member);
    if (member->link && session_needs_name(member->session)) {
        take_new_name(member);
    }
    const char *why = session_wants_reset(member->session);
    if (why && member->state == MEMBER_READY) {
        link_fail(member->link, why);
    }
    log_notices(member);
    log_grace(member);
    send_deadlines(member);
    send_calls(member);
    fleet_write_down(member->server->fleet_journal, member->database);
    member->is_touched |= !fleet_is_written_down(member->server->fleet_journal, member->database);
    member->due_at =
        earlier(session_next_deadline(member->session), held_until != 0 ? held_until : NEVER);
}

void fleet_end_turn(struct fleet *fleet)
{
    /* While the journal was lost, holders may still come to reclaim their leases; then those that
     * run under the others are stopped. */
    nanoseconds until = fleet->n > 0 ? core_misses_leases_until(fleet->server->core) : 0;
    until = until != 0 && clock_now() < until ? until : 0;
    bool all = until != fleet->misses_leases_until;
    fleet->misses_leases_until = until;
    for (size_t i = 0; i < fleet->n; i++) {
        if (all || fleet->members[i].is_touched) {
            end_turn_of(&fleet->members[i]);
        }
    }
}

nanoseconds fleet_next_deadline(const struct fleet *fleet)
{
    nanoseconds next = NEVER;
    for (size_t i = 0; i < fleet->n; i++) {
        next = earlier(next, fleet->members[i].due_at);
    }
    return next;
}

void fleet_tick(struct fleet *fleet, nanoseconds now)
{
    for (size_t i = 0; i < fleet->n; i++) {
        if (now >= fleet->members[i].due_at) {
            struct member *member = touch(fleet, fleet->members[i].database);
            session_tick(member->session, now, &fleet->server->effects);
        }
    }
}

/* ---- leases ---- */

void fleet_apply_effect(struct fleet *fleet, const struct effect *effect)
{
    struct lease *lease = effect->lease;
    if (lease->database > fleet->n) {
        return; /* berthd is stopping */
    }
    struct session *session = fleet_session(fleet, lease->database);
    if (effect->kind == EFFECT_GIVE_BACK) {
        session_give_back(session, lease);
    } else if (lease->state == LEASE_WAITING) {
        session_ask(session, lease, clock_now(), &fleet->server->effects);
    }
}

enum outcome fleet_may_use(const struct fleet *fleet, const struct definition *definition)
{
    return session_may_use(member_of(fleet, definition->database)->session, definition);
}

void fleet_define(struct fleet *fleet, const struct definition definitions[], size_t n)
{
    for (size_t i = 0; i < fleet->n; i++) {
        session_define(fleet_session(fleet, (uint8_t)(i + 1)), definitions, n);
    }
}

void fleet_use_tls(struct fleet *fleet, uint8_t database, struct tls_context *tls)
{
    struct member *member = &fleet->members[database - 1];
    if (database <= fleet->n && member->link) {
        link_use_tls(member->link, tls);
        const struct log_subject subject = subject_of(member, "certificates");
        log_message_on(LOG_LEVEL_INFO, &subject,
            "database %s: its certificates were read again, for new connections", member->name);
    }
}

/* ---- requests ---- */

void fleet_forget(struct fleet *fleet, const void *context)
{
    for (size_t i = 0; i < fleet->n; i++) {
        session_forget(fleet->members[i].session, context);
    }
}

/* ---- looking ---- */

struct session_view fleet_look(const struct fleet *fleet, uint8_t database)
{
    return session_look(member_of(fleet, database)->session);
}

void fleet_write_line(const struct fleet *fleet, uint8_t database, const struct load_view *load,
    struct text *out)
{
    const struct session_view view = fleet_look(fleet, database);
    const struct latency_view latency =
        session_latency(member_of(fleet, database)->session, clock_now());
    database_line_write(out, fleet_database(&fleet->server->databases, database), &view, &latency,
        fleet_server_info(fleet, database), load);
}

void fleet_why(char *out, size_t size, const struct fleet *fleet, uint8_t database,
    const char *name, enum outcome why)
{
    struct text is_new = TEXT_INIT;
    const struct database *settings = fleet_database(&fleet->server->databases, database);
    const struct session_view view = fleet_look(fleet, database);
    if (view.is_new) {
        fleet_why_new(&is_new, settings->name, view.grace_until - clock_now());
    }
    fleet_why_of(
        out, size, settings, why == OUTCOME_GRACE ? is_new.bytes : view.why, name, why);
    text_deinit(&is_new);
}

bool fleet_is_down(const struct fleet *fleet, uint8_t database)
{
    return member_of(fleet, database)->state == MEMBER_DOWN;
}

const struct link_info *fleet_server_info(const struct fleet *fleet, uint8_t database)
{
    const struct member *member = member_of(fleet, database);
    return member->info.address[0] != '\0' ? &member->info : NULL;
}

const char *fleet_session_id(const struct fleet *fleet, uint8_t database)
{
    return session_id(member_of(fleet, database)->session);
}

/* ---- life ---- */

static void member_init(
    struct member *member, struct server *server, uint8_t database, const char *socket_path)
{
    const struct database *settings = fleet_database(&server->databases, database);
    struct database_counts *counts = &server->database_counts[database - 1];
    char id[SESSION_ID_SIZE], host[SESSION_HOST_SIZE];
    session_host_read(host);
    session_name_make(id, server->state.boot_id, socket_path, settings->name);
    *member = (struct member){
        .server = server,
        .database = database,
        .is_touched = true,
        .name = settings->name,
    };
    const struct session_options options = {
        .core = server->core,
        .database = database,
        .settings = settings,
        .bounds = &script_bounds,
        .layouts = script_layouts,
        .id = id,
        .host = host,
        .version = PACKAGE_VERSION,
        .seed = random_number(),
        .wall_offset = clock_wall_now() - clock_now(),
    };
    member->session = session_new(&options);
    session_count(member->session, &counts->sessions, &counts->renewals);
    session_on_taken(member->session, on_taken, member);
    server->fleet_journal->records[database - 1].session = member->session;
}

struct fleet *fleet_new(struct server *server, const char *socket_path)
{
    size_t n = server->databases.n;
    struct fleet *fleet = memory_new(sizeof *fleet + n * sizeof fleet->members[0]);
    fleet->server = server;
    fleet->n = n;
    for (size_t i = 0; i < n; i++) {
        member_init(&fleet->members[i], server, (uint8_t)(i + 1), socket_path);
    }
    return fleet;
}

static void member_connect(struct member *member)
{
    struct server *server = member->server;
    const struct database *settings = fleet_database(&server->databases, member->database);
    char host[SESSION_HOST_SIZE], client_name[SESSION_HOST_SIZE + 8];
    session_host_read(host);
    snprintf(client_name, sizeof client_name, "berthd:%s", host);
    const struct link_options options = {
        .database = settings,
        .session = session_id(member->session),
        .client_name = client_name,
        .timeout = settings->ttl / 12,
    };
    member->link = link_new(&server->loop, &options, &link_events, member);
}

void fleet_start(struct fleet *fleet)
{
    for (size_t i = 0; i < fleet->n; i++) {
        member_connect(&fleet->members[i]);
    }
}

void fleet_leave(struct fleet *fleet)
{
    struct script_call call;
    for (size_t i = 0; i < fleet->n; i++) {
        struct member *member = &fleet->members[i];
        if (member->state == MEMBER_READY &&
            session_leave(member->session, clock_now(), &call)) {
            link_call(member->link, &call);
            link_flush(member->link);
        }
    }
}

void fleet_stop(struct fleet *fleet)
{
    for (size_t i = 0; i < fleet->n; i++) {
        struct member *member = &fleet->members[i];
        if (member->link) {
            link_close(member->link);
        }
        member->session = session_free(member->session);
    }
    fleet->n = 0;
}

struct fleet *fleet_free(struct fleet *fleet)
{
    fleet_stop(fleet);
    free(fleet);
    return NULL;
}
