/* disk_shim.c - LD_PRELOAD: a disk that answers when and what a test likes to a program that writes
 * the file in the state directory ("fsync", "fsync-directory", "rename", "posix_fallocate"), reads
 * it ("open"), or writes the journal ("mmap", "pwrite").
 *
 * While $BERTH_DISK has a FIFO, or a file, named after one of these operations, the operation first
 * opens that and reads it to its end. If it reads a number, it fails with that errno. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/* Returns the errno, or 0. */
static int wait_at_gate(const char *operation)
{
    char path[PATH_MAX], text[16] = "";
    size_t length = 0;
    const char *directory = getenv("BERTH_DISK");
    if (!directory) {
        return 0;
    }
    snprintf(path, sizeof path, "%s/%s", directory, operation);
    int gate = open(path, O_RDONLY | O_CLOEXEC);
    if (gate < 0) {
        return 0;
    }
    ssize_t n;
    while ((n = read(gate, text + length, sizeof text - 1 - length)) > 0) {
        length += (size_t)n;
    }
    close(gate);
    return atoi(text);
}

static int ends_in(const char *path, const char *suffix)
{
    size_t length = strlen(path), n = strlen(suffix);
    return length >= n && strcmp(path + length - n, suffix) == 0;
}

static int is_state(const char *path)
{
    return ends_in(path, ".state.new");
}

static int is_file(int fd, const char *suffix)
{
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    path[n > 0 ? n : 0] = '\0';
    return ends_in(path, suffix);
}

/* Then errno says why. */
static int fails_at(const char *gate)
{
    int error = wait_at_gate(gate);
    errno = error != 0 ? error : errno;
    return error != 0;
}

/* Which of them the program calls depends on its _FILE_OFFSET_BITS. */
static int open_by(const char *name, const char *path, int flags, va_list rest)
{
    int (*real)(const char *, int, ...);
    *(void **)&real = dlsym(RTLD_NEXT, name);
    if (ends_in(path, ".state") && fails_at("open")) {
        return -1;
    }
    return real(path, flags, flags & O_CREAT ? va_arg(rest, mode_t) : 0);
}

int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    int fd = open_by("open", path, flags, rest);
    va_end(rest);
    return fd;
}

int open64(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    int fd = open_by("open64", path, flags, rest);
    va_end(rest);
    return fd;
}

int fsync(int fd)
{
    struct stat status;
    int (*real)(int);
    *(void **)&real = dlsym(RTLD_NEXT, "fsync");
    int is_directory = fstat(fd, &status) == 0 && S_ISDIR(status.st_mode);
    if (fails_at(is_directory ? "fsync-directory" : "fsync")) {
        return -1;
    }
    return real(fd);
}

int rename(const char *from, const char *to)
{
    int (*real)(const char *, const char *);
    *(void **)&real = dlsym(RTLD_NEXT, "rename");
    if (is_state(from) && fails_at("rename")) {
        return -1;
    }
    return real(from, to);
}

int posix_fallocate(int fd, off_t offset, off_t n)
{
    int (*real)(int, off_t, off_t);
    *(void **)&real = dlsym(RTLD_NEXT, "posix_fallocate");
    int error = is_file(fd, ".state.new") ? wait_at_gate("posix_fallocate") : 0;
    return error != 0 ? error : real(fd, offset, n);
}

int posix_fallocate64(int fd, off64_t offset, off64_t n)
{
    int (*real)(int, off64_t, off64_t);
    *(void **)&real = dlsym(RTLD_NEXT, "posix_fallocate64");
    int error = is_file(fd, ".state.new") ? wait_at_gate("posix_fallocate") : 0;
    return error != 0 ? error : real(fd, offset, n);
}

void *mmap(void *address, size_t n, int protection, int flags, int fd, off_t offset)
{
    void *(*real)(void *, size_t, int, int, int, off_t);
    *(void **)&real = dlsym(RTLD_NEXT, "mmap");
    if (fd >= 0 && is_file(fd, ".journal") && fails_at("mmap")) {
        return MAP_FAILED;
    }
    return real(address, n, protection, flags, fd, offset);
}

ssize_t pwrite(int fd, const void *bytes, size_t n, off_t offset)
{
    ssize_t (*real)(int, const void *, size_t, off_t);
    *(void **)&real = dlsym(RTLD_NEXT, "pwrite");
    if (is_file(fd, ".journal") && fails_at("pwrite")) {
        return -1;
    }
    return real(fd, bytes, n, offset);
}
