#include "journal/journal_file.h"

#include "base/memory.h"
#include "journal/own_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- bytes ---- */

/* Reads as much as there is. */
static size_t read_all(int fd, char *bytes, size_t n, off_t offset)
{
    size_t length = 0;
    while (length < n) {
        ssize_t more = pread(fd, bytes + length, n - length, offset + (off_t)length);
        if (more == 0 || (more < 0 && errno != EINTR)) {
            break;
        }
        length += more > 0 ? (size_t)more : 0;
    }
    return length;
}

/* ---- reading ---- */

static void scan_chunk(char *bytes, size_t n, uint32_t first_slot, size_t size_class,
    file_extent *extent, void *context)
{
    size_t size = class_size(size_class);
    for (size_t at = 0; at < JOURNAL_CHUNK; at += size) {
        const struct extent_header *header = (const void *)(bytes + at);
        uint32_t slot = first_slot + (uint32_t)(at / JOURNAL_SMALLEST);
        enum extent_state state = at + size <= n ? extent_look(header, slot, size) : EXTENT_BAD;
        bool is_record = state == EXTENT_RECORD;
        extent(context, slot, state, is_record ? bytes + at + sizeof *header : NULL,
            is_record ? header->mark.length : 0);
    }
}

void file_scan(const struct old_file *old, file_extent *extent, void *context)
{
    char *bytes = memory_new(JOURNAL_CHUNK);
    for (uint32_t i = 0; i < old->header.n_chunks; i++) {
        uint32_t first_slot = i * JOURNAL_SLOTS + 1;
        size_t n = read_all(old->fd, bytes, JOURNAL_CHUNK, slot_offset(first_slot));
        scan_chunk(bytes, n, first_slot, old->header.classes[i], extent, context);
    }
    free(bytes);
}

struct tally {
    size_t n_records, n_bad;
};

static void count_extent(
    void *context, uint32_t slot, enum extent_state state, const char *bytes, size_t length)
{
    struct tally *tally = context;
    (void)slot, (void)bytes, (void)length;
    tally->n_records += state == EXTENT_RECORD;
    tally->n_bad += state == EXTENT_BAD;
}

/* A daemon killed while the file grew leaves up to a chunk of zeros that the header does not know
 * yet: no damage. */
static bool end_is_clean(const struct old_file *old)
{
    off_t known = header_file_size(&old->header);
    if (old->size < known || old->size > known + JOURNAL_CHUNK) {
        return false;
    }
    size_t n = (size_t)(old->size - known);
    char *bytes = memory_new(JOURNAL_CHUNK);
    bool is_clean = read_all(old->fd, bytes, n, known) == n;
    for (size_t i = 0; i < n; i++) {
        is_clean &= bytes[i] == '\0';
    }
    free(bytes);
    return is_clean;
}

static enum journal_found distrust(
    struct old_file *old, const char *path, enum journal_problem trouble)
{
    old->damage = (struct journal_report){.trouble = trouble, .path = path, .error = errno};
    old->header.n_chunks = 0;
    return JOURNAL_DAMAGED;
}

static enum journal_found look(struct old_file *old, const char *path, const char *boot_id)
{
    size_t n = read_all(old->fd, (char *)&old->header, sizeof old->header, 0);
    enum header_state state =
        n < sizeof old->header ? HEADER_BAD : header_look(&old->header);
    if (state == HEADER_BAD) {
        return distrust(old, path, TROUBLE_NO_JOURNAL);
    }
    if (strcmp(old->header.boot_id, boot_id) != 0) {
        return JOURNAL_OF_OTHER_BOOT;
    }
    if (state == HEADER_LATER) {
        return JOURNAL_OF_LATER_VERSION;
    }
    struct tally tally = {0};
    file_scan(old, count_extent, &tally);
    if (tally.n_bad > 0 || !end_is_clean(old)) {
        old->damage = (struct journal_report){
            .trouble = TROUBLE_DAMAGE, .path = path, .n = tally.n_records};
        return JOURNAL_DAMAGED;
    }
    return old->header.is_complete ? JOURNAL_INTACT : JOURNAL_INCOMPLETE;
}

enum journal_found file_open(struct old_file *old, const char *path, const char *boot_id)
{
    *old = (struct old_file){.fd = own_file_open(path)};
    if (old->fd < 0) {
        return errno == ENOENT ? JOURNAL_MISSING : distrust(old, path, TROUBLE_UNREADABLE);
    }
    if (!own_file_is_ours(old->fd, &old->size)) {
        return distrust(old, path, TROUBLE_NOT_OURS_ALONE);
    }
    return look(old, path, boot_id);
}

/* ---- making ---- */

int file_make(const char *path, struct journal_header *header)
{
    int fd = own_file_make(path);
    if (fd >= 0 && (!own_file_reserve(fd, 0, JOURNAL_PAGE) || !file_write_header(fd, header))) {
        own_file_discard(path);
        own_file_close(fd);
        return -1;
    }
    return fd;
}

/* ---- writing ---- */

bool file_write_header(int fd, struct journal_header *header)
{
    header_seal(header);
    return own_file_write(fd, (const char *)header, sizeof *header, 0);
}

bool file_is_whole(int fd, const struct journal_header *header)
{
    struct stat status;
    return fstat(fd, &status) == 0 && status.st_size >= header_file_size(header);
}

/* The header comes last: see end_is_clean(). */
bool file_grow(int fd, struct journal_header *header, size_t size_class)
{
    off_t size = header_file_size(header);
    if (header->n_chunks == JOURNAL_MAX_CHUNKS) {
        errno = ENOSPC;
        return false;
    }
    bool has_space = own_file_reserve(fd, size, JOURNAL_CHUNK);
    if (has_space) {
        header->classes[header->n_chunks++] = (uint8_t)size_class;
        if (file_write_header(fd, header)) {
            return true;
        }
        header->classes[--header->n_chunks] = 0;
    }
    int error = errno;
    int cut = ftruncate(fd, size);
    (void)cut; /* zeros at the end do no harm */
    errno = error;
    return false;
}

bool file_read_extent(int fd, uint32_t slot, struct extent_header *extent, size_t n)
{
    return read_all(fd, (char *)extent, n, slot_offset(slot)) == n;
}

/* The first page comes last: a free extent stays free until all of the record is there. */
bool file_write_extent(int fd, uint32_t slot, const struct extent_header *extent)
{
    const char *bytes = (const char *)extent;
    off_t offset = slot_offset(slot);
    size_t n = sizeof *extent + extent->mark.length;
    size_t first = n < JOURNAL_PAGE ? n : JOURNAL_PAGE;
    return (n == first || own_file_write(fd, bytes + first, n - first, offset + (off_t)first)) &&
        own_file_write(fd, bytes, first, offset);
}
