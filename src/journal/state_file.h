/* state_file.h - replaces a file on disk: writes beside it, fsyncs, renames. Each step may take as
 * long as the disk likes, so the loop leaves them to state_writer.h. Logs nothing. May be called
 * from any thread, for one file from one thread at a time. */
#pragma once

#include <stddef.h>

/* Whether the new bytes will be there after a restart. */
enum stored {
    STORED_NOT, /* the old file is in place */
    STORED_UNSYNCED, /* the new file is in place, but a crash may bring the old one back */
    STORED_UNKNOWN, /* it is being written, and nobody waits for the result any more */
    STORED, /* the new file is there, even after a crash */
    N_STORED
};

/* Replaces `path` by a file of `n` bytes. `next_path` is in the same directory, which is made if
 * missing. Sets *errorp unless the result is STORED. */
enum stored state_file_replace(
    const char *path, const char *next_path, const char *bytes, size_t n, int *errorp);

/* Allocates space, so that later that many bytes can be written to `next_path`, whatever fills the
 * disk. 0, or an errno. */
int state_file_make_room(const char *next_path, size_t bytes);
