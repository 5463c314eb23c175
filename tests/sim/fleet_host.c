/* fleet_host.c - one host's daemon: in short, what serve.c, recovery.c and fleet_sessions.c do
 * around a core and a session. */
#include "fleet_internal.h"

#include "base/memory.h"

#include "../unit/core_remember.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool host_is_live(const struct fleet *fleet, const struct host *host)
{
    return host->core && fleet->now >= host->frozen_until;
}

static struct client *client_of(struct host *host, uint32_t uid)
{
    return &host->clients[uid - 1];
}

/* ---- a turn ---- */

/* A lease ends before its job only where something has gone wrong. */
static void check_reason(struct fleet *fleet, const struct host *host, const struct effect *effect)
{
    if (!fleet->had_faults && effect->why != OUTCOME_WITHDRAWN) {
        fail("%s: a job is stopped, outcome %d, and nothing was wrong", host->name,
            (int)effect->why);
    }
}

static void carry_out_one(struct fleet *fleet, struct host *host, const struct effect *effect)
{
    struct job *job = effect->lease ? jobs_find(host, effect->lease->id) : NULL;
    switch (effect->kind) {
    case EFFECT_ASK:
        if (effect->lease->state == LEASE_WAITING) {
            session_ask(host->session, effect->lease, host_now(fleet, host), &host->effects);
        }
        break;
    case EFFECT_GIVE_BACK:
        if (effect->lease->state == LEASE_ENDED && !effect->lease->ending) {
            effect->lease->ending = memory_string("how=released waited=0");
        }
        session_give_back(host->session, effect->lease);
        break;
    case EFFECT_GRANTED:
        job_is_granted(fleet, host, effect->lease);
        break;
    case EFFECT_DENIED:
        trace(fleet, "%s: %ju is denied, outcome %d", host->name, (uintmax_t)effect->lease->id,
            (int)effect->why);
        fleet->figures[FIGURE_CIRCLES] += effect->why == OUTCOME_CIRCLE;
        fleet->figures[FIGURE_REPLACED] += effect->why == OUTCOME_REPLACED;
        *job = (struct job){0};
        break;
    case EFFECT_LOST:
        trace(fleet, "%s: %ju is lost, outcome %d", host->name, (uintmax_t)effect->lease->id,
            (int)effect->why);
        if (job) {
            *job = (struct job){0};
        }
        break;
    case EFFECT_STOP:
        trace(fleet, "%s: %ju is stopped, outcome %d", host->name, (uintmax_t)effect->lease->id,
            (int)effect->why);
        check_reason(fleet, host, effect);
        fleet->figures[FIGURE_WITHDRAWN] += effect->why == OUTCOME_WITHDRAWN;
        job_is_stopped(fleet, host, job);
        break;
    default:
        break;
    }
}

static void carry_out(struct fleet *fleet, struct host *host)
{
    for (size_t i = 0; i < host->effects.n; i++) {
        struct effect effect = host->effects.list[i];
        carry_out_one(fleet, host, &effect);
    }
    effects_clear(&host->effects);
}

/* Wrappers report that their jobs are over. */
static void take_ends(struct fleet *fleet, struct host *host)
{
    for (size_t i = 0; i < MAX_JOBS; i++) {
        struct job *job = &host->jobs[i];
        if (job->id != 0 && job->is_over) {
            struct lease *lease = core_find_lease(host->core, job->id);
            *job = (struct job){0};
            if (lease) {
                core_end(host->core, lease, client_of(host, lease->uid), host_now(fleet, host),
                    &host->effects);
                carry_out(fleet, host);
            }
        }
    }
}

static void push_deadlines(struct host *host)
{
    host->deadline = core_fleet_deadline(host->core, 1);
    for (size_t i = 0; i < MAX_JOBS; i++) {
        host->jobs[i].deadline = host->deadline;
    }
}

static void write_down(struct host *host)
{
    if (session_is_changed(host->session)) {
        host->tenure.length = 0;
        session_write(host->session, &host->tenure);
        host->written_call = host->known_call;
    }
    if (session_changes_changed(host->session)) {
        host->changes.length = 0;
        session_write_changes(host->session, &host->changes);
    }
}

