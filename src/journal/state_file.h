/* state_file.h - bytes take a file's place on disk: written beside it, fsynced, renamed over it. Any
 * of it may take as long as the disk likes, so the loop leaves it to state_writer.h. Logs nothing, and
 * may be called from any thread, but of one file from one thread at a time. */
#ifndef BERTH_JOURNAL_STATE_FILE_H
#define BERTH_JOURNAL_STATE_FILE_H

#include <stddef.h>

/* Whether what was written will be there after a restart. */
enum stored {
    STORED_NOT, /* the old file is in place */
    STORED_UNSYNCED, /* the new one is in place, but if the host crashes the old one may come back */
    STORED_UNKNOWN, /* it is being written, and nobody waits for that any more */
    STORED, /* whatever comes */
    N_STORED
};

/* A file of `n` bytes takes the place of `path`. `next_path` is in the same directory, which is made
 * if it is missing. Sets *errorp unless all is STORED. */
enum stored state_file_replace(
    const char *path, const char *next_path, const char *bytes, size_t n, int *errorp);

/* So many bytes can be written to `next_path` afterwards, whatever fills the disk meanwhile: 0, or
 * an errno. */
int state_file_make_room(const char *next_path, size_t bytes);

#endif
