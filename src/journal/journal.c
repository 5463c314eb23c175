#include "journal/journal.h"

#include "base/memory.h"
#include "journal/journal_file.h"
#include "journal/own_file.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* In journal.next: the slot is in use, or begins no extent. */
#define NOT_FREE UINT32_MAX

/* Preserves errno. */
static void report(const struct journal *journal, enum journal_problem trouble, size_t n)
{
    int error = errno;
    const struct journal_report what = {
        .trouble = trouble, .path = journal->path, .error = error, .n = n};
    journal->report(&what);
    errno = error;
}

/* ---- free extents ---- */

static size_t slot_class(const struct journal *journal, uint32_t slot)
{
    return journal->header.classes[slot_chunk(slot)];
}

static bool slot_is_in_use(const struct journal *journal, uint32_t slot)
{
    return slot > 0 && slot_chunk(slot) < journal->header.n_chunks &&
        (slot - 1) % class_slots(slot_class(journal, slot)) == 0 &&
        journal->next[slot - 1] == NOT_FREE;
}

static void push_free(struct journal *journal, uint32_t slot)
{
    uint32_t *first = &journal->free[slot_class(journal, slot)];
    journal->next[slot - 1] = *first;
    *first = slot;
}

static uint32_t pop_free(struct journal *journal, size_t size_class)
{
    uint32_t slot = journal->free[size_class];
    if (slot > 0) {
        journal->free[size_class] = journal->next[slot - 1];
        journal->next[slot - 1] = NOT_FREE;
    }
    return slot;
}

/* Marks all slots of the new chunks as in use. */
static void know_chunks(struct journal *journal, uint32_t n_before)
{
    size_t n = (size_t)journal->header.n_chunks * JOURNAL_SLOTS;
    journal->next = memory_resize(journal->next, n > 0 ? n : 1, sizeof journal->next[0]);
    for (size_t i = (size_t)n_before * JOURNAL_SLOTS; i < n; i++) {
        journal->next[i] = NOT_FREE;
    }
    journal_map_chunks(&journal->map, journal->fd, journal->header.n_chunks);
}

/* A file that was cut and made longer again has zeros that look like places never used. The next
 * berthd must not conclude that there were no records. */
static void distrust_if_cut(struct journal *journal)
{
    bool was_cut = journal->map.was_cut || !file_is_whole(journal->fd, &journal->header);
    if (was_cut && !journal->was_cut) {
        report(journal, TROUBLE_CUT, 0);
        journal->was_cut = true;
        journal->header.is_complete = 0;
        file_write_header(journal->fd, &journal->header);
    }
}

static bool grow(struct journal *journal, size_t size_class)
{
    uint32_t chunk = journal->header.n_chunks;
    distrust_if_cut(journal);
    if (!file_grow(journal->fd, &journal->header, size_class)) {
        return false;
    }
    know_chunks(journal, chunk);
    for (size_t i = JOURNAL_SLOTS; i > 0; i -= class_slots(size_class)) {
        push_free(journal, (uint32_t)(chunk * JOURNAL_SLOTS + i + 1 - class_slots(size_class)));
    }
    return true;
}

/* Takes an extent of a larger class before it refuses. */
static uint32_t reserve_of(struct journal *journal, size_t size_class)
{
    uint32_t slot = pop_free(journal, size_class);
    if (slot == 0 && grow(journal, size_class)) {
        slot = pop_free(journal, size_class);
    }
    int error = errno;
    while (slot == 0 && ++size_class < JOURNAL_CLASSES) {
        slot = pop_free(journal, size_class);
    }
    errno = error;
    return slot;
}

/* ---- the file ---- */

static void let_go(struct journal *journal)
{
    int error = errno;
    journal_map_end(&journal->map);
    journal->map = (struct journal_map){.region = NULL};
    own_file_close(journal->fd);
    free(journal->next);
    errno = error;
    journal->fd = -1;
    journal->next = NULL;
    journal->header.n_chunks = 0;
    memset(journal->free, 0, sizeof journal->free);
}

/* Makes an empty file, under a temporary name until install(). */
static bool make(struct journal *journal)
{
    let_go(journal);
    journal->fd = file_make(journal->path, &journal->header);
    return journal->fd >= 0;
}

static bool install(struct journal *journal)
{
    if (journal->fd < 0 || !own_file_install(journal->path)) {
        let_go(journal);
        return false;
    }
    journal->has_no_file = false;
    return true;
}

static void report_no_file(struct journal *journal)
{
    report(journal, journal->has_no_file ? TROUBLE_STILL_NO_FILE : TROUBLE_NO_FILE, 0);
    journal->has_no_file = true;
}

static bool replace(struct journal *journal)
{
    if (make(journal) && install(journal)) {
        return true;
    }
    report_no_file(journal);
    return false;
}

/* ---- operations ---- */

bool journal_can_be_made(struct journal *journal)
{
    return journal->fd >= 0 || replace(journal);
}

uint32_t journal_reserve(struct journal *journal, size_t max_bytes)
{
    size_t size_class = class_for(max_bytes);
    if (size_class == JOURNAL_CLASSES) {
        errno = EMSGSIZE;
        return 0;
    }
    if (!journal_can_be_made(journal)) {
        return 0;
    }
    uint32_t slot = reserve_of(journal, size_class);
    if (slot == 0) {
        report(journal, TROUBLE_NO_GROWTH, 0);
    }
    return slot;
}

/* Writes by one store, or else into the file; also if the store has found the file cut. */
static bool write_extent(struct journal *journal, uint32_t slot, const struct extent_header *extent)
{
    bool is_stored = extent->mark.length > 0 ? journal_map_publish(&journal->map, slot, extent)
                                             : journal_map_withdraw(&journal->map, slot);
    if (is_stored) {
        return true;
    }
    if (journal->map.was_cut) {
        distrust_if_cut(journal);
    }
    return file_write_extent(journal->fd, slot, extent);
}

