#include "daemon/client_events.h"

#include "base/memory.h"
#include "base/words.h"
#include "daemon/fleet_sessions.h"
#include "daemon/lease_log.h"
#include "daemon/server.h"
#include "journal/proof.h"
#include "status/answer_lines.h"

void client_events_tell(struct server *server, const struct effect *effect)
{
    if (!effect->client) {
        return;
    }
    struct conn *conn = container_of(effect->client, struct conn, client);
    if (effect->kind != EFFECT_GRANTED || effect->lease->signal == 0) {
        answer_effect(conn_events(conn), effect);
        return;
    }
    struct text proof = TEXT_INIT;
    proof_write(&proof, server->state.secret, effect->lease);
    answer_effect_saying(conn_events(conn), effect, proof.bytes);
    text_deinit(&proof);
}

void client_events_over(struct server *server, const struct effect *effect)
{
    const struct lease *lease = effect->lease;
    bool is_of_fleet = lease->database != 0 && !server->stopping;
    lease_log_over(&server->databases, effect);
    if (!effect->client || !is_of_fleet) {
        client_events_tell(server, effect);
        return;
    }
    char why[LINE_BYTES / 4]; /* encoded, it can be three times as long */
    const char *name = NULL;
    if (lease->n_claims == 1) {
        name = lease->state == LEASE_ENDED ? lease->last_names : lease->claims[0].resource->name;
    }
    fleet_why(why, sizeof why, server, lease->database, name, effect->why);
    struct conn *conn = container_of(effect->client, struct conn, client);
    answer_effect_saying(conn_events(conn), effect, why);
}

void client_events_place(struct server *server, const struct effect *effect)
{
    if (effect->lease->state == LEASE_WAITING) {
        client_events_tell(server, effect);
    }
}
