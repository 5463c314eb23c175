#include "journal/state_file.h"

#include "base/memory.h"
#include "journal/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The caller frees it. */
static char *directory_of(const char *path)
{
    char *directory = memory_string(path);
    char *slash = strrchr(directory, '/');
    slash[slash == directory ? 1 : 0] = '\0';
    return directory;
}

static void make_directory_of(const char *path)
{
    char *directory = directory_of(path);
    for (char *slash = directory + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(directory, 0755);
        *slash = '/';
    }
    mkdir(directory, 0700);
    free(directory);
}

static int open_next(const char *next_path)
{
    int flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW; /* posix_fallocate() may have to read */
    int fd = open(next_path, flags, 0600);
    if (fd < 0 && errno == ENOENT) {
        make_directory_of(next_path);
        fd = open(next_path, flags, 0600);
    }
    return fd;
}

/* The new name is on disk only when the directory is. */
static bool sync_directory_of(const char *path)
{
    char *directory = directory_of(path);
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool synced = fd >= 0 && fsync(fd) == 0;
    own_file_close(fd);
    free(directory); /* keeps errno */
    return synced;
}

/* Writes over the space that state_file_make_room() has allocated, then cuts the file. */
static bool write_next(const char *next_path, const char *bytes, size_t n)
{
    int fd = open_next(next_path);
    if (fd < 0) {
        return false;
    }
    bool written = own_file_write(fd, bytes, n, 0) && ftruncate(fd, (off_t)n) == 0 &&
                   fsync(fd) == 0;
    own_file_close(fd);
    return written;
}

enum stored state_file_replace(
    const char *path, const char *next_path, const char *bytes, size_t n, int *errorp)
{
    enum stored stored = STORED;
    if (!write_next(next_path, bytes, n) || rename(next_path, path) < 0) {
        stored = STORED_NOT;
    } else if (!sync_directory_of(path)) {
        stored = STORED_UNSYNCED;
    }
    *errorp = stored == STORED ? 0 : errno;
    return stored;
}

int state_file_make_room(const char *next_path, size_t bytes)
{
    int fd = open_next(next_path);
    if (fd < 0) {
        return errno;
    }
    int error = own_file_reserve(fd, 0, (off_t)bytes) ? 0 : errno;
    close(fd);
    if (error != 0) {
        unlink(next_path);
    }
    return error;
}
