/* journal_map.h - the journal's chunks as memory: a record appears, or is gone, by one store of
 * eight bytes, without a system call. Two pwrites were 14 % of an acquire and its release
 * (bench/), which are turns of their own and meet the kernel's paths cold.
 *
 * A record that is rewritten is not for this file: somebody killed between two stores would leave
 * neither the old bytes nor the new ones. */
#ifndef BERTH_JOURNAL_JOURNAL_MAP_H
#define BERTH_JOURNAL_JOURNAL_MAP_H

#include "journal/journal_layout.h"

#include <stdbool.h>

struct journal_map {
    char *region; /* addresses for every chunk there can be; NULL: nothing is mapped */
    uint32_t n_chunks;
    bool was_cut; /* somebody has made the file shorter: what was in it may be gone */
};

/* Chunks 0 ... n-1 of the file, whose space is allocated. Those that cannot be mapped are not:
 * then the functions below return false. One map at a time in a process. */
void journal_map_chunks(struct journal_map *map, int fd, uint32_t n_chunks);
void journal_map_end(struct journal_map *map);

/* False if that must be written to the file: the slot holds a record, or is not mapped, or somebody
 * has made the file shorter. */
bool journal_map_publish(
    struct journal_map *map, uint32_t slot, const struct extent_header *sealed);
bool journal_map_withdraw(struct journal_map *map, uint32_t slot);

#endif
