/* drain.h - from berthd's ring to the days: reads each entry once, and notes what is missing. */
#pragma once

#include "base/text.h"
#include "history/days.h"
#include "journal/history_reader.h"

struct drain {
    struct days *days;
    struct history_reader reader; /* .head NULL: there is no ring yet */
    int next_fd; /* the ring that follows when this one has been read to its end; -1: none */
    bool is_lost; /* somebody has cut the file: another ring is needed */
    bool had_no_ring; /* berthd has none to read, or had none, since this one was attached */
    /* Why entries are missing, if they are: */
    bool is_first; /* nothing has been read from this ring since it was attached */
    bool has_failed; /* the days could not be written since the last entry */
    struct text line, claims; /* of a row */
};

enum drain_result {
    DRAIN_MORE,
    DRAIN_DONE, /* nothing is left */
    DRAIN_FAILS, /* the days cannot be written now */
};

void drain_init(struct drain *drain, struct days *days);
/* Takes the descriptor over: berthd's ring as it is now. */
void drain_pass(struct drain *drain, int fd);
/* Reads and writes some, which takes a few milliseconds. */
enum drain_result drain_step(struct drain *drain);
/* Notes that nothing has come until now. */
void drain_note_seen(struct drain *drain);
void drain_deinit(struct drain *drain);
