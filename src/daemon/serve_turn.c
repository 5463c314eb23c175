/* serve_turn.c - how each turn of the loop ends, and when the next one is due: effects are carried
 * out, answers and calls are sent, and the timer is set. */
#include "admission/idle_wait.h"
#include "base/clock.h"
#include "base/memory.h"
#include "conn/conn.h"
#include "daemon/serve.h"
#include "database/client_events.h"
#include "database/fleet_sessions.h"
#include "database/follow_source.h"
#include "log/log.h"
#include "record/lease_log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

/* ---- what the core wants done ---- */

/* Nothing is granted that could not be written down. */
static void send_granted(struct server *server, const struct effect *effect)
{
    struct lease *lease = effect->lease;
    if (!lease->is_unwritten) {
        lease_log_place(&server->databases, lease);
        job_origin_want(&server->origins, lease);
        client_events_granted(server, effect);
        return;
    }
    struct effect denied = *effect;
    denied.kind = EFFECT_DENIED;
    denied.why = OUTCOME_NO_SPACE;
    client_events_over(server, &denied);
    if (lease->state != LEASE_ENDED) {
        core_abort_acquire(server->core, lease, OUTCOME_NO_SPACE, clock_now(), &server->effects);
    }
}

static void send_drained(struct server *server, const struct effect *effect)
{
    (void)effect;
    client_events_to_drainers(&server->conns, EVENT_DRAINED);
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
    /* As berthd stops, connections end, but their clients do not. */
    if (effect->lease->state != LEASE_ENDED && !server->turn.stopping) {
        job_signal(&server->jobs, effect->lease, effect->signal);
    }
}

static void ask_database(struct server *server, const struct effect *effect)
{
    fleet_apply_effect(server->fleet, effect);
}

void serve_apply_effects(struct loop_iteration *turn)
{
    static void (*const functions[])(struct server *server, const struct effect *effect) = {
        [EFFECT_GRANTED] = send_granted,
        [EFFECT_DENIED] = client_events_over,
        [EFFECT_LOST] = client_events_over,
        [EFFECT_STOP] = client_events_over,
        [EFFECT_WATCH] = watch_job,
        [EFFECT_UNWATCH] = forget_job,
        [EFFECT_SIGNAL] = signal_job,
        [EFFECT_PLACE] = client_events_place,
        [EFFECT_ASK] = ask_database,
        [EFFECT_GIVE_BACK] = ask_database,
        [EFFECT_DRAINED] = send_drained,
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
        ledger_commit(&server->ledger); /* before what this has appended is carried out */
    }
    for (struct lease *lease = effects->ended; lease; lease = lease->next_ended) {
        job_forget(lease);
        job_origin_forget(&server->origins, lease);
        if (!server->turn.stopping) { /* else it goes on, for the next berthd */
            lease_log_ended(&server->databases, lease);
            idle_wait_lease_ended(&server->idle_waits, lease);
        }
    }
    if (server->idle_waits.by_name.n > 0) {
        idle_wait_look_again(&server->idle_waits);
    }
    effects_clear(effects);
}

/* ---- the end of a turn ---- */

void serve_set_timer(struct serving *serving)
{
    const struct server *server = &serving->server;
    nanoseconds deadline =
        earlier(core_next_deadline(server->core), fleet_next_deadline(server->fleet));
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
void serve_end_turn(struct loop_iteration *turn)
{
    struct serving *serving = container_of(turn, struct serving, server.turn);
    struct server *server = &serving->server;
    do {
        fleet_end_turn(server->fleet);
    } while (conn_flush_all(server));
    if (server->conf->logs_leases || serving->history_log.is_on) {
        history_log_end_turn(&serving->history_log, server->conf->logs_leases);
    }
    disk_wait_end_turn(&serving->disk_wait);
    ledger_note_complete(&server->ledger);
    serve_set_timer(serving);
    if (serving->notify.is_heard) {
        notify_end_turn(&serving->notify);
    }
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
    loop_iteration_end(&server->turn);
}