void host_turn(struct fleet *fleet, struct host *host)
{
    struct script_call call;
    const char *why;
    if (!host_is_live(fleet, host)) {
        return;
    }
    carry_out(fleet, host);
    take_ends(fleet, host);
    while ((why = session_take_notice(host->session))) {
        trace(fleet, "%s: notice: %s", host->name, why);
    }
    operator_hears(fleet, host);
    write_down(host);
    while (session_next_call(host->session, host_now(fleet, host), &call)) {
        net_send(fleet, host, &call);
    }
    push_deadlines(host);
    why = session_wants_reset(host->session);
    if (why) {
        net_break(fleet, host, why);
        host_turn(fleet, host);
    }
}

nanoseconds host_next_deadline(const struct fleet *fleet, const struct host *host)
{
    if (!host->is_there) {
        return NEVER;
    }
    nanoseconds deadline = jobs_next_deadline(host);
    nanoseconds times[] = {
        host->core ? clock_when(&host->clock, session_next_deadline(host->session))
                   : host->returns_at,
        host->core ? clock_when(&host->clock, core_next_deadline(host->core)) : NEVER,
        host->core && !host->is_connected ? host->connects_at : NEVER,
        host->core && !fleet->is_calm ? host->next_ask : NEVER,
        host->core && host->drained_until != 0 ? host->drained_until : NEVER,
    };
    for (size_t i = 0; i < sizeof times / sizeof times[0]; i++) {
        nanoseconds at = times[i] < host->frozen_until ? host->frozen_until : times[i];
        deadline = at < deadline ? at : deadline;
    }
    return deadline;
}

void host_drain(struct fleet *fleet, struct host *host, bool draining)
{
    trace(fleet, "%s: draining %d", host->name, draining);
    core_drain(host->core, draining, host_now(fleet, host), &host->effects);
    host->drained_until = draining ? fleet->now + chance(fleet, SECOND, 10 * SECOND) : 0;
    host_turn(fleet, host);
}

void host_tick(struct fleet *fleet, struct host *host)
{
    jobs_tick(fleet, host);
    if (!host->core && fleet->now >= host->returns_at) {
        host_start(fleet, host);
    }
    if (!host_is_live(fleet, host)) {
        return;
    }
    core_tick(host->core, host_now(fleet, host), &host->effects);
    session_tick(host->session, host_now(fleet, host), &host->effects);
    if (!host->is_connected && fleet->now >= host->connects_at) {
        net_connect(fleet, host);
    }
    if (host->drained_until != 0 && fleet->now >= host->drained_until) {
        host_drain(fleet, host, false);
    }
    if (!fleet->is_calm && fleet->now >= host->next_ask) {
        host->next_ask = fleet->now + chance(fleet, MILLISECOND, fleet->n_hosts * SECOND / 3);
        if (jobs_used(host) < MAX_ASKED_FOR / fleet->n_hosts) {
            jobs_ask(fleet, host);
        }
    }
    host_turn(fleet, host);
}

/* ---- start and end ---- */

static void remember_one(struct lease *lease, void *context)
{
    struct host *host = context;
    struct saved_lease *saved = remember(lease);
    saved->ticket = lease->ticket;
    saved->database = lease->database;
    saved->wants_now = lease->wants_now;
    host->journal[host->n_journal++] = saved;
}

/* Clients of leases that have not ended reconnect at once. */
static void restore_one(struct fleet *fleet, struct host *host, const struct saved_lease *saved)
{
    struct lease *lease;
    struct job *job = jobs_find(host, saved->id);
    nanoseconds now = host_now(fleet, host);
    enum outcome outcome = core_restore(host->core, saved, now, &host->effects, &lease);
    if (outcome != OUTCOME_OK) {
        fail("%s: restoring ends with outcome %d", host->name, (int)outcome);
    }
    if (lease->state != LEASE_ENDED) {
        session_restore(host->session, lease);
        if (job && !job->is_over) {
            core_reclaim(host->core, client_of(host, lease->uid), lease, now, &host->effects);
        } else if (lease_is_programs(lease)) { /* its watch finds it gone; others have the grace */
            core_process_exited(host->core, lease, now, &host->effects);
        }
    }
    if (job && job->is_over) {
        *job = (struct job){0};
    }
}

