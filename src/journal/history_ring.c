#include "journal/history_ring.h"

#include "journal/own_file.h"
#include "journal/sigbus_guard.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* At the beginning of the file. Positions grow for ever: a place in the ring is a position modulo
 * its size. */
struct history_head {
    char magic[16];
    uint64_t layout;
    uint64_t size; /* of the ring */
    char boot_id[HISTORY_BOOT_ID_BYTES];
    _Atomic uint64_t first; /* where the oldest entry begins */
    _Atomic uint64_t end; /* where the newest one ends */
};

_Static_assert(sizeof(struct history_head) <= HISTORY_HEAD_BYTES, "room for the head");

/* Before each entry. */
struct mark {
    uint32_t size; /* of both, a multiple of 8 */
    uint32_t length; /* of the entry; FILLER: none, the ring's rest was too short for one */
};

#define FILLER UINT32_MAX

static const char magic[16] = "berth history 1";

static volatile sig_atomic_t was_cut; /* the file of the one ring */

/* ---- entries ---- */

static struct mark *mark_at(const struct history_ring *ring, uint64_t position)
{
    return (void *)(ring->bytes + position % ring->size);
}

static void set_end(struct history_ring *ring, uint64_t end)
{
    ring->end = end;
    atomic_store_explicit(&ring->head->end, end, memory_order_release);
}

static void set_first(const struct history_ring *ring, uint64_t first)
{
    atomic_store_explicit(&ring->head->first, first, memory_order_relaxed);
}

static bool are_bounds(const struct history_ring *ring, uint64_t first, uint64_t end)
{
    return first <= end && end - first <= ring->size && first % 8 == 0 && end % 8 == 0;
}

/* The end, if the head is damaged. */
static uint64_t first_of(const struct history_ring *ring)
{
    uint64_t first = atomic_load_explicit(&ring->head->first, memory_order_relaxed);
    return are_bounds(ring, first, ring->end) ? first : ring->end;
}

/* The mark there, before the end. NULL: the bytes are damaged. */
static const struct mark *sound_mark_at(const struct history_ring *ring, uint64_t position)
{
    uint64_t before_end = ring->end - position, left = ring->size - position % ring->size;
    const struct mark *mark = mark_at(ring, position);
    bool fits = mark->size >= sizeof *mark && mark->size % 8 == 0 && mark->size <= left &&
        mark->size <= before_end;
    bool is_sound = fits &&
        (mark->length == FILLER || mark->length <= mark->size - sizeof *mark);
    return is_sound ? mark : NULL;
}

/* The oldest entries go, until so many bytes behind the newest one are free; if they are damaged,
 * all go. */
static void history_ring_make_room(struct history_ring *ring, uint64_t n)
{
    uint64_t first = first_of(ring), end = ring->end;
    while (end + n - first > ring->size) {
        const struct mark *mark = sound_mark_at(ring, first);
        first = mark ? first + mark->size : end;
    }
    /* Before anything is written over them. */
    set_first(ring, first);
    atomic_signal_fence(memory_order_seq_cst);
}

/* The pages that are gone are zero: what new entries follow must not be found there. */
static void forget_what_was_cut(struct history_ring *ring)
{
    if (was_cut && !ring->was_cut) {
        ring->was_cut = true;
        set_first(ring, ring->end);
    }
}

void *history_ring_room(struct history_ring *ring, size_t n)
{
    size_t size = (sizeof(struct mark) + n + 7) / 8 * 8;
    if (!ring->head || size > ring->size / 4) {
        return NULL;
    }
    uint64_t end = ring->end, offset = end % ring->size, left = ring->size - offset;
    uint64_t skipped = size <= left ? 0 : left;
    history_ring_make_room(ring, skipped + size);
    forget_what_was_cut(ring); /* after a look at the head, which notices that */
    if (skipped > 0) {
        *mark_at(ring, end) = (struct mark){(uint32_t)skipped, FILLER};
        offset = 0;
    }
    ring->next = end + skipped;
    ring->next_end = ring->next + size;
    struct mark *mark = (void *)(ring->bytes + offset);
    *mark = (struct mark){(uint32_t)size, (uint32_t)n};
    return mark + 1;
}

void history_ring_add(struct history_ring *ring)
{
    ring->last = ring->next;
    set_end(ring, ring->next_end); /* after all that was written */
}

void history_ring_drop_last(struct history_ring *ring)
{
    if (ring->head && ring->last != HISTORY_NONE) {
        set_end(ring, ring->last);
        ring->last = HISTORY_NONE;
    }
}

bool history_ring_next(
    const struct history_ring *ring, uint64_t *positionp, const void **bytesp, size_t *np)
{
    const struct mark *mark;
    if (!ring->head) {
        return false;
    }
    uint64_t end = ring->end;
    if (*positionp < first_of(ring)) {
        *positionp = first_of(ring);
    }
    do {
        if (*positionp >= end) {
            return false;
        }
        mark = sound_mark_at(ring, *positionp);
        if (!mark) {
            *positionp = end;
            set_first(ring, end); /* else what is added now would never be reached */
            return false;
        }
        *positionp += mark->size;
    } while (mark->length == FILLER);
    *bytesp = mark + 1;
    *np = mark->length;
    return true;
}

bool history_ring_has(const struct history_ring *ring, uint64_t position)
{
    return !ring->head || position >= first_of(ring);
}

uint64_t history_ring_end(const struct history_ring *ring)
{
    return ring->head ? ring->end : 0;
}

/* ---- what was found ---- */

