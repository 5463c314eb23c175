#include "journal/history_ring.h"

#include "base/clock.h"
#include "journal/own_file.h"
#include "journal/sigbus_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static volatile sig_atomic_t was_cut; /* the file of the one ring */

/* ---- entries ---- */

static struct history_mark *mark_at(const struct history_ring *ring, uint64_t position)
{
    return (void *)(ring->bytes + position % ring->size);
}

static void set_end(struct history_ring *ring, uint64_t end)
{
    ring->end = end;
    atomic_store_explicit(&ring->head->end, end, memory_order_release);
}

static void set_added(struct history_ring *ring, uint64_t serial)
{
    ring->added = serial;
    atomic_store_explicit(&ring->head->added, serial, memory_order_relaxed);
}

static void set_first(const struct history_ring *ring, uint64_t first)
{
    atomic_store_explicit(&ring->head->first, first, memory_order_relaxed);
}

/* The end, if the head is damaged. */
static uint64_t first_of(const struct history_ring *ring)
{
    uint64_t first = atomic_load_explicit(&ring->head->first, memory_order_relaxed);
    return history_are_bounds(first, ring->end, ring->size) ? first : ring->end;
}

/* The mark there, before the end. NULL: the bytes are damaged. */
static struct history_mark *sound_mark_at(const struct history_ring *ring, uint64_t position)
{
    struct history_mark *mark = mark_at(ring, position);
    bool is_sound =
        history_mark_fits(mark->size, mark->length, position, ring->end, ring->size);
    return is_sound ? mark : NULL;
}

/* It is sound. */
static bool has_good_entry(const struct history_mark *mark)
{
    return mark->length != HISTORY_FILLER && mark->checksum == history_mark_sum(mark);
}

/* The oldest entries go, until so many bytes behind the newest one are free; if they are damaged,
 * all go. */
static void history_ring_make_room(struct history_ring *ring, uint64_t n)
{
    uint64_t first = first_of(ring), end = ring->end;
    while (end + n - first > ring->size) {
        const struct history_mark *mark = sound_mark_at(ring, first);
        first = mark ? first + mark->size : end;
    }
    /* Before anything is written over them: for who is killed now, and for who reads meanwhile
     * (history_reader.c). */
    set_first(ring, first);
    atomic_thread_fence(memory_order_release);
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
    uint64_t size = history_mark_size(n);
    if (!ring->head || size > ring->size / 4) {
        return NULL;
    }
    uint64_t end = ring->end, offset = end % ring->size, left = ring->size - offset;
    uint64_t skipped = size <= left ? 0 : left;
    history_ring_make_room(ring, skipped + size);
    forget_what_was_cut(ring); /* after a look at the head, which notices that */
    if (skipped > 0) {
        struct history_mark *filler = mark_at(ring, end);
        filler->size = (uint32_t)skipped;
        filler->length = HISTORY_FILLER;
        offset = 0;
    }
    ring->next = end + skipped;
    ring->next_end = ring->next + size;
    struct history_mark *mark = (void *)(ring->bytes + offset);
    mark->size = (uint32_t)size;
    mark->length = (uint32_t)n;
    return mark + 1;
}

void history_ring_add(struct history_ring *ring)
{
    struct history_mark *mark = mark_at(ring, ring->next);
    mark->serial = ring->added + 1;
    mark->checksum = history_mark_sum(mark);
    set_end(ring, ring->next_end); /* after all that was written */
    set_added(ring, mark->serial);
}

bool history_ring_next(
    const struct history_ring *ring, uint64_t *positionp, const void **bytesp, size_t *np)
{
    const struct history_mark *mark;
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
    } while (!has_good_entry(mark));
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

static uint64_t serial_of(const void *bytes)
{
    return ((const struct history_mark *)bytes - 1)->serial;
}

int history_ring_reader_fd(const struct history_ring *ring)
{
    struct stat status;
    bool is_whole = ring->reader_fd >= 0 && fstat(ring->reader_fd, &status) == 0 &&
        (uint64_t)status.st_size == HISTORY_HEAD_BYTES + ring->size &&
        ring->head->checksum == history_head_sum(ring->head);
    /* A file that was cut may have grown again: pages that were missed are not the file's now. */
    return is_whole && !was_cut ? ring->reader_fd : -1;
}

uint64_t history_ring_overwritten(const struct history_ring *ring)
{
    uint64_t position = 0;
    const void *oldest;
    size_t n;
    bool is_any = history_ring_next(ring, &position, &oldest, &n);
    return is_any ? serial_of(oldest) - 1 : ring->added;
}

nanoseconds history_ring_whole_since(const struct history_ring *ring)
{
    bool is_whole = ring->head && !ring->was_cut && history_ring_overwritten(ring) == 0;
    return is_whole ? (nanoseconds)ring->head->made_at : 0;
}

/* ---- what was found ---- */

/* The entries follow one another from the first to the end. The last store of .added may be
 * missing: a killed berthd has not made it. */
