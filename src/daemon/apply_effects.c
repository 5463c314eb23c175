#include "daemon/apply_effects.h"

#include "admission/idle_wait.h"
#include "admission/server.h"
#include "base/clock.h"
#include "base/memory.h"
#include "database/client_events.h"
#include "database/fleet_sessions.h"
#include "record/lease_log.h"

/* Nothing is granted that could not be written down. */
static void send_granted(struct server *server, const struct effect *effect)
{
    struct lease *lease = effect->lease;
    if (!lease->is_unwritten) {
        lease_log_place(&server->databases, lease);
        origin_want(&server->origins, lease);
        client_events_send(server, effect);
        return;
    }
    struct effect denied = *effect;
    denied.kind = EFFECT_DENIED;
    denied.why = OUTCOME_NO_SPACE;
    client_events_send(server, &denied);
    if (lease->state != LEASE_ENDED) {
        core_take_back(server->core, lease, OUTCOME_NO_SPACE, clock_now(), &server->effects);
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

void apply_effects_of_server(struct turn *turn)
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
        origin_forget(&server->origins, lease);
        if (!server->turn.stopping) { /* else it goes on, for the next berthd */
            lease_log_ended(&server->databases, server->history, lease);
            idle_wait_lease_ended(&server->idle_waits, lease);
        }
    }
    idle_wait_look_again(&server->idle_waits);
    effects_clear(effects);
}