size_t journal_room(const struct journal *journal, uint32_t slot)
{
    return class_size(slot_class(journal, slot)) - sizeof(struct extent_header);
}

bool journal_write(struct journal *journal, uint32_t slot, const void *bytes, size_t length)
{
    assert(slot_is_in_use(journal, slot) && length > 0);
    struct extent_header *extent = (struct extent_header *)(void *)journal->buffer;
    if (length > journal_room(journal, slot)) {
        errno = EMSGSIZE;
        report(journal, TROUBLE_TOO_LONG, length);
        return false;
    }
    extent->mark.length = (uint32_t)length;
    memcpy(extent + 1, bytes, length);
    extent_seal(extent, slot);
    if (!write_extent(journal, slot, extent)) {
        report(journal, TROUBLE_NOT_WRITTEN, 0);
        return false;
    }
    return true;
}

const char *journal_look(struct journal *journal, uint32_t slot, size_t *lengthp)
{
    const struct extent_header *extent = journal_map_look(&journal->map, slot);
    size_t max = class_size(slot_class(journal, slot));
    if (!extent) {
        struct extent_header *read = (struct extent_header *)(void *)journal->buffer;
        extent = file_read_extent(journal->fd, slot, read, max) ? read : NULL;
    }
    if (!extent || extent->mark.slot != slot || extent->mark.length == 0 ||
        extent->mark.length > max - sizeof *extent) {
        return NULL;
    }
    *lengthp = extent->mark.length;
    return (const char *)(extent + 1);
}

void journal_erase(struct journal *journal, uint32_t slot)
{
    assert(slot_is_in_use(journal, slot));
    struct extent_header extent = {.mark = mark_free(slot)};
    if (write_extent(journal, slot, &extent)) {
        push_free(journal, slot);
    } else {
        report(journal, TROUBLE_NOT_ERASED, 0);
    }
}

void journal_set_complete(struct journal *journal)
{
    if (journal->header.is_complete || journal->was_cut) {
        return;
    }
    journal->header.is_complete = 1;
    if (journal->fd >= 0 && !file_write_header(journal->fd, &journal->header)) {
        report(journal, TROUBLE_NOT_COMPLETE, 0);
    }
}

/* ---- open ---- */

struct opening {
    struct journal *journal;
    const struct old_file *old;
    uint32_t *places; /* for the records of a damaged file: where each is now; 0: nowhere */
    journal_visit *visit;
    void *context;
};

static void adopt_extent(
    void *context, uint32_t slot, enum extent_state state, const char *bytes, size_t length)
{
    struct opening *opening = context;
    if (state == EXTENT_RECORD) {
        opening->visit(opening->context, slot, bytes, length);
    } else {
        push_free(opening->journal, slot);
    }
}

static void copy_extent(
    void *context, uint32_t slot, enum extent_state state, const char *bytes, size_t length)
{
    struct opening *opening = context;
    struct journal *journal = opening->journal;
    if (state != EXTENT_RECORD || journal->fd < 0) {
        return;
    }
    uint32_t place = reserve_of(journal, opening->old->header.classes[slot_chunk(slot)]);
    if (place > 0 && !journal_write(journal, place, bytes, length)) {
        journal_erase(journal, place);
        place = 0;
    }
    opening->places[slot - 1] = place;
}

static void visit_copied(
    void *context, uint32_t slot, enum extent_state state, const char *bytes, size_t length)
{
    struct opening *opening = context;
    if (state == EXTENT_RECORD) {
        uint32_t place = opening->journal->fd >= 0 ? opening->places[slot - 1] : 0;
        opening->visit(opening->context, place, bytes, length);
    }
}

static void adopt(struct opening *opening)
{
    struct journal *journal = opening->journal;
    journal->fd = opening->old->fd;
    journal->header = opening->old->header;
    journal->has_no_file = false;
    know_chunks(journal, 0);
    file_scan(opening->old, adopt_extent, opening);
}

/* The new file replaces the old one only once everything is in it. */
static void move(struct opening *opening)
{
    struct journal *journal = opening->journal;
    const struct old_file *old = opening->old;
    opening->places =
        memory_new(((size_t)old->header.n_chunks * JOURNAL_SLOTS + 1) * sizeof(uint32_t));
    if (make(journal)) {
        file_scan(old, copy_extent, opening);
    }
    if (!install(journal)) {
        report_no_file(journal);
    }
    file_scan(old, visit_copied, opening);
    free(opening->places);
}

enum journal_found journal_open(struct journal *journal, const char *path, const char *boot_id,
    journal_reporter *reporter, journal_visit *visit, void *context)
{
    struct old_file old;
    struct opening opening = {.journal = journal, .old = &old, .visit = visit, .context = context};
    *journal = (struct journal)JOURNAL_INIT;
    journal->path = memory_string(path);
    journal->report = reporter;
    header_init(&journal->header, boot_id);
    enum journal_found found = file_open(&old, path, boot_id);
    if (found == JOURNAL_INTACT || found == JOURNAL_INCOMPLETE) {
        adopt(&opening);
        return found;
    }
    if (found == JOURNAL_DAMAGED) {
        reporter(&old.damage);
        move(&opening);
    } else if (found != JOURNAL_OF_LATER_VERSION) {
        replace(journal);
    }
    own_file_close(old.fd);
    return found;
}

void journal_close(struct journal *journal)
{
    let_go(journal);
    free(journal->path);
    *journal = (struct journal)JOURNAL_INIT;
}
