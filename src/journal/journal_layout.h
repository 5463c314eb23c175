/* journal_layout.h - what the bytes of a journal mean. Pure; journal.c does the reading and
 * writing.
 *
 *   header page | chunk | chunk | ...        a chunk is full of extents of one size
 *
 * The header is rewritten by one pwrite of one page, and no extent of at most a page crosses a page
 * boundary: a daemon killed while writing leaves the old bytes or the new ones. A slot number is an
 * extent's place, in units of the smallest extent. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum {
    JOURNAL_VERSION = 1,
    JOURNAL_PAGE = 4096,
    JOURNAL_CHUNK = 65536,
    JOURNAL_SMALLEST = 256,
    JOURNAL_CLASSES = 7, /* 256 << class bytes */
    JOURNAL_LARGEST = JOURNAL_SMALLEST << (JOURNAL_CLASSES - 1),
    JOURNAL_SLOTS = JOURNAL_CHUNK / JOURNAL_SMALLEST, /* slot numbers of one chunk */
    JOURNAL_MAX_CHUNKS = JOURNAL_PAGE - 80,
    BOOT_ID_SIZE = 40, /* a boot id has 36 characters, and may grow */
};

struct journal_header {
    uint64_t checksum; /* of everything below */
    char magic[16];
    uint32_t version;
    uint32_t n_chunks;
    char boot_id[BOOT_ID_SIZE];
    uint32_t is_complete; /* 0 or 1; see journal.h */
    uint32_t must_understand; /* bits for later versions; 0 in this one */
    uint8_t classes[JOURNAL_MAX_CHUNKS]; /* of each chunk */
};
_Static_assert(sizeof(struct journal_header) == JOURNAL_PAGE, "one page");

/* Whether an extent is free or a slot's record. Changes by one store. */
union extent_mark {
    struct {
        uint32_t slot; /* its own; if free, the complement, or 0 if never used */
        uint32_t length; /* of the record; 0: free */
    };
    uint64_t word;
};

/* Precedes a record's bytes. */
struct extent_header {
    uint64_t checksum; /* of a record: of everything below, and its bytes */
    union extent_mark mark;
};

static inline union extent_mark mark_free(uint32_t slot)
{
    return (union extent_mark){{.slot = ~slot, .length = 0}};
}

static inline bool mark_is_free(union extent_mark mark, uint32_t slot)
{
    return mark.word == 0 || mark.word == mark_free(slot).word;
}

enum extent_state {
    EXTENT_FREE,
    EXTENT_RECORD,
    EXTENT_BAD,
};

void header_init(struct journal_header *header, const char *boot_id);
void header_seal(struct journal_header *header);
enum header_state {
    HEADER_GOOD, /* of this version, with every number in range */
    HEADER_LATER, /* another version's; boot_id is good */
    HEADER_BAD,
};

enum header_state header_look(const struct journal_header *header);
off_t header_file_size(const struct journal_header *header);

static inline size_t class_size(size_t size_class)
{
    return (size_t)JOURNAL_SMALLEST << size_class;
}

static inline size_t class_slots(size_t size_class)
{
    return (size_t)1 << size_class; /* how many slot numbers an extent takes */
}

/* The smallest class with room for a record of that size; JOURNAL_CLASSES if there is none. */
size_t class_for(size_t length);

static inline uint32_t slot_chunk(uint32_t slot)
{
    return (slot - 1) / JOURNAL_SLOTS;
}

static inline off_t slot_offset(uint32_t slot)
{
    return JOURNAL_PAGE + (off_t)(slot - 1) * JOURNAL_SMALLEST;
}

/* `extent` has the length and the bytes already. */
void extent_seal(struct extent_header *extent, uint32_t slot);
/* `size` bytes of the file at that slot. */
enum extent_state extent_look(const struct extent_header *extent, uint32_t slot, size_t size);
