#include "journal/journal_map.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define REGION_BYTES ((size_t)JOURNAL_MAX_CHUNKS * JOURNAL_CHUNK)

/* ---- a file that was cut ----
 *
 * A store beyond the end of the file raises SIGBUS. The handler puts an anonymous page there, so
 * that the store can go on, and gives the map up (after systemd's basic/sigbus.c). */

static char *volatile guarded; /* the region of the one map */
static volatile sig_atomic_t was_cut;

static void on_bus_error(int signal_number, siginfo_t *info, void *context)
{
    (void)context;
    char *at = info->si_addr;
    size_t page = JOURNAL_PAGE;
    bool is_ours = guarded && at >= guarded && at < guarded + REGION_BYTES;
    char *start = is_ours ? guarded + (size_t)(at - guarded) / page * page : NULL;
    if (!is_ours ||
        mmap(start, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
            MAP_FAILED) {
        signal(signal_number, SIG_DFL);
        raise(signal_number);
        return;
    }
    was_cut = 1;
}

static void guard(char *region)
{
    struct sigaction action = {.sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO};
    guarded = region;
    was_cut = 0;
    sigaction(SIGBUS, &action, NULL);
}

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
    guard(map->region);
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
        guarded = NULL;
        munmap(map->region, REGION_BYTES);
    }
    map->region = NULL;
}

/* ---- extents ---- */

static struct extent_header *extent_at(struct journal_map *map, uint32_t slot)
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
    struct extent_header *extent = extent_at(map, slot);
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
    struct extent_header *extent = extent_at(map, slot);
    if (!extent) {
        return false;
    }
    store_mark(extent, mark_free(slot));
    return is_whole(map);
}

const struct extent_header *journal_map_look(struct journal_map *map, uint32_t slot)
{
    return extent_at(map, slot);
}
