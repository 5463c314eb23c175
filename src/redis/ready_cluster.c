/* ready_cluster.c - a node of a cluster: where the slot of our keys is. */
#include "redis/ready_internal.h"

#include <string.h>

static size_t make_slots(
    const struct ready *ready, size_t index, const char *argv[MAX_WORDS], char number[16])
{
    (void)ready, (void)index, (void)number;
    argv[0] = "CLUSTER";
    argv[1] = "SLOTS";
    return 2;
}

/* The node's reply to the next command says more surely whether it has the slot. */
static bool check_slots(struct ready *ready, size_t index, const struct resp *reply)
{
    const struct ready_cluster *cluster = ready->wish.cluster;
    (void)index;
    if (cluster_map_read(&ready->map, reply, cluster->slot, cluster->host)) {
        ready->map.n = 0;
    }
    return true;
}

static size_t make_asking(
    const struct ready *ready, size_t index, const char *argv[MAX_WORDS], char number[16])
{
    (void)ready, (void)index, (void)number;
    argv[0] = "ASKING";
    return 1;
}

/* A node answers this only if it would let a script have all these keys. */
static size_t make_exists(
    const struct ready *ready, size_t index, const char *argv[MAX_WORDS], char number[16])
{
    size_t n = 0;
    (void)index, (void)number;
    argv[n++] = "EXISTS";
    for (size_t i = 0; i < N_SCRIPT_KEYS; i++) {
        argv[n++] = ready->wish.keys->keys[i];
    }
    return n;
}

static bool check_asking(struct ready *ready, size_t index, const struct resp *reply)
{
    (void)index;
    return reply->type == RESP_STATUS || ready_fail(ready, RESP_UNEXPECTED);
}

static bool check_number(struct ready *ready, size_t index, const struct resp *reply)
{
    (void)index;
    return reply->type == RESP_INTEGER || ready_fail(ready, RESP_UNEXPECTED);
}

static const struct ready_kind kind_ssubscribe;

/* All channels in one command, as ASKING holds for one, and may not follow a subscription. */
static size_t make_ssubscribe(
    const struct ready *ready, size_t index, const char *argv[MAX_WORDS], char number[16])
{
    size_t n = 0;
    (void)index, (void)number;
    argv[n++] = "SSUBSCRIBE";
    for (size_t i = 0; i < N_CHANNELS; i++) {
        argv[n++] = ready->wish.keys->channels[i];
    }
    return n;
}

/* Each channel has a reply. */
static bool check_ssubscribe(struct ready *ready, size_t index, const struct resp *reply)
{
    const char *channel = ready->wish.keys->channels[index];
    bool good = reply->type == RESP_ARRAY && reply->n == 3 &&
        strcmp(reply->elements[0].text, "ssubscribe") == 0 &&
        strcmp(reply->elements[1].text, channel) == 0;
    if (good && index + 1 < N_CHANNELS) {
        ready_expect(ready, &kind_ssubscribe, index + 1);
    }
    return good || ready_fail(ready, RESP_UNEXPECTED);
}

static const struct ready_kind kind_slots = {ABILITY_cluster_slots, make_slots, check_slots, false};
static const struct ready_kind kind_asking = {ABILITY_asking, make_asking, check_asking, false};
static const struct ready_kind kind_exists = {ABILITY_exists, make_exists, check_number, false};
static const struct ready_kind kind_ssubscribe = {
    ABILITY_ssubscribe, make_ssubscribe, check_ssubscribe, false};
static void add_asking(struct ready *ready, struct text *out)
{
    if (ready->wish.cluster && ready->wish.cluster->is_asking) {
        ready_add(ready, &kind_asking, 0, out);
    }
}

void ready_subscribe_to_slot(struct ready *ready, struct text *out)
{
    add_asking(ready, out);
    ready_add(ready, &kind_ssubscribe, 0, out);
}

/* A replica answers as a node that does not have the slot, and says where the master is. */
void ready_find_slot(struct ready *ready, struct text *out)
{
    ready_add(ready, &kind_slots, 0, out);
    add_asking(ready, out);
    ready_add(ready, &kind_exists, 0, out);
}

bool ready_is_redirected(struct ready *ready, const struct resp *reply)
{
    const struct ready_cluster *cluster = ready->wish.cluster;
    struct redirection *redirection = &ready->redirection;
    bool makes_sense =
        !cluster || redirection_read(redirection, reply->text, cluster->slot, cluster->host);
    if (!makes_sense || redirection->kind == REDIRECTION_DOWN) {
        redirection->kind = REDIRECTION_NONE;
    }
    return redirection->kind != REDIRECTION_NONE;
}
