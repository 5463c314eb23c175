/* history_reader.h - reads the entries of a history's file (history_ring.h) while berthd adds new
 * ones: whoever reads costs berthd nothing, and sees no entry that is not whole. */
#pragma once

#include "journal/history_layout.h"

#include <signal.h>
#include <stddef.h>

struct history_reader {
    const struct history_head *head; /* NULL: it is not attached */
    const char *bytes; /* behind the head */
    size_t size; /* of these */
    uint64_t id, layout; /* of the ring, and of its entries */
    uint64_t serial; /* of the newest entry that has been read, or is not wanted */
    uint64_t position; /* where the next one begins */
    uint64_t n_damaged; /* since the one with .serial */
    uint64_t *copy; /* of an entry with its mark */
    size_t copy_words;
    volatile sig_atomic_t was_cut;
};

struct history_copy {
    uint64_t serial;
    const void *bytes; /* aligned to 8; good until the next one is read */
    size_t n;
    /* How many are missing between this entry and the one read before, by why: */
    uint64_t n_damaged;
    uint64_t n_overwritten; /* newer ones had their place before they were read */
};

enum history_read {
    HISTORY_READ, /* an entry */
    HISTORY_UP_TO_DATE, /* none now */
    HISTORY_CUT, /* somebody has cut the file: nothing more will come from it */
};

/* Reads what has a higher serial than `serial`. The struct must stay where it is until
 * history_reader_detach(); the descriptor may be closed. False: it is no such file. */
bool history_reader_attach(struct history_reader *reader, int fd, uint64_t serial);
/* Goes back, or on, to what has a higher serial than `serial`. */
void history_reader_seek(struct history_reader *reader, uint64_t serial);
void history_reader_detach(struct history_reader *reader); /* does nothing if it is not attached */
enum history_read history_reader_next(struct history_reader *reader, struct history_copy *copy);
