/* handshake_cluster.c - a node of a cluster: where the slot of our keys is. */
#include "redis/handshake_internal.h"

#include <string.h>

/* The node's reply to the next command says more surely whether it has the slot. */
static bool check_slots(struct handshake *handshake, const struct resp *reply)
{
    const struct handshake_cluster *cluster = handshake->wish.cluster;
    if (cluster_map_read(&handshake->map, reply, cluster->slot, cluster->host)) {
        handshake->map.n = 0;
    }
    return true;
}

/* A node answers this only if it would let a script have all these keys. */
static void make_exists(
    const struct handshake *handshake, size_t index, struct handshake_words *words)
{
    (void)index;
    for (size_t i = 0; i < N_SCRIPT_KEYS; i++) {
        words->argv[words->n++] = handshake->wish.keys->keys[i];
    }
}

static bool check_number(struct handshake *handshake, const struct resp *reply)
{
    return reply->type == RESP_INTEGER || handshake_fail(handshake, RESP_UNEXPECTED);
}

static const struct handshake_kind kind_ssubscribe;

/* All channels in one command, as ASKING holds for one, and may not follow a subscription. */
static void make_ssubscribe(
    const struct handshake *handshake, size_t index, struct handshake_words *words)
{
    (void)index;
    for (size_t i = 0; i < N_CHANNELS; i++) {
        words->argv[words->n++] = handshake->wish.keys->channels[i];
    }
}

/* Each channel has a reply. */
static bool check_ssubscribe(struct handshake *handshake, const struct resp *reply)
{
    size_t index = handshake_index(handshake);
    const char *channel = handshake->wish.keys->channels[index];
    bool good = reply->type == RESP_ARRAY && reply->n == 3 &&
        strcmp(reply->elements[0].text, "ssubscribe") == 0 &&
        strcmp(reply->elements[1].text, channel) == 0;
    if (good && index + 1 < N_CHANNELS) {
        handshake_expect(handshake, &kind_ssubscribe, index + 1);
    }
    return good || handshake_fail(handshake, RESP_UNEXPECTED);
}

static const struct handshake_kind kind_slots = {
    ABILITY_cluster_slots, check_slots, {"CLUSTER", "SLOTS"}, NULL, false};
static const struct handshake_kind kind_asking = {
    ABILITY_asking, handshake_check_status, {"ASKING"}, NULL, false};
static const struct handshake_kind kind_exists = {
    ABILITY_exists, check_number, {"EXISTS"}, make_exists, false};
static const struct handshake_kind kind_ssubscribe = {
    ABILITY_ssubscribe, check_ssubscribe, {"SSUBSCRIBE"}, make_ssubscribe, false};
static void add_asking(struct handshake *handshake, struct text *out)
{
    if (handshake->wish.cluster && handshake->wish.cluster->is_asking) {
        handshake_add(handshake, &kind_asking, 0, out);
    }
}

void handshake_subscribe_to_slot(struct handshake *handshake, struct text *out)
{
    add_asking(handshake, out);
    handshake_add(handshake, &kind_ssubscribe, 0, out);
}

/* A replica answers as a node that does not have the slot, and says where the master is. */
void handshake_find_slot(struct handshake *handshake, struct text *out)
{
    handshake_add(handshake, &kind_slots, 0, out);
    add_asking(handshake, out);
    handshake_add(handshake, &kind_exists, 0, out);
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
