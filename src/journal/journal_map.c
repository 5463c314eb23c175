#include "journal/journal_map.h"

#include "journal/sigbus_guard.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define REGION_BYTES ((size_t)JOURNAL_MAX_CHUNKS * JOURNAL_CHUNK)

static volatile sig_atomic_t was_cut; /* the file of the one map */

static bool is_whole(struct journal_map *map)
{
    if (was_cut) {
        map->was_cut = true;
        journal_map_end(map);
    }
    return map->region;
}

/* ---- mapping ---- */

static bool reserve_addresses(struct journal_map *map)
{
    void *region = mmap(NULL, REGION_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
        -1, 0);
    if (region == MAP_FAILED || sysconf(_SC_PAGESIZE) != JOURNAL_PAGE) {
        if (region != MAP_FAILED) {
            munmap(region, REGION_BYTES);
        }
        return false;
    }
    map->region = region;
    was_cut = 0;
    sigbus_guard_add(map->region, REGION_BYTES, &was_cut);
    return true;
}

void journal_map_chunks(struct journal_map *map, int fd, uint32_t n_chunks)
{
    if (n_chunks == 0 || (!map->region && (map->n_chunks > 0 || !reserve_addresses(map)))) {
        return;
    }
    for (; map->n_chunks < n_chunks; map->n_chunks++) {
        size_t offset = (size_t)map->n_chunks * JOURNAL_CHUNK;
        if (mmap(map->region + offset, JOURNAL_CHUNK, PROT_READ | PROT_WRITE,
                MAP_SHARED | MAP_FIXED, fd, (off_t)(JOURNAL_PAGE + offset)) == MAP_FAILED) {
            return;
        }
    }
}

void journal_map_end(struct journal_map *map)
{
    if (map->region) {
        cut_unguard(map->region);
        munmap(map->region, REGION_BYTES);
    }
    map->region = NULL;
}

/* ---- extents ---- */

struct extent_header *journal_map_look(struct journal_map *map, uint32_t slot)
{
    bool is_mapped = map->region && slot_chunk(slot) < map->n_chunks;
    return is_mapped
        ? (void *)(map->region + (size_t)(slot - 1) * JOURNAL_SMALLEST)
        : NULL;
}

/* Comes after all other stores: a daemon killed before it leaves a free extent. */
static void store_mark(struct extent_header *extent, union extent_mark mark)
{
    atomic_store_explicit((_Atomic uint64_t *)&extent->mark.word, mark.word, memory_order_release);
}

bool journal_map_publish(
    struct journal_map *map, uint32_t slot, const struct extent_header *sealed)
{
    struct extent_header *extent = journal_map_look(map, slot);
    if (!extent || !mark_is_free(extent->mark, slot)) {
        return false;
    }
    memcpy(extent + 1, sealed + 1, sealed->mark.length);
    extent->checksum = sealed->checksum;
    store_mark(extent, sealed->mark);
    return is_whole(map);
}

bool journal_map_withdraw(struct journal_map *map, uint32_t slot)
{
    struct extent_header *extent = journal_map_look(map, slot);
    if (!extent) {
        return false;
    }
    store_mark(extent, mark_free(slot));
    return is_whole(map);
}