static void start_core(struct fleet *fleet, struct host *host)
{
    static const struct user_bounds bounds = {100, 1000, 1000, 1000};
    const char *refused;
    host->core = core_new(random_next(&fleet->random));
    core_begin_numbers(host->core, host->next_id);
    core_define(host->core, fleet->definitions, N_DEFINITIONS, &bounds, host_now(fleet, host),
        &host->effects, &refused);
    for (uint32_t uid = 1; uid <= N_USERS; uid++) {
        core_client_init(host->core, client_of(host, uid), uid);
    }
    core_begin_grace(host->core, false, host_now(fleet, host) + 10 * SECOND);
}

static void start_session(struct fleet *fleet, struct host *host)
{
    struct session_options options = {.core = host->core,
        .database = 1,
        .settings = &host->settings,
        .bounds = &script_bounds,
        .layouts = script_layouts,
        .id = host->name,
        .host = host->name,
        .seed = random_next(&fleet->random)};
    host->session = session_new(&options);
    session_define(host->session, fleet->definitions, N_DEFINITIONS);
    if (host->tenure.length > 0 &&
        !session_restore_tenure(host->session, host->tenure.bytes, host->tenure.length,
            host_now(fleet, host), &host->effects)) {
        fail("%s: its own tenure is nonsense", host->name);
    }
    if (host->changes.length > 0) {
        session_restore_changes(host->session, host->changes.bytes, host->changes.length);
    }
    if (core_fleet_deadline(host->core, 1) != host->deadline) {
        fail("%s: the deadline is forgotten", host->name);
    }
}

void host_start(struct fleet *fleet, struct host *host)
{
    start_core(fleet, host);
    start_session(fleet, host);
    for (size_t i = 0; i < host->n_journal; i++) {
        restore_one(fleet, host, host->journal[i]);
        host->journal[i] = forget(host->journal[i]);
    }
    host->n_journal = 0;
    host->is_connected = false;
    host->drained_until = 0;
    host->connects_at = fleet->now + chance(fleet, MILLISECOND, 100 * MILLISECOND);
    trace(fleet, "%s: daemon starts", host->name);
    host_turn(fleet, host);
}

static void host_free(struct fleet *fleet, struct host *host)
{
    operator_is_cut_off(fleet, host);
    host->session = session_free(host->session);
    for (uint32_t uid = 1; uid <= N_USERS; uid++) {
        core_client_deinit(host->core, client_of(host, uid), host_now(fleet, host), &host->effects);
        effects_clear(&host->effects);
    }
    core_abandon(host->core, host_now(fleet, host), &host->effects);
    effects_clear(&host->effects);
    host->core = core_free(host->core);
}

void host_crash(struct fleet *fleet, struct host *host)
{
    trace(fleet, "%s: daemon dies", host->name);
    core_fleet_for_each_holder(host->core, 1, remember_one, host);
    core_fleet_for_each_waiter(host->core, 1, remember_one, host);
    host->next_id = core_next_number(host->core);
    host_free(fleet, host);
    host->known_call = host->written_call;
    host->is_connected = false;
    host->connection++;
    host->returns_at = fleet->now + chance(fleet, 100 * MILLISECOND, 40 * SECOND);
    host->frozen_until = 0;
}

void host_join(struct fleet *fleet, struct host *host)
{
    uint64_t number = ++fleet->n_named;
    *host = (struct host){.is_there = true,
        .index = host->index,
        .settings = {.ttl = fleet->ttl,
            .prefix = "sim",
            .failover_lag = 11 * SECOND,
            .history = 20,
            .generation = 1},
        .connection = host->connection + 1,
        .mute_connection = UINT64_MAX,
        .next_id = 1 + number * UINT64_C(1000000)};
    clock_begin(fleet, &host->clock);
    snprintf(host->name, sizeof host->name, "%016ju", (uintmax_t)number);
    host_start(fleet, host);
}

void host_leave(struct fleet *fleet, struct host *host)
{
    trace(fleet, "%s: leaves", host->name);
    operator_loses(fleet, host);
    for (size_t i = 0; i < MAX_JOBS; i++) {
        job_dies(fleet, &host->jobs[i]);
    }
    if (host->core) {
        host_free(fleet, host);
    }
    effects_deinit(&host->effects);
    text_deinit(&host->tenure);
    text_deinit(&host->changes);
    for (size_t i = 0; i < host->n_journal; i++) {
        forget(host->journal[i]);
    }
    net_forget_host(fleet, host);
    *host = (struct host){.index = host->index, .connection = host->connection + 1};
}
