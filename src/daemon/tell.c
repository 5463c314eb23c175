#include "daemon/tell.h"

#include "core/memory.h"
#include "daemon/answer.h"
#include "daemon/fleet.h"
#include "daemon/fleet_names.h"
#include "daemon/log.h"
#include "daemon/server.h"
#include "wire/text.h"

void tell_client(struct server *server, const struct effect *effect)
{
    (void)server;
    if (effect->client) {
        struct conn *conn = container_of(effect->client, struct conn, client);
        answer_effect(conn_events(conn), effect);
    }
}

static void log_lost(const struct lease *lease, enum outcome why)
{
    char id[LEASE_ID_SIZE];
    if (why == OUTCOME_DEADLINE || why == OUTCOME_LOST) {
        lease_id_format(id, lease->id);
        log_provoked("lease %s (process %d) is lost: %s", id, (int)lease->pid,
            code_table[outcome_code(why)].meaning);
    }
}

void tell_over(struct server *server, const struct effect *effect)
{
    const struct lease *lease = effect->lease;
    bool is_of_fleet = lease->database != 0 && lease->database <= fleet_n_databases(server);
    log_lost(lease, effect->why);
    if (!effect->client || !is_of_fleet) {
        tell_client(server, effect);
        return;
    }
    char why[LINE_BYTES / 4]; /* encoded, it can be three times as long */
    const char *name = lease->last_name;
    if (lease->state != LEASE_ENDED && lease->n_claims == 1) {
        name = lease->claims[0].resource->name;
    }
    fleet_why(why, sizeof why, server, lease->database, name, effect->why);
    struct conn *conn = container_of(effect->client, struct conn, client);
    answer_effect_saying(conn_events(conn), effect, why);
}

void tell_place(struct server *server, const struct effect *effect)
{
    if (effect->lease->state == LEASE_WAITING) {
        tell_client(server, effect);
    }
}
