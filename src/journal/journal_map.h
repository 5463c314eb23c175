/* journal_map.h - the journal's chunks, mapped into memory: one 8-byte store adds or removes a
 * record without a system call. Two pwrites took 14 % of an acquire and its release (bench/): each
 * runs in a turn of its own and finds the kernel's code cold.
 *
 * Not for rewriting a record: a daemon killed between two stores would leave neither the old bytes
 * nor the new ones. */
#pragma once

#include "journal/journal_layout.h"

#include <stdbool.h>

struct journal_map {
    char *region; /* addresses for every possible chunk; NULL: nothing is mapped */
    uint32_t n_chunks;
    bool was_cut; /* the file was cut by somebody: its data may be gone */
};

/* Maps chunks 0 ... n-1 of the file, whose space is allocated. For chunks that cannot be mapped,
 * the functions below return false. One map at a time in a process. */
void journal_map_chunks(struct journal_map *map, int fd, uint32_t n_chunks);
void journal_map_end(struct journal_map *map);

/* False if the caller must write to the file instead: the slot holds a record or is not mapped, or
 * the file was cut. */
bool journal_map_publish(
    struct journal_map *map, uint32_t slot, const struct extent_header *sealed);
bool journal_map_withdraw(struct journal_map *map, uint32_t slot);

/* What is in the slot; NULL: read the file instead. */
struct extent_header *journal_map_look(struct journal_map *map, uint32_t slot);
