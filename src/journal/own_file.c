#include "journal/own_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int own_file_open(const char *path)
{
    return open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
}

void own_file_close(int fd)
{
    int error = errno;
    if (fd >= 0) {
        close(fd);
    }
    errno = error;
}

bool own_file_is_ours(int fd, off_t *sizep)
{
    struct stat status;
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode) || status.st_uid != geteuid() ||
        status.st_nlink != 1 || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
        return false;
    }
    *sizep = status.st_size;
    return true;
}

bool own_file_reserve(int fd, off_t offset, off_t n)
{
    do {
        errno = posix_fallocate(fd, offset, n);
    } while (errno == EINTR);
    return errno == 0;
}

bool own_file_write(int fd, const char *bytes, size_t n, off_t offset)
{
    while (n > 0) {
        ssize_t written = pwrite(fd, bytes, n, offset);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            errno = written == 0 ? EIO : errno;
            return false;
        }
        bytes += written;
        n -= (size_t)written;
        offset += written;
    }
    return true;
}

static bool new_path(const char *path, char out[static PATH_MAX])
{
    int n = snprintf(out, PATH_MAX, "%s.new", path);
    if (path[0] == '\0' || n >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return false;
    }
    return true;
}

int own_file_make(const char *path)
{
    char name[PATH_MAX];
    if (!new_path(path, name)) {
        return -1;
    }
    unlink(name);
    return open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
}

bool own_file_install(const char *path)
{
    char name[PATH_MAX];
    if (!new_path(path, name)) {
        return false;
    }
    if (rename(name, path) < 0) {
        own_file_discard(path);
        return false;
    }
    return true;
}

void own_file_discard(const char *path)
{
    int error = errno;
    char name[PATH_MAX];
    if (new_path(path, name)) {
        unlink(name);
    }
    errno = error;
}
