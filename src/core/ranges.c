#include "core/ranges.h"

#include "base/memory.h"

#include <assert.h>
#include <stdlib.h>

struct range {
    uint32_t first, length;
};

static uint32_t max_ranges(size_t n_claims)
{
    return MAX_RANGES / (uint32_t)n_claims;
}

uint32_t slots_max_words(uint32_t count, size_t n_claims)
{
    uint32_t max = 2 * max_ranges(n_claims);
    return count < max ? count : max;
}

bool ranges_are_few(const struct resource *resource)
{
    return resource->free_slots.n_ranges < max_ranges(MAX_RESOURCES_PER_LEASE);
}

/* Whether the lowest free slots fit wherever they are; slots that nobody has used yet may be one
 * more range. */
static bool fits_anyhow(const struct claim *claim)
{
    uint32_t max = max_ranges(claim->lease->n_claims);
    return resource_is_pool(claim->resource) || claim->count <= 2 * max ||
        claim->resource->free_slots.n_ranges < max;
}

/* The next free range from `from` on; all slots that nobody has used yet are free. False: no more
 * below the limit. */
static bool next_range(const struct resource *resource, uint32_t from, struct range *range)
{
    const struct bitset *free_slots = &resource->free_slots;
    uint32_t limit = resource_limit(resource);
    uint32_t used = resource->n_units < limit ? resource->n_units : limit;
    uint32_t first = from < used ? bitset_find(free_slots, from, used, true) : from;
    uint32_t end = first < used ? bitset_find(free_slots, first, used, false) : used;
    end = end == used ? limit : end;
    *range = (struct range){first, end - first};
    return first < limit;
}

/* The longest ranges: all above a length, and as many of that length as are needed. */
struct longest {
    uint32_t length, n_of_that;
    bool is_enough; /* these ranges have enough slots for the claim */
};

/* Reads the ranges once, without sorting them: a client may scatter them on purpose, and this is
 * done again at each release. */
static struct longest find_longest(const struct claim *claim)
{
    uint32_t *n_of_length = memory_new((claim->count + 1) * sizeof *n_of_length);
    struct range range = {0, 0};
    while (next_range(claim->resource, range.first + range.length, &range)) {
        n_of_length[range.length < claim->count ? range.length : claim->count]++;
    }
    uint32_t left = max_ranges(claim->lease->n_claims), length = claim->count, n = 0;
    uint64_t sum = 0;
    for (; length > 0 && left > 0 && sum < claim->count; length--) {
        n = n_of_length[length] < left ? n_of_length[length] : left;
        left -= n;
        sum += (uint64_t)n * length;
    }
    free(n_of_length);
    return (struct longest){length + 1, n, sum >= claim->count};
}

bool claim_has_units(const struct claim *claim)
{
    return claim->count <= resource_available(claim->resource) &&
        (!claim->is_all || resource_is_untaken(claim->resource)) &&
        (fits_anyhow(claim) || find_longest(claim).is_enough);
}

static void take_range(struct claim *claim, uint32_t first, uint32_t length)
{
    for (uint32_t i = 0; i < length; i++) {
        resource_take_unit(claim, resource_slot(claim->resource, first + i));
    }
}

/* Each went to the front of the list. */
static void reverse_units(struct claim *claim)
{
    struct unit *unit = claim->units;
    claim->units = NULL;
    while (unit) {
        struct unit *next = unit->next_of_claim;
        unit->next_of_claim = claim->units;
        claim->units = unit;
        unit = next;
    }
}

static void take_longest(struct claim *claim, struct longest longest)
{
    struct range range = {0, 0};
    uint32_t lacks = claim->count;
    while (lacks > 0 && next_range(claim->resource, range.first + range.length, &range)) {
        bool is_of_shortest = range.length == longest.length && longest.n_of_that > 0;
        if (range.length > longest.length || is_of_shortest) {
            uint32_t length = range.length < lacks ? range.length : lacks;
            take_range(claim, range.first, length);
            longest.n_of_that -= is_of_shortest;
            lacks -= length;
        }
    }
    assert(lacks == 0);
    reverse_units(claim);
}

void claim_take_units(struct claim *claim, uint64_t *random)
{
    if (fits_anyhow(claim)) {
        resource_take_units(claim->resource, claim, random);
        return;
    }
    struct longest longest = find_longest(claim);
    assert(longest.is_enough);
    take_longest(claim, longest);
}
