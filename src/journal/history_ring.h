/* history_ring.h - the last entries of a history, mapped from a file in the runtime directory: they
 * survive a SIGKILL and a restart, but not a boot. A new entry takes the place of the oldest.
 *
 * An entry is added by one store of eight bytes: a process killed before it leaves the entries that
 * were there. The file's space is allocated, so a store cannot fail; if somebody cuts the file
 * meanwhile (sigbus_guard.h), its entries are gone, and new ones end with the process. A file that
 * is not ours alone, of another boot, or whose entries cannot be told apart is replaced by a new
 * one. Without space or a directory it is a file in memory, which ends with the process.
 *
 * Each entry has a serial, by which who reads the file (history_reader.h) knows what is missing. */
#pragma once

#include "base/time.h"
#include "journal/history_layout.h"

#include <stddef.h>

struct history_ring {
    struct history_head *head; /* NULL: there is no history */
    char *bytes; /* behind the head */
    size_t size; /* of these */
    uint64_t id;
    uint64_t end; /* where the newest entry ends; what becomes of the file does not move it */
    uint64_t added; /* its serial; 0: there has been none */
    uint64_t next, next_end; /* where the entry that is being made begins and ends */
    int reader_fd; /* the file, to be read only; -1: there is none */
    bool was_cut; /* somebody has cut the file meanwhile: the entries before that are gone */
    int error; /* errno: why it is a file in memory; 0: it is the one of that path */
};

/* One at a time for each path. `size` in bytes, rounded up to pages and to HISTORY_MIN_BYTES; 0:
 * without a history; an earlier file goes. Of a file of another size the newest entries are kept,
 * with their serials. `boot_id` has fewer than HISTORY_BOOT_ID_BYTES bytes. `layout`: which form
 * entries have. */
void history_ring_open(struct history_ring *ring, const char *path, const char *boot_id,
    uint64_t layout, size_t size);
void history_ring_close(struct history_ring *ring);

/* Room for a new entry of so many bytes, aligned to 8; the oldest entries go. NULL if there is no
 * history, or if the entry is longer than a quarter of it. */
void *history_ring_room(struct history_ring *ring, size_t n);
/* What has been written there is the newest entry. */
void history_ring_add(struct history_ring *ring);

/* Walks the entries, oldest first: *positionp begins at 0. False at the end. `*bytesp` is good
 * until an entry is added. Between two calls anything may happen: entries that have gone are left
 * out, and so are damaged ones. Damage by which entries cannot be told apart ends the walk: those
 * from there to the present end are gone. */
bool history_ring_next(
    const struct history_ring *ring, uint64_t *positionp, const void **bytesp, size_t *np);
/* Whether no entry from that position on has gone. */
bool history_ring_has(const struct history_ring *ring, uint64_t position);
/* Where that walk ends now. */
uint64_t history_ring_end(const struct history_ring *ring);
/* The file, for who may only read it (history_reader.h); the ring keeps it open. -1: there is none,
 * or somebody has cut it. */
int history_ring_reader_fd(const struct history_ring *ring);
/* How many entries before the oldest are gone: they have made room for newer ones, or were
 * damaged. */
uint64_t history_ring_overwritten(const struct history_ring *ring);
/* When it was made (CLOCK_BOOTTIME), if nothing that was added since then has gone; else 0. */
nanoseconds history_ring_whole_since(const struct history_ring *ring);
