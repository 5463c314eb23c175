/* journal_file.h - the system calls below journal.c: finds, reads, makes and writes a journal's
 * file. Does not trust what it reads. */
#pragma once

#include "journal/journal.h"

struct old_file {
    int fd; /* -1: no file that may be read */
    off_t size;
    struct journal_header header; /* without chunks if the file cannot be trusted */
    struct journal_report damage; /* set for JOURNAL_DAMAGED */
};

/* Checks every byte that counts. The caller owns the descriptor. */
enum journal_found file_open(struct old_file *old, const char *path, const char *boot_id);

/* Called for each extent in order; extents beyond the end of the file are bad. */
typedef void file_extent(
    void *context, uint32_t slot, enum extent_state state, const char *bytes, size_t length);
void file_scan(const struct old_file *old, file_extent *extent, void *context);

/* Makes a file beside `path`, with that header (of no chunks); -1 with errno. */
int file_make(const char *path, struct journal_header *header);

/* Whether the file is at least as long as its header says. */
bool file_is_whole(int fd, const struct journal_header *header);

/* These return false with errno. */
bool file_write_header(int fd, struct journal_header *header);
/* Adds a chunk whose space is allocated, also to the header. */
bool file_grow(int fd, struct journal_header *header, size_t size_class);
/* Reads an extent of `n` bytes. */
bool file_read_extent(int fd, uint32_t slot, struct extent_header *extent, size_t n);
/* Writes a sealed extent. */
bool file_write_extent(int fd, uint32_t slot, const struct extent_header *extent);
