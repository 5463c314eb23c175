/* journal.h - a file of records that survives the daemon; each is rewritten in place. What a record
 * says is the caller's matter; journal_layout.h has the layout of the bytes.
 *
 * Written with pwrite, without fsync: records outlive this process, but not the host, and a journal
 * of another boot says nothing. Space is taken before it is promised. A file that cannot be trusted
 * is never repaired: a new one takes its place. */
#pragma once

#include "journal/journal_layout.h"
#include "journal/journal_map.h"

enum {
    JOURNAL_MAX_BYTES = JOURNAL_LARGEST - sizeof(struct extent_header), /* of one record */
};

/* What goes wrong with the file. */
enum journal_problem {
    /* Found by journal_open(); a new file takes the place of the old one, because */
    TROUBLE_UNREADABLE, /* it cannot be opened: `error` */
    TROUBLE_NOT_OURS_ALONE, /* somebody else may have written it */
    TROUBLE_NO_JOURNAL, /* it never was a journal, or its header is damaged */
    TROUBLE_DAMAGE, /* only `n` records can be read */
    /* At any time: */
    TROUBLE_CUT, /* somebody has truncated it while it was open; reported once */
    TROUBLE_NO_FILE, /* none can be made: `error` */
    TROUBLE_STILL_NO_FILE, /* the same, again */
    TROUBLE_NO_GROWTH, /* it cannot grow: `error` */
    TROUBLE_TOO_LONG, /* a record of `n` bytes does not fit into its slot */
    TROUBLE_NOT_WRITTEN, /* `error` */
    TROUBLE_NOT_ERASED, /* the record may come back: `error` */
    TROUBLE_NOT_COMPLETE, /* journal_set_complete() has failed: `error` */
};

struct journal_report {
    enum journal_problem trouble;
    const char *path;
    int error; /* an errno */
    size_t n;
};

/* For the log; called from within the journal's functions, which it must not call. One call may
 * report several troubles. */
typedef void journal_reporter(const struct journal_report *report);

struct journal {
    char *path; /* owned */
    int fd; /* -1: there is no file at present */
    struct journal_map map; /* of the same file */
    struct journal_header header; /* as in the file */
    uint32_t *next; /* of each slot: the next free one of its class, or that it is in use */
    uint32_t free[JOURNAL_CLASSES]; /* first free slot of each class; 0: none */
    journal_reporter *report;
    bool has_no_file; /* that has been reported */
    bool was_cut; /* the file was cut while it was open: it is never complete again */
    _Alignas(struct extent_header) char buffer[JOURNAL_LARGEST];
};

#define JOURNAL_INIT                                                                               \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/* What journal_open() found at the path. */
enum journal_found {
    JOURNAL_MISSING,
    JOURNAL_INTACT, /* every record was visited, and there are no others */
    JOURNAL_INCOMPLETE, /* intact, but journal_set_complete() was never called */
    JOURNAL_DAMAGED, /* or not ours: the readable records were visited */
    JOURNAL_OF_OTHER_BOOT, /* nothing was visited */
    JOURNAL_OF_LATER_VERSION, /* of this boot: nothing was visited, and the file is unchanged */
};

/* A record. `slot` stays in use; it is 0 if the record is from a damaged file and the new one had
 * no place for it. `bytes` are good during the call. The function may journal_erase() this slot,
 * and nothing else. */
typedef void journal_visit(void *context, uint32_t slot, const char *bytes, size_t length);

/* Unless the file was intact or a later version's, makes a new, incomplete one: if berthd dies
 * before journal_set_complete(), the next one finds JOURNAL_INCOMPLETE. If no file can be made
 * (reported), journal_reserve() tries again. Call journal_close() in any case. `boot_id` has fewer
 * than BOOT_ID_SIZE bytes. `report` gets all troubles until then. */
enum journal_found journal_open(struct journal *journal, const char *path, const char *boot_id,
    journal_reporter *report, journal_visit *visit, void *context);
/* Leaves the file as it is. */
void journal_close(struct journal *journal);

/* From now on the file is complete: leases that it does not have are over. */
void journal_set_complete(struct journal *journal);

/* Makes the file if there is none; false if that fails. */
bool journal_can_be_made(struct journal *journal);

/* Returns an empty slot with room for a record of that size, whatever else fills the disk. 0
 * (errno; reported) if there is no space. */
uint32_t journal_reserve(struct journal *journal, size_t max_bytes);
/* How long a record of that slot may be, in bytes. */
size_t journal_room(const struct journal *journal, uint32_t slot);
/* Replaces what the slot held. `length` > 0. False (errno; reported): the record is too long for
 * the slot (EMSGSIZE, nothing has changed), or the file system failed, and the slot now holds the
 * old record, the new one, or damage. */
bool journal_write(struct journal *journal, uint32_t slot, const void *bytes, size_t length);
/* The last record written, unchecked: good until the next call. NULL: it cannot be read. */
const char *journal_look(struct journal *journal, uint32_t slot, size_t *lengthp);
/* Frees the slot, whatever it held. If the file system fails (reported), the record may come
 * back. */
void journal_erase(struct journal *journal, uint32_t slot);
