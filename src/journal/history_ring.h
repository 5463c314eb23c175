/* history_ring.h - the last entries of a history, mapped from a file in the runtime directory: they
 * survive a SIGKILL and a restart, but not a boot. A new entry takes the place of the oldest.
 *
 * An entry is added by one store of eight bytes: a process killed before it leaves the entries that
 * were there. The file's space is allocated, so a store cannot fail; if somebody cuts the file
 * meanwhile (sigbus_guard.h), its entries are gone, and new ones end with the process. A file that
 * is not ours alone, of another boot, or damaged is replaced by a new one. Without space or a
 * directory the memory is anonymous: the entries then end with the process. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    HISTORY_HEAD_BYTES = 4096, /* of the file; the ring follows */
    HISTORY_MIN_BYTES = 65536,
    HISTORY_BOOT_ID_BYTES = 64,
};

#define HISTORY_NONE UINT64_MAX /* no position */

struct history_head;

struct history_ring {
    struct history_head *head; /* NULL: there is no history */
    char *bytes; /* behind the head */
    size_t size; /* of these */
    uint64_t end; /* where the newest entry ends; what becomes of the file does not move it */
    uint64_t last; /* where the newest entry begins, or HISTORY_NONE */
    uint64_t next, next_end; /* where the entry that is being made begins and ends */
    bool was_cut; /* somebody has cut the file meanwhile: the entries before that are gone */
    int error; /* errno: why the memory is anonymous; 0: it is the file's */
};

/* One at a time for each path. `size` in bytes, rounded up to pages and to HISTORY_MIN_BYTES; 0:
 * without a history; an earlier file goes. Of a file of another size the newest entries are kept.
 * `boot_id` has fewer than HISTORY_BOOT_ID_BYTES bytes. `layout`: which form entries have. */
void history_ring_open(struct history_ring *ring, const char *path, const char *boot_id,
    uint64_t layout, size_t size);
void history_ring_close(struct history_ring *ring);

/* Room for a new entry of so many bytes, aligned to 8; the oldest entries go. NULL if there is no
 * history, or if the entry is longer than a quarter of it. */
void *history_ring_room(struct history_ring *ring, size_t n);
/* What has been written there is the newest entry. */
void history_ring_add(struct history_ring *ring);
/* The newest entry goes; there may be one before it, but .last does not know it. */
void history_ring_drop_last(struct history_ring *ring);

/* Walks the entries, oldest first: *positionp begins at 0. False at the end. `*bytesp` is good
 * until an entry is added. Between two calls anything may happen: entries that have gone are left
 * out. Damaged bytes end the walk: entries from there to the present end are gone. */
bool history_ring_next(
    const struct history_ring *ring, uint64_t *positionp, const void **bytesp, size_t *np);
/* Whether no entry from that position on has gone. */
bool history_ring_has(const struct history_ring *ring, uint64_t position);
/* Where that walk ends now. */
uint64_t history_ring_end(const struct history_ring *ring);
