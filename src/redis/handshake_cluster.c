/* handshake_cluster.c - a node of a cluster: where the slot of our keys is. */
#include "redis/handshake_internal.h"

/* The node's reply to the next command says more surely whether it has the slot. */
static bool check_slots(struct handshake *handshake, const struct resp *reply)
{
    const struct handshake_cluster *cluster = handshake->wish.cluster;
    if (cluster_map_read(&handshake->map, reply, cluster->slot, cluster->host)) {
        handshake->map.n = 0;
    }
    return true;
}

static bool check_number(struct handshake *handshake, const struct resp *reply)
{
    return reply->type == RESP_INTEGER || handshake_fail(handshake, RESP_UNEXPECTED);
}

static const struct handshake_kind kind_ssubscribe;

/* Each channel has a reply. */
static bool check_ssubscribe(struct handshake *handshake, const struct resp *reply)
{
    size_t index = handshake_index(handshake);
    bool good = handshake_has_subscribed(handshake, reply, "ssubscribe");
    if (good && index + 1 < N_CHANNELS) {
        handshake_expect(handshake, &kind_ssubscribe, index + 1);
    }
    return good || handshake_fail(handshake, RESP_UNEXPECTED);
}

static const struct handshake_kind kind_slots = {ABILITY_cluster_slots, check_slots};
static const struct handshake_kind kind_asking = {ABILITY_asking, handshake_check_status};
static const struct handshake_kind kind_exists = {ABILITY_exists, check_number};
static const struct handshake_kind kind_ssubscribe = {ABILITY_ssubscribe, check_ssubscribe};

static void add_asking(struct handshake *handshake, struct text *out)
{
    if (handshake->wish.cluster && handshake->wish.cluster->is_asking) {
        handshake_add(handshake, &kind_asking, 0, (const char *const[]){"ASKING", NULL}, out);
    }
}

/* All channels in one command, as ASKING holds for one, and may not follow a subscription. */
void handshake_subscribe_to_slot(struct handshake *handshake, struct text *out)
{
    const char *words[1 + N_CHANNELS + 1] = {"SSUBSCRIBE"};
    for (size_t i = 0; i < N_CHANNELS; i++) {
        words[1 + i] = handshake->wish.keys->channels[i];
    }
    add_asking(handshake, out);
    handshake_add(handshake, &kind_ssubscribe, 0, words, out);
}

/* A node answers EXISTS only if it would let a script have all these keys; a replica as a node that
 * does not have the slot, and says where the master is. */
void handshake_find_slot(struct handshake *handshake, struct text *out)
{
    const char *words[1 + N_SCRIPT_KEYS + 1] = {"EXISTS"};
    for (size_t i = 0; i < N_SCRIPT_KEYS; i++) {
        words[1 + i] = handshake->wish.keys->keys[i];
    }
    handshake_add(handshake, &kind_slots, 0, (const char *const[]){"CLUSTER", "SLOTS", NULL}, out);
    add_asking(handshake, out);
    handshake_add(handshake, &kind_exists, 0, words, out);
}

bool handshake_is_redirected(struct handshake *handshake, const struct resp *reply)
{
    const struct handshake_cluster *cluster = handshake->wish.cluster;
    struct redirection *redirection = &handshake->redirection;
    bool makes_sense =
        !cluster || redirection_read(redirection, reply->text, cluster->slot, cluster->host);
    if (!makes_sense || redirection->kind == REDIRECTION_DOWN) {
        redirection->kind = REDIRECTION_NONE;
    }
    return redirection->kind != REDIRECTION_NONE;
}
