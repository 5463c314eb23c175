#include "status/host_leases.h"

#include "base/memory.h"
#include "status/host_lines.h"

#include <string.h>

void host_leases_begin(struct host_leases *leases, const struct resource *resource)
{
    *leases = (struct host_leases){.part = PART_HOLDERS};
    strcpy(leases->name, resource->name);
}

/* Holders stand in the order of their tokens. False when `out` has enough. */
static bool show_holders(struct host_leases *leases, const struct lease_scene *scene,
    const struct resource *resource, struct text *out, size_t enough)
{
    const struct claim *claim = resource_holder_from(resource, leases->token, leases->holder);
    for (; claim; claim = claim_next_holder(claim)) {
        if (scene->only_waiter != 0 && leases->n_holders++ == MAX_HOLDERS_SHOWN) {
            break;
        }
        if (out->length >= enough) {
            return false;
        }
        host_describe_holder(out, claim, scene->viewer, scene->follows, scene->now);
        leases->token = claim->token;
        leases->holder = claim->lease->id + 1;
    }
    return true;
}

/* ---- waiters ---- */

static const struct claim *claim_on(const struct lease *lease, const char *name)
{
    for (size_t i = 0; lease && i < lease->n_claims; i++) {
        if (strcmp(lease->claims[i].resource->name, name) == 0) {
            return &lease->claims[i];
        }
    }
    return NULL;
}

void host_describe_waiting(
    struct text *out, const struct lease_scene *scene, uint64_t id, const char *name)
{
    const struct lease *lease = core_find_lease(scene->core, id);
    const struct claim *claim = claim_on(lease, name);
    if (claim && lease->state == LEASE_WAITING) {
        host_describe_waiter(out, claim, claim_position(claim), scene->viewer, false);
    }
}

void host_tell_lease(
    struct text *out, const struct lease_scene *scene, uint64_t id, const char *name)
{
    const struct lease *lease = core_find_lease(scene->core, id);
    const struct claim *claim = claim_on(lease, name);
    if (claim && lease->state == LEASE_HELD) {
        host_describe_holder(out, claim, scene->viewer, true, scene->now);
    } else if (claim) {
        host_describe_waiter(out, claim, 0, scene->viewer, true);
    } else {
        char word[LEASE_ID_SIZE];
        lease_id_format(word, id);
        text_add(out, "gone ");
        text_add(out, word);
        text_add_key(out, "resource", name);
        text_add(out, "\n");
    }
}

/* Fleet scope. */
static bool show_own_waiters(struct host_leases *leases, const struct lease_scene *scene,
    const struct own_waiters *waiters, const struct resource *resource, struct text *out,
    size_t enough)
{
    uint64_t id;
    for (; (id = own_waiters_at(waiters, resource, leases->minor)) != 0; leases->minor++) {
        if (out->length >= enough) {
            return false;
        }
        host_describe_waiting(out, scene, id, resource->name);
    }
    return true;
}

static struct order_node *next_in(const struct order *order, uint32_t rank)
{
    return rank < order_size(order) ? order_at(order, rank) : NULL;
}

/* Host scope: all sets together, in the one order: a waiter aside keeps its place. */
static bool show_waiters(struct host_leases *leases, const struct lease_scene *scene,
    const struct resource *resource, struct text *out, size_t enough)
{
    const struct order *sets[N_STANDINGS] = {&resource->queue, &resource->kept, &resource->aside};
    struct order_node *nodes[N_STANDINGS];
    uint32_t position = 1;
    for (size_t i = 0; i < N_STANDINGS; i++) {
        uint32_t n = order_count_below(sets[i], leases->major, leases->minor + 1);
        nodes[i] = next_in(sets[i], n);
        position += n;
    }
    for (;; position++) {
        struct order_node **firstp = NULL;
        for (size_t i = 0; i < N_STANDINGS; i++) {
            bool is_first = nodes[i] && (!firstp || order_node_is_before(nodes[i], *firstp));
            firstp = is_first ? &nodes[i] : firstp;
        }
        if (!firstp) {
            return true;
        }
        if (out->length >= enough) {
            return false;
        }
        host_describe_waiter(out, container_of(*firstp, struct place, node)->claim, position,
            scene->viewer, scene->follows);
        leases->major = (*firstp)->major;
        leases->minor = (*firstp)->minor;
        *firstp = order_next(*firstp);
    }
}

static bool show_all_waiters(struct host_leases *leases, const struct lease_scene *scene,
    const struct own_waiters *waiters, const struct resource *resource, struct text *out,
    size_t enough)
{
    if (scene->only_waiter != 0) {
        host_describe_waiting(out, scene, scene->only_waiter, resource->name);
        return true;
    }
    return resource_is_fleet(resource) && !scene->follows
        ? show_own_waiters(leases, scene, waiters, resource, out, enough)
        : show_waiters(leases, scene, resource, out, enough);
}

/* ---- all ---- */

void host_leases_continue(struct host_leases *leases, const struct lease_scene *scene,
    const struct own_waiters *waiters, struct text *out, size_t enough)
{
    const struct resource *resource = core_find_resource(scene->core, leases->name);
    if (resource && leases->part == PART_HOLDERS) {
        if (!show_holders(leases, scene, resource, out, enough)) {
            return;
        }
        leases->part = PART_WAITERS;
    }
    if (!resource || show_all_waiters(leases, scene, waiters, resource, out, enough)) {
        leases->name[0] = '\0';
    }
}
