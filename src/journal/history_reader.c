#include "journal/history_reader.h"

#include "base/memory.h"
#include "journal/sigbus_guard.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

/* ---- one entry ---- */

enum look { LOOK_AGAIN, LOOK_NONE, LOOK_FOUND };

/* The bytes may be written meanwhile: each word is loaded once. */
static void copy_words(uint64_t *to, const void *from, size_t n)
{
    const uint64_t *words = from;
    for (size_t i = 0; i < n; i++) {
        to[i] = __atomic_load_n(&words[i], __ATOMIC_RELAXED);
    }
}

/* The first word of a mark, which even a filler has. */
union mark_word {
    struct {
        uint32_t size, length;
    };
    uint64_t word;
};

static void make_room(struct history_reader *reader, size_t n_words)
{
    if (n_words > reader->copy_words) {
        reader->copy = memory_resize(reader->copy, n_words, sizeof *reader->copy);
        reader->copy_words = n_words;
    }
}

static uint64_t first_of(const struct history_reader *reader)
{
    return atomic_load_explicit(&reader->head->first, memory_order_relaxed);
}

/* Copies what begins at the position; an entry as a whole. False: the bytes are damaged. */
static bool take_copy(struct history_reader *reader, uint64_t end, union mark_word *mark)
{
    const char *from = reader->bytes + reader->position % reader->size;
    copy_words(&mark->word, from, 1);
    if (!history_mark_fits(mark->size, mark->length, reader->position, end, reader->size)) {
        return false;
    }
    if (mark->length != HISTORY_FILLER) {
        size_t n_words = mark->size / sizeof mark->word;
        make_room(reader, n_words);
        reader->copy[0] = mark->word;
        copy_words(reader->copy + 1, from + sizeof mark->word, n_words - 1);
    }
    return true;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* What has been copied is an entry, if its checksum is right. */
static enum look judge(struct history_reader *reader, struct history_copy *copy)
{
    const struct history_mark *mark = (const void *)reader->copy;
    if (mark->checksum != history_mark_sum(mark)) {
        reader->n_damaged += reader->n_damaged < UINT64_MAX;
        return LOOK_AGAIN;
    }
    uint64_t wanted = reader->serial + 1, n_damaged = reader->n_damaged;
    reader->n_damaged = 0;
    if (mark->serial < wanted) {
        return LOOK_AGAIN;
    }
    uint64_t n_missing = mark->serial - wanted;
    n_damaged = least(n_missing, n_damaged);
    reader->serial = mark->serial;
    *copy = (struct history_copy){.serial = mark->serial,
        .bytes = mark + 1,
        .n = mark->length,
        .n_damaged = n_damaged,
        .n_overwritten = n_missing - n_damaged};
    return LOOK_FOUND;
}

/* The order of loads: .end; the bytes; .first. What is before .end was written before .end was
 * stored (release), and is loaded after it (acquire). Before berthd writes over an entry, it stores
 * a .first that is behind the entry, and has a release fence; here an acquire fence is between the
 * bytes and .first: if any of the bytes are newer, so is .first. */
static enum look look(struct history_reader *reader, struct history_copy *copy)
{
    union mark_word mark;
    uint64_t end = atomic_load_explicit(&reader->head->end, memory_order_acquire);
    uint64_t first = first_of(reader);
    if (!history_are_bounds(first, end, reader->size)) {
        return LOOK_NONE; /* damaged, until berthd adds the next entry; or many have come since */
    }
    if (reader->position < first || reader->position > end) {
        reader->position = first;
    }
    if (reader->position == end) {
        return LOOK_NONE;
    }
    bool is_sound = take_copy(reader, end, &mark);
    atomic_thread_fence(memory_order_acquire);
    if (first_of(reader) > reader->position) {
        return LOOK_AGAIN; /* something newer may have been written over it before it was copied */
    }
    if (!is_sound) {
        reader->n_damaged = UINT64_MAX;
        reader->position = end; /* all up to there is lost */
        return LOOK_AGAIN;
    }
    reader->position += mark.size;
    return mark.length != HISTORY_FILLER ? judge(reader, copy) : LOOK_AGAIN;
}

enum history_read history_reader_next(struct history_reader *reader, struct history_copy *copy)
{
    enum look found;
    do {
        found = look(reader, copy);
        if (reader->was_cut) { /* what has been copied may be zeros */
            return HISTORY_CUT;
        }
    } while (found == LOOK_AGAIN);
    return found == LOOK_FOUND ? HISTORY_READ : HISTORY_UP_TO_DATE;
}

/* ---- life ---- */

static bool is_history(const struct history_head *head, size_t size)
{
    return memcmp(head->magic, HISTORY_MAGIC, sizeof head->magic) == 0 &&
        head->checksum == history_head_sum(head) && head->size == size &&
        size % sizeof(uint64_t) == 0;
}

bool history_reader_attach(struct history_reader *reader, int fd, uint64_t serial)
{
    struct stat status;
    *reader = (struct history_reader){.serial = serial};
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) ||
        status.st_size < HISTORY_HEAD_BYTES + HISTORY_MIN_BYTES) {
        return false;
    }
    size_t size = (size_t)status.st_size;
    void *memory = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    if (memory == MAP_FAILED) {
        return false;
    }
    reader->head = memory;
    reader->bytes = (const char *)memory + HISTORY_HEAD_BYTES;
    reader->size = size - HISTORY_HEAD_BYTES;
    sigbus_guard_add(memory, size, &reader->was_cut);
    if (!is_history(reader->head, reader->size)) {
        history_reader_detach(reader);
        return false;
    }
    reader->id = reader->head->id;
    reader->layout = reader->head->layout;
    return true;
}

void history_reader_seek(struct history_reader *reader, uint64_t serial)
{
    reader->serial = serial;
    reader->position = reader->n_damaged = 0;
}

void history_reader_detach(struct history_reader *reader)
{
    if (reader->head) {
        cut_unguard((const char *)reader->head);
        munmap((void *)(uintptr_t)reader->head, HISTORY_HEAD_BYTES + reader->size);
    }
    free(reader->copy);
    *reader = (struct history_reader){0};
}