static bool is_sound(struct history_ring *ring)
{
    uint64_t at = atomic_load_explicit(&ring->head->first, memory_order_relaxed);
    uint64_t end = ring->end, serial = 0;
    if (!history_are_bounds(at, end, ring->size)) {
        return false;
    }
    while (at < end) {
        const struct history_mark *mark = sound_mark_at(ring, at);
        if (!mark) {
            return false;
        }
        if (has_good_entry(mark)) {
            serial = mark->serial;
        } else if (mark->length != HISTORY_FILLER) {
            serial++; /* damaged, it has had one */
        }
        at += mark->size;
    }
    ring->added = serial > ring->added ? serial : ring->added;
    return true;
}

/* Nobody else could write it, and it is as long as its head says. */
static bool file_is_ours(
    int fd, const struct history_head *head, const struct history_head *wanted)
{
    off_t size;
    return own_file_is_ours(fd, &size) &&
        head->checksum == history_head_sum(head) &&
        memcmp(head->magic, wanted->magic, sizeof head->magic) == 0 &&
        head->layout == wanted->layout &&
        memcmp(head->boot_id, wanted->boot_id, sizeof head->boot_id) == 0 &&
        head->size >= HISTORY_MIN_BYTES && head->size % HISTORY_HEAD_BYTES == 0 &&
        (uint64_t)size == HISTORY_HEAD_BYTES + head->size;
}

/* ---- the file ---- */

static void copy_entries(struct history_ring *ring, const struct history_ring *old)
{
    const void *bytes;
    uint64_t position = 0;
    size_t n;
    while (history_ring_next(old, &position, &bytes, &n)) {
        void *room = history_ring_room(ring, n);
        if (room) {
            memcpy(room, bytes, n);
            ring->added = serial_of(bytes) - 1;
            history_ring_add(ring);
        }
    }
    set_added(ring, old->added);
}

/* The same file, for who may only read it. -1: without /proc. */
static int open_to_be_read(int fd)
{
    char path[sizeof "/proc/self/fd/" + 16];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return open(path, O_RDONLY | O_CLOEXEC);
}

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
    if (fd >= 0) {
        ring->reader_fd = open_to_be_read(fd);
        sigbus_guard_add(memory, HISTORY_HEAD_BYTES + size, &was_cut);
    }
    ring->id = ring->head->id;
    ring->end = atomic_load_explicit(&ring->head->end, memory_order_relaxed);
    ring->added = atomic_load_explicit(&ring->head->added, memory_order_relaxed);
    return true;
}

static uint64_t new_id(void)
{
    uint64_t id = 0;
    ssize_t n = getrandom(&id, sizeof id, 0);
    return n == (ssize_t)sizeof id ? id : 0; /* berthd has not started without random numbers */
}

/* It continues the old one, if there is one. */
static void history_ring_begin(struct history_ring *ring, const struct history_head *wanted,
    const struct history_ring *old)
{
    *ring->head = *wanted;
    ring->head->size = ring->size;
    ring->head->id = ring->id = old->head ? old->id : new_id();
    ring->head->made_at = old->head ? old->head->made_at : (uint64_t)clock_now();
    ring->head->checksum = history_head_sum(ring->head);
    copy_entries(ring, old);
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
    history_ring_begin(ring, wanted, old);
    if (!own_file_install(path)) {
        error = errno;
        history_ring_close(ring);
    }
    return error;
}

/* Whoever gets a descriptor of it cannot open it again to write. -1: none. */
static int memory_file(size_t size)
{
    int fd = memfd_create("berth-history", MFD_CLOEXEC);
    if (fd >= 0 && (fchmod(fd, 0600) < 0 || ftruncate(fd, (off_t)size) < 0)) {
        close(fd);
        return -1;
    }
    return fd;
}

/* A file in memory, or at least memory. */
static void make_in_memory(struct history_ring *ring, const struct history_head *wanted,
    const struct history_ring *old, size_t size)
{
    int fd = memory_file(HISTORY_HEAD_BYTES + size);
    if (!(fd >= 0 && map(ring, fd, size)) && !map(ring, -1, size)) {
        abort(); /* as base/memory.c does */
    }
    own_file_close(fd);
    history_ring_begin(ring, wanted, old);
}

static size_t rounded(size_t size)
{
    size_t at_least = size < HISTORY_MIN_BYTES ? HISTORY_MIN_BYTES : size;
    return (at_least + HISTORY_HEAD_BYTES - 1) / HISTORY_HEAD_BYTES * HISTORY_HEAD_BYTES;
}

void history_ring_open(struct history_ring *ring, const char *path, const char *boot_id,
    uint64_t layout, size_t size)
{
    struct history_head wanted = {.magic = HISTORY_MAGIC, .layout = layout};
    struct history_ring old = {.reader_fd = -1};
    strncpy(wanted.boot_id, boot_id, sizeof wanted.boot_id - 1);
    *ring = (struct history_ring){.reader_fd = -1};
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
        make_in_memory(ring, &wanted, &old, rounded(size));
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
        own_file_close(ring->reader_fd);
    }
    *ring = (struct history_ring){.reader_fd = -1};
}
