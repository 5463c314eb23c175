/* journal_file.h - the system calls below journal.c: a journal's file is found, read, made and
 * written. Nothing that is read is trusted. */
#ifndef BERTH_JOURNAL_JOURNAL_FILE_H
#define BERTH_JOURNAL_JOURNAL_FILE_H

#include "journal/journal.h"

struct old_file {
    int fd; /* -1: none that may be read */
    off_t size;
    size_t n_records;
    struct journal_header header; /* without chunks if it cannot be trusted */
};

/* Looks at every byte that counts; logs what is wrong. The descriptor is the caller's. */
enum journal_found file_open(struct old_file *old, const char *path, const char *boot_id);

/* Each extent in order; those that the file is too short for are bad. */
typedef void file_extent(
    void *context, uint32_t slot, enum extent_state state, const char *bytes, size_t length);
void file_scan(const struct old_file *old, file_extent *extent, void *context);

/* A new file beside `path`, with that header (of no chunks); -1 with errno. */
int file_make(const char *path, struct journal_header *header);
/* It takes the name `path`, whatever has that now. On failure (errno) it is gone. */
bool file_install(const char *path);

/* It is as long as its header says, at least. */
bool file_is_whole(int fd, const struct journal_header *header);

/* The rest return false with errno. */
bool file_write_header(int fd, struct journal_header *header);
/* One chunk more, whose space is certain; in the header too. */
bool file_grow(int fd, struct journal_header *header, size_t size_class);
/* An extent of `n` bytes. */
bool file_read_extent(int fd, uint32_t slot, struct extent_header *extent, size_t n);
/* A sealed extent. */
bool file_write_extent(int fd, uint32_t slot, const struct extent_header *extent);

#endif