/* The entries follow one another from the first to the end. */
static bool is_sound(struct history_ring *ring)
{
    uint64_t at = atomic_load_explicit(&ring->head->first, memory_order_relaxed);
    uint64_t end = ring->end;
    if (!are_bounds(ring, at, end)) {
        return false;
    }
    while (at < end) {
        const struct mark *mark = sound_mark_at(ring, at);
        if (!mark) {
            return false;
        }
        ring->last = mark->length == FILLER ? ring->last : at;
        at += mark->size;
    }
    return true;
}

/* Nobody else could write it, and it is as long as its head says. */
static bool file_is_ours(
    int fd, const struct history_head *head, const struct history_head *wanted)
{
    off_t size;
    return own_file_is_ours(fd, &size) &&
        memcmp(head->magic, wanted->magic, sizeof head->magic) == 0 &&
        head->layout == wanted->layout &&
        memcmp(head->boot_id, wanted->boot_id, sizeof head->boot_id) == 0 &&
        head->size >= HISTORY_MIN_BYTES && head->size % HISTORY_HEAD_BYTES == 0 &&
        (uint64_t)size == HISTORY_HEAD_BYTES + head->size;
}

/* ---- the file ---- */

/* fd -1: anonymous. False with errno. */
static bool map(struct history_ring *ring, int fd, size_t size)
{
    int flags = fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    void *memory =
        mmap(NULL, HISTORY_HEAD_BYTES + size, PROT_READ | PROT_WRITE, flags, fd, 0);
    if (memory == MAP_FAILED) {
        return false;
    }
    ring->head = memory;
    ring->bytes = (char *)memory + HISTORY_HEAD_BYTES;
    ring->size = size;
    ring->last = HISTORY_NONE;
    if (fd >= 0) {
        sigbus_guard_add(memory, HISTORY_HEAD_BYTES + size, &was_cut);
    }
    ring->end = atomic_load_explicit(&ring->head->end, memory_order_relaxed);
    return true;
}

static void history_ring_begin(struct history_ring *ring, const struct history_head *wanted)
{
    *ring->head = *wanted;
    ring->head->size = ring->size;
}

/* False if there is no file with entries that can be trusted. */
static bool open_old(
    struct history_ring *ring, const char *path, const struct history_head *wanted)
{
    struct history_head head;
    int fd = own_file_open(path);
    bool is_ours = fd >= 0 && pread(fd, &head, sizeof head, 0) == (ssize_t)sizeof head &&
        file_is_ours(fd, &head, wanted) && map(ring, fd, (size_t)head.size);
    own_file_close(fd);
    if (is_ours && !is_sound(ring)) {
        history_ring_close(ring);
        return false;
    }
    return is_ours;
}

static void copy_entries(struct history_ring *ring, const struct history_ring *old)
{
    const void *bytes;
    uint64_t position = 0;
    size_t n;
    while (history_ring_next(old, &position, &bytes, &n)) {
        void *room = history_ring_room(ring, n);
        if (room) {
            memcpy(room, bytes, n);
            history_ring_add(ring);
        }
    }
}

/* A file of its own name until all is in it. Returns an errno. */
static int make_file(struct history_ring *ring, const char *path,
    const struct history_head *wanted, const struct history_ring *old, size_t size)
{
    int fd = own_file_make(path);
    if (fd < 0) {
        return errno;
    }
    bool is_there =
        own_file_reserve(fd, 0, (off_t)(HISTORY_HEAD_BYTES + size)) && map(ring, fd, size);
    int error = is_there ? 0 : errno;
    close(fd);
    if (error != 0) {
        own_file_discard(path);
        return error;
    }
    history_ring_begin(ring, wanted);
    copy_entries(ring, old);
    if (!own_file_install(path)) {
        error = errno;
        history_ring_close(ring);
    }
    return error;
}

static void make_anonymous(struct history_ring *ring, const struct history_head *wanted,
    const struct history_ring *old, size_t size)
{
    if (!map(ring, -1, size)) {
        abort(); /* as base/memory.c does */
    }
    history_ring_begin(ring, wanted);
    copy_entries(ring, old);
}

static size_t rounded(size_t size)
{
    size_t at_least = size < HISTORY_MIN_BYTES ? HISTORY_MIN_BYTES : size;
    return (at_least + HISTORY_HEAD_BYTES - 1) / HISTORY_HEAD_BYTES * HISTORY_HEAD_BYTES;
}

void history_ring_open(struct history_ring *ring, const char *path, const char *boot_id,
    uint64_t layout, size_t size)
{
    struct history_head wanted = {.layout = layout};
    struct history_ring old = {0};
    memcpy(wanted.magic, magic, sizeof magic);
    strncpy(wanted.boot_id, boot_id, sizeof wanted.boot_id - 1);
    *ring = (struct history_ring){0};
    if (size == 0) {
        unlink(path);
        return;
    }
    was_cut = 0;
    bool has_old = open_old(&old, path, &wanted);
    if (has_old && old.size == rounded(size)) {
        *ring = old;
        return;
    }
    int error = make_file(ring, path, &wanted, &old, rounded(size));
    if (error != 0) {
        make_anonymous(ring, &wanted, &old, rounded(size));
    }
    ring->error = error;
    history_ring_close(&old);
    was_cut = 0; /* the old one may have been: the new one has what was left */
}

void history_ring_close(struct history_ring *ring)
{
    if (ring->head) {
        cut_unguard((char *)ring->head);
        munmap(ring->head, HISTORY_HEAD_BYTES + ring->size);
    }
    *ring = (struct history_ring){.last = HISTORY_NONE};
}
