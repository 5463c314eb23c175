/* holders.c - the claims of those who hold units of a resource, one after the other. */
#include "base/memory.h"
#include "core/resource.h"

static struct claim *claim_of_node(struct sorted_set_node *node)
{
    return node ? container_of(node, struct claim, node) : NULL;
}

struct claim *resource_first_holder(const struct resource *resource)
{
    return claim_of_node(sorted_set_first(&resource->holders));
}

struct claim *resource_holder_from(const struct resource *resource, uint64_t token, uint64_t lease)
{
    uint32_t rank = sorted_set_count_below(&resource->holders, token, lease);
    bool is_there = rank < sorted_set_size(&resource->holders);
    return is_there ? claim_of_node(sorted_set_at(&resource->holders, rank)) : NULL;
}

struct claim *claim_next_holder(const struct claim *claim)
{
    return claim_of_node(sorted_set_next(&claim->node));
}
