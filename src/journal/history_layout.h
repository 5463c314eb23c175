/* history_layout.h - what the bytes of a history's file mean: to berthd, which writes them
 * (history_ring.h), and to who reads them meanwhile (history_reader.h). Pure.
 *
 *   head page | ring
 *
 * Positions grow for ever: a place in the ring is a position modulo its size. */
#pragma once

#include "journal/checksum.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HISTORY_HEAD_BYTES = 4096, /* of the file; the ring follows */
    HISTORY_MIN_BYTES = 65536,
    HISTORY_BOOT_ID_BYTES = 64,
};

#define HISTORY_MAGIC "berth history 1"

struct history_head {
    char magic[16];
    uint64_t layout;
    uint64_t size; /* of the ring */
    char boot_id[HISTORY_BOOT_ID_BYTES];
    uint64_t id; /* random: of the ring, and of one of another size that continues it */
    uint64_t made_at; /* by CLOCK_BOOTTIME, in nanoseconds: what ended earlier was never in it */
    uint64_t checksum; /* of all above */
    _Atomic uint64_t first; /* where the oldest entry begins */
    _Atomic uint64_t end; /* where the newest one ends */
    _Atomic uint64_t added; /* the newest entry's serial */
};

_Static_assert(sizeof(struct history_head) <= HISTORY_HEAD_BYTES, "room for the head");

/* Before each entry. Those of a filler end with .length. */
struct history_mark {
    uint32_t size; /* of both, a multiple of 8 */
    uint32_t length; /* of the entry, or HISTORY_FILLER */
    uint64_t checksum; /* of what follows */
    uint64_t serial; /* of the entry: 1 for the first of a ring, and so on */
};

#define HISTORY_FILLER UINT32_MAX /* no entry: the ring's rest was too short for one */

static inline uint64_t history_head_sum(const struct history_head *head)
{
    return checksum(head, offsetof(struct history_head, checksum));
}

/* `mark` is followed by its entry. */
static inline uint64_t history_mark_sum(const struct history_mark *mark)
{
    return checksum(&mark->serial, sizeof mark->serial + mark->length);
}

/* Of an entry of so many bytes, with its mark. */
static inline uint64_t history_mark_size(uint64_t length)
{
    return (sizeof(struct history_mark) + length + 7) / 8 * 8;
}

static inline bool history_are_bounds(uint64_t first, uint64_t end, uint64_t size)
{
    return first <= end && end - first <= size && first % 8 == 0 && end % 8 == 0;
}

/* Whether a mark of that size and length can be at that position, before the end of the entries. It
 * says nothing about the entry. */
static inline bool history_mark_fits(
    uint32_t size, uint32_t length, uint64_t position, uint64_t end, uint64_t ring_size)
{
    uint64_t left = ring_size - position % ring_size;
    bool is_filler = length == HISTORY_FILLER;
    bool is_size = is_filler ? size >= 8 : size == history_mark_size(length);
    return is_size && size % 8 == 0 && size <= left && size <= end - position &&
        (is_filler || size <= ring_size / 4); /* no entry is larger: history_ring_room() */
}
