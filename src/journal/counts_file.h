/* counts_file.h - memory for counters, mapped from a file in the runtime directory: they survive a
 * SIGKILL and a restart, and begin at zero after a boot, or with another layout.
 *
 * The file's space is allocated, so a store cannot fail. Without space or a directory the memory is
 * anonymous: the counters then begin at zero with each berthd. If somebody cuts the file meanwhile,
 * the pages that are missing become zero, and anonymous (cut_guard.h). */
#ifndef BERTH_JOURNAL_COUNTS_FILE_H
#define BERTH_JOURNAL_COUNTS_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    COUNTS_HEAD_BYTES =
        16384, /* of which all but the first COUNTS_IDENTITY_BYTES are the caller's */
    COUNTS_IDENTITY_BYTES = 128,
    COUNTS_CHUNK_BYTES = 16384,
};

struct counts_file {
    int fd; /* -1: none */
    int error; /* errno of the first failure: since then memory is anonymous; 0: none */
    char *head;
    char **chunks;
    size_t n_chunks; /* mapped so far */
    size_t n_earlier; /* that the file had when it was opened */
    size_t n_in_file; /* the others are anonymous */
    bool is_head_in_file;
};

/* One at a time, in one process. `boot_id` has fewer than 64 bytes; `layout` is a number that is
 * another one for another meaning of the bytes. */
void counts_file_open(
    struct counts_file *file, const char *path, const char *boot_id, uint64_t layout);
/* Whether the file was cut, and what was there is zero by now. */
bool counts_file_was_cut(const struct counts_file *file);
/* Zero in a new file; good until counts_file_close(). */
void *counts_file_extra(const struct counts_file *file);
/* The next chunk: of the file's, then new ones, which are zero. */
void *counts_file_chunk(struct counts_file *file);
/* From now on stores do not reach the file. */
void counts_file_freeze(struct counts_file *file);
void counts_file_close(struct counts_file *file);

#endif
