/* journal.h - a file of records that survives the daemon, each rewritten in place. What a record
 * says is not known here; how the bytes lie is journal_layout.h's.
 *
 * Written with pwrite and without fsync: what was written outlives this process, not the host, and
 * a journal of another boot says nothing. Space is taken before it is promised. A file that cannot
 * be trusted is never repaired: a new one takes its place. */
#ifndef BERTH_JOURNAL_JOURNAL_H
#define BERTH_JOURNAL_JOURNAL_H

#include "journal/journal_layout.h"
#include "journal/journal_map.h"

enum {
    JOURNAL_MOST_BYTES = JOURNAL_LARGEST - sizeof(struct extent_header), /* of one record */
};

struct journal {
    char *path; /* owned */
    int fd; /* -1: there is no file at present */
    struct journal_map map; /* of the same file */
    struct journal_header header; /* as in the file */
    uint32_t *next; /* of each slot: the next free one of its class, or that it is in use */
    uint32_t free[JOURNAL_CLASSES]; /* 0: none */
    bool has_complained; /* that there is no file */
    bool was_cut; /* while it was open: never complete again */
    _Alignas(struct extent_header) char buffer[JOURNAL_LARGEST];
};

#define JOURNAL_INIT                                                                               \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/* What was at the path. */
enum journal_found {
    JOURNAL_MISSING,
    JOURNAL_INTACT, /* every record was visited, and there are no others */
    JOURNAL_INCOMPLETE, /* intact, but journal_set_complete() was never called */
    JOURNAL_DAMAGED, /* or not ours: what was readable was visited */
    JOURNAL_OF_OTHER_BOOT, /* nothing was visited */
    JOURNAL_OF_LATER_VERSION, /* of this boot: nothing was visited, and it is as it was */
};

/* One record. `slot` stays in use; 0 if the record was read from a damaged file and there was no
 * place for it in the new one. `bytes` are good until it returns. It may journal_erase() this slot,
 * and nothing else. */
typedef void journal_visit(void *context, uint32_t slot, const char *bytes, size_t length);

/* Unless the file was intact, or a later version's, there is a new, incomplete one afterwards: if berthd dies before it
 * has called journal_set_complete(), the next one finds JOURNAL_INCOMPLETE. Where no file can be
 * made (logged), journal_reserve() tries again. journal_close() in any case. `boot_id` has fewer
 * than BOOT_ID_SIZE bytes. */
enum journal_found journal_open(struct journal *journal, const char *path, const char *boot_id,
    journal_visit *visit, void *context);
/* The file stays as it is. */
void journal_close(struct journal *journal);

/* From now on the file has all there is: nobody is expected any more whom it does not know. */
void journal_set_complete(struct journal *journal);

/* Makes it if there is none; false if that fails. */
bool journal_can_be_made(struct journal *journal);

/* A slot that has room for a record of so many bytes, whatever else fills the disk; it holds none
 * yet. 0 (errno; logged) if there is no space. */
uint32_t journal_reserve(struct journal *journal, size_t most_bytes);
/* Takes the place of what the slot held. `length` > 0. False (errno; logged): it is too long for
 * the slot (EMSGSIZE, nothing has changed), or the file system failed, and what the slot holds now
 * is the old record, the new one, or damage. */
bool journal_write(struct journal *journal, uint32_t slot, const void *bytes, size_t length);
/* What was written last, into `out`; the length, or 0 if it cannot be read. */
size_t journal_read(struct journal *journal, uint32_t slot, char *out, size_t size);
/* The slot is free, whatever it held. If the file system fails (logged) the record may come back.
 */
void journal_erase(struct journal *journal, uint32_t slot);

#endif
