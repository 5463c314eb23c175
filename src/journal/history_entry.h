/* history_entry.h - one entry of the history: how a lease or a wait ended, or who takes a lease
 * away. The lease itself is its last record of the journal (record.h). The reader checks
 * everything. Pure. */
#ifndef BERTH_JOURNAL_HISTORY_ENTRY_H
#define BERTH_JOURNAL_HISTORY_ENTRY_H

#include "core/types.h"

enum history_kind {
    HISTORY_ENDED,
    HISTORY_TAKEN, /* its end follows; only .lease, .by and .why are set; without .by and
                      .why: nobody takes it away any more */
};

/* A user, perhaps. */
struct history_user {
    bool is_known;
    uint32_t uid;
};

/* Where a process comes from. */
struct history_origin {
    struct history_user login; /* who had logged in */
    const char *cgroup, *args; /* or NULL */
};

/* How the job's main process ended. */
enum history_status { HISTORY_STATUS_UNKNOWN, HISTORY_EXITED, HISTORY_SIGNALLED };

/* A word, filled up with NULs, of which there is at least one. */
enum { HISTORY_WORD_SIZE = 21 };
struct history_word {
    char text[HISTORY_WORD_SIZE];
};

struct history_entry {
    enum history_kind kind;
    uint64_t lease;
    nanoseconds ended_at;
    uint32_t uid; /* of the lease */
    uint16_t hiding; /* bit 1 << i: its resource i hides what leases say of themselves */
    struct history_word how; /* a code's, or HISTORY_GONE */
    enum history_status status;
    uint8_t number; /* the exit status, or the signal */
    bool was_unseen; /* it ended while there was no berthd: before .ended_at */
    struct history_origin origin; /* the job's */
    struct history_user by, by_login; /* who took it away */
    const char *record; /* without a NUL */
    size_t record_length;
    const char *why; /* theirs, who took it away; or NULL */
};

/* A number that is another one for another form of the bytes. */
enum { HISTORY_LAYOUT = 1 };

/* A lease that nobody gave back: its job, or its client, was gone. */
#define HISTORY_GONE "gone"

struct history_word history_word_of(const char *word); /* cut if it is too long */
size_t history_entry_size(const struct history_entry *entry);
/* `room` has so many bytes, aligned to 8. */
void history_entry_write(const struct history_entry *entry, void *room);
/* The strings point into `bytes`. False if they are no entry. */
bool history_entry_read(struct history_entry *entry, const void *bytes, size_t n);

#endif
