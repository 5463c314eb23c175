#include "journal/journal_layout.h"

#include "journal/checksum.h"

#include <stdio.h>
#include <string.h>

static const char magic[16] = "berth journal\n";

/* ---- checksums ---- */

static uint64_t header_sum(const struct journal_header *header)
{
    return checksum(header->magic, sizeof *header - sizeof header->checksum);
}

static uint64_t extent_sum(const struct extent_header *extent)
{
    return checksum(&extent->mark, sizeof extent->mark + extent->mark.length);
}

void header_init(struct journal_header *header, const char *boot_id)
{
    *header = (struct journal_header){.version = JOURNAL_VERSION};
    memcpy(header->magic, magic, sizeof magic);
    snprintf(header->boot_id, sizeof header->boot_id, "%s", boot_id);
}

void header_seal(struct journal_header *header)
{
    header->checksum = header_sum(header);
}

static bool is_in_range(const struct journal_header *header)
{
    bool is_valid = header->n_chunks <= JOURNAL_MAX_CHUNKS && header->is_complete <= 1;
    for (size_t i = 0; is_valid && i < header->n_chunks; i++) {
        is_valid = header->classes[i] < JOURNAL_CLASSES;
    }
    return is_valid;
}

enum header_state header_look(const struct journal_header *header)
{
    bool is_ours = memcmp(header->magic, magic, sizeof magic) == 0 &&
        header->checksum == header_sum(header) &&
        memchr(header->boot_id, '\0', sizeof header->boot_id);
    if (!is_ours) {
        return HEADER_BAD;
    }
    if (header->version != JOURNAL_VERSION || header->must_understand != 0) {
        return HEADER_LATER;
    }
    return is_in_range(header) ? HEADER_GOOD : HEADER_BAD;
}

off_t header_file_size(const struct journal_header *header)
{
    return JOURNAL_PAGE + (off_t)header->n_chunks * JOURNAL_CHUNK;
}

size_t class_for(size_t length)
{
    size_t size_class = 0;
    while (size_class < JOURNAL_CLASSES &&
        class_size(size_class) - sizeof(struct extent_header) < length) {
        size_class++;
    }
    return size_class;
}

void extent_seal(struct extent_header *extent, uint32_t slot)
{
    extent->mark.slot = slot;
    extent->checksum = extent_sum(extent);
}

enum extent_state extent_look(const struct extent_header *extent, uint32_t slot, size_t size)
{
    if (mark_is_free(extent->mark, slot)) {
        return EXTENT_FREE;
    }
    bool is_good = extent->mark.slot == slot && extent->mark.length > 0 &&
        extent->mark.length <= size - sizeof *extent && extent->checksum == extent_sum(extent);
    return is_good ? EXTENT_RECORD : EXTENT_BAD;
}
