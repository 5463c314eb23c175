#include "database/client_events.h"

#include "admission/server.h"
#include "base/clock.h"
#include "conn/conn.h"
#include "core/fleet.h"
#include "database/fleet_sessions.h"
#include "journal/proof.h"
#include "record/lease_log.h"
#include "record/log_subject.h"
#include "status/answer_lines.h"
#include "status/why.h"

#include <stdio.h>
#include <string.h>

void client_events_granted(struct server *server, const struct effect *effect)
{
    if (!effect->client) {
        return;
    }
    struct text proof = TEXT_INIT, *out = conn_events(conn_of(effect->client));
    effect->lease->is_unread = true;
    if (lease_has_proof(effect->lease)) {
        proof_write(&proof, server->state.secret, effect->lease);
    }
    answer_effect(out, effect, proof.bytes);
    answer_deadline(out, effect->lease, server->clock_offset);
    text_deinit(&proof);
}

static void why_of_fleet(
    char *out, size_t size, const struct fleet *fleet, const struct effect *effect)
{
    const struct lease *lease = effect->lease;
    const char *name = lease->n_claims == 1 ? lease_names(lease) : effect->resource;
    fleet_why(out, size, fleet, lease->database, name, effect->why);
}

static void why_of_max_hold(
    char *out, size_t size, const struct fleet_names *databases, const struct lease *lease)
{
    struct log_subject subject = {0};
    char span[32];
    log_subject_lease(&subject, databases, lease);
    why_held_for(span, sizeof span, clock_now() - lease->granted_at);
    snprintf(out, size, "%s: held for %s, as long as max-hold allows",
        log_subject_what(&subject).text, span);
}

/* By the uid if the name has not come in time (command_lease.c), or an earlier berthd knew it. */
static void why_revoked(char *out, size_t size, struct server *server, uint32_t uid)
{
    const char *name = user_names_find(&server->user_names, uid, clock_now());
    if (name) {
        snprintf(out, size, "revoked by %s", name);
    } else {
        snprintf(out, size, "revoked by uid %lu", (unsigned long)uid);
    }
}

/* Its share of a lease that is over, or was not there any more after a restart; or NULL. */
static const struct claim *share_that_ends(const struct lease *lease)
{
    for (size_t i = lease->n_claims; i < lease_n_all(lease); i++) {
        const struct claim *share = &lease->claims[i];
        if (!share->of || share->of->lease->stopping != OUTCOME_OK) {
            return share;
        }
    }
    return NULL;
}

/* Its own user ends the other one by giving it back, too. */
static void why_with_another(char *out, size_t size, const struct claim *share, enum outcome why)
{
    char id[LEASE_ID_SIZE];
    lease_id_format(id, share->sharer);
    snprintf(out, size, "lease %s, whose units it shares, ends%s%s", id,
        why == OUTCOME_WITHDRAWN ? "" : ": ",
        why == OUTCOME_WITHDRAWN ? "" : code_table[outcome_code(why)].meaning);
}

void client_events_over(struct server *server, const struct effect *effect)
{
    const struct lease *lease = effect->lease;
    bool is_of_fleet = lease->database != 0 && !server->turn.stopping;
    lease_log_over(&server->databases, effect);
    if (!effect->client) {
        return;
    }
    char why[LINE_BYTES / 4]; /* encoded, it can be three times as long */
    enum code code = outcome_code(effect->why);
    const struct taken *taken = lease->taken;
    bool is_known = taken && taken->by.is_known;
    bool is_stop = effect->kind == EFFECT_STOP && !is_known;
    const struct claim *ends = is_stop ? share_that_ends(lease) : NULL;
    if (ends) {
        why_with_another(why, sizeof why, ends, effect->why);
    } else if (effect->why == OUTCOME_MAX_HOLD) {
        why_of_max_hold(why, sizeof why, &server->databases, effect->lease);
    } else if (code == CODE_REVOKED && is_known) {
        const struct actor *by = &taken->by;
        why_revoked(why, sizeof why, server, by->has_login ? by->login : by->uid);
    } else if (is_of_fleet) {
        why_of_fleet(why, sizeof why, server->fleet, effect);
    } else if (effect->resource) {
        snprintf(why, sizeof why, "%s: %s", effect->resource, code_table[code].meaning);
    } else {
        snprintf(why, sizeof why, "%s", code_table[code].meaning);
    }
    if (effect->reason) {
        size_t n = strlen(why);
        snprintf(why + n, sizeof why - n, ": %s", effect->reason);
    }
    struct text *out = conn_events(conn_of(effect->client));
    if (effect->kind == EFFECT_STOP && lease_is_programs(effect->lease)) {
        answer_deadline(out, effect->lease, server->clock_offset); /* nobody else enforces it */
    }
    answer_effect(out, effect, why);
}

void client_events_place(struct server *server, const struct effect *effect)
{
    (void)server;
    if (effect->client && effect->lease->state == LEASE_WAITING) {
        answer_effect(conn_events(conn_of(effect->client)), effect, NULL);
    }
}

static void send_deadline(struct lease *lease, void *context)
{
    (void)context;
    if (!lease_is_detached(lease)) {
        struct conn *conn = conn_of(lease->client);
        lease->is_unread = conn_grant_is_unread(lease); /* else this line might be meant */
        answer_deadline(conn_events(conn), lease, conn->server->clock_offset);
    }
}

void client_events_deadlines(struct core *core, uint8_t database)
{
    core_fleet_for_each_holder(core, database, send_deadline, NULL);
}

void client_events_to_drainers(const struct conn_list *conns, enum event event)
{
    struct conn *conn;
    LIST_FOREACH (conn, conns, link) {
        if (conn->wants_drained) {
            conn->wants_drained = false;
            answer_event(conn_events(conn), event);
        }
    }
}

void client_events_idle(struct idle_waiter *waiter)
{
    struct conn *conn = container_of(waiter, struct conn, idle_waiter);
    answer_event(conn_events(conn), EVENT_IDLE);
}
