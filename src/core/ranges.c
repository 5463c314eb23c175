#include "core/ranges.h"

#include "core/memory.h"

#include <assert.h>
#include <stdlib.h>

struct range {
    uint32_t first, length;
};

struct ranges {
    struct range *list;
    uint32_t n;
};

static uint32_t most_ranges(size_t n_claims)
{
    return MAX_RANGES / (uint32_t)n_claims;
}

uint32_t slots_most_words(uint32_t count, size_t n_claims)
{
    uint32_t most = 2 * most_ranges(n_claims);
    return count < most ? count : most;
}

/* Wherever the lowest free slots are; one more range may be those that nobody has used yet. */
static bool fits_anyhow(const struct claim *claim)
{
    uint32_t most = most_ranges(claim->lease->n_claims);
    return resource_is_pool(claim->resource) || claim->count <= 2 * most ||
        claim->resource->n_free_ranges < most;
}

static void add_slots(struct ranges *ranges, uint32_t first, uint32_t n)
{
    struct range *last = ranges->n > 0 ? &ranges->list[ranges->n - 1] : NULL;
    if (last && last->first + last->length == first) {
        last->length += n;
    } else {
        ranges->list[ranges->n++] = (struct range){first, n};
    }
}

/* All free slots below the limit. */
static struct ranges free_ranges(const struct resource *resource)
{
    uint32_t limit = resource_limit(resource);
    struct ranges ranges = {memory_new((resource->n_free_ranges + 1) * sizeof(struct range)), 0};
    for (uint32_t slot = 0; slot < resource->n_units && slot < limit; slot++) {
        if (resource->units[slot]->state == UNIT_FREE) {
            add_slots(&ranges, slot, 1);
        }
    }
    if (limit > resource->n_units) {
        add_slots(&ranges, resource->n_units, limit - resource->n_units);
    }
    return ranges;
}

static int compare_lengths(const void *left, const void *right)
{
    const struct range *a = left, *b = right;
    int by_length = (a->length < b->length) - (a->length > b->length);
    return by_length != 0 ? by_length : (a->first > b->first) - (a->first < b->first);
}

static int compare_firsts(const void *left, const void *right)
{
    const struct range *a = left, *b = right;
    return (a->first > b->first) - (a->first < b->first);
}

/* As few ranges as have the claim's slots, in their order; none if even those are too many. */
static struct ranges longest_ranges(const struct claim *claim)
{
    struct ranges ranges = free_ranges(claim->resource);
    uint32_t n = 0, lacks = claim->count, most = most_ranges(claim->lease->n_claims);
    qsort(ranges.list, ranges.n, sizeof ranges.list[0], compare_lengths);
    while (lacks > 0 && n < ranges.n && n < most) {
        struct range *range = &ranges.list[n++];
        range->length = range->length < lacks ? range->length : lacks;
        lacks -= range->length;
    }
    ranges.n = lacks == 0 ? n : 0;
    qsort(ranges.list, ranges.n, sizeof ranges.list[0], compare_firsts);
    return ranges;
}

bool claim_has_units(const struct claim *claim)
{
    if (claim->count > resource_available(claim->resource) || fits_anyhow(claim)) {
        return claim->count <= resource_available(claim->resource);
    }
    struct ranges ranges = longest_ranges(claim);
    free(ranges.list);
    return ranges.n > 0;
}

/* From the last to the first: each goes to the front of the claim's list. */
static void take_ranges(struct claim *claim, const struct ranges *ranges)
{
    for (uint32_t i = ranges->n; i-- > 0;) {
        for (uint32_t k = ranges->list[i].length; k-- > 0;) {
            uint32_t slot = ranges->list[i].first + k;
            resource_take_unit(claim, resource_slot(claim->resource, slot));
        }
    }
}

void claim_take_units(struct claim *claim, uint64_t *random)
{
    if (fits_anyhow(claim)) {
        resource_take_units(claim->resource, claim, random);
        return;
    }
    struct ranges ranges = longest_ranges(claim);
    assert(ranges.n > 0);
    take_ranges(claim, &ranges);
    free(ranges.list);
}
