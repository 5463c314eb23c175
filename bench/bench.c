#include "bench/bench.h"

#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

int64_t bench_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

void bench_fail(const char *what)
{
    fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
    exit(1);
}

void bench_fail_errno(const char *what)
{
    fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, strerror(errno));
    exit(1);
}

unsigned bench_number(const char *text)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    if (*end != '\0' || number == 0 || number > 100 * 1000 * 1000) {
        bench_fail("a number of the command line is not one");
    }
    return (unsigned)number;
}

void bench_become(unsigned uid)
{
    if (setgroups(0, NULL) < 0 || setgid(uid) < 0 || setuid(uid) < 0) {
        bench_fail_errno("cannot become another user");
    }
}

int bench_connect(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (strlen(path) >= sizeof address.sun_path) {
        bench_fail("the socket's path is too long");
    }
    strcpy(address.sun_path, path);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof address) < 0) {
        bench_fail_errno(path);
    }
    return fd;
}

void bench_write(int fd, const char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t now = write(fd, bytes, n);
        if (now < 0) {
            bench_fail_errno("write");
        }
        bytes += now;
        n -= (size_t)now;
    }
}

static unsigned count_lines(const char *bytes, size_t n)
{
    unsigned lines = 0;
    for (const char *end = bytes + n; (bytes = memchr(bytes, '\n', (size_t)(end - bytes)));) {
        bytes++;
        lines++;
    }
    return lines;
}

char *bench_read_lines(int fd, unsigned n_lines, char *buffer, size_t size)
{
    size_t length = 0;
    for (unsigned lines = 0; lines < n_lines;) {
        ssize_t n = read(fd, buffer + length, size - 1 - length);
        if (n < 0) {
            bench_fail_errno("read");
        }
        if (n == 0) {
            bench_fail("the server has closed the connection");
        }
        lines += count_lines(buffer + length, (size_t)n);
        length += (size_t)n;
        if (lines > n_lines || (lines == n_lines && buffer[length - 1] != '\n')) {
            bench_fail("more answers than questions");
        }
    }
    buffer[length] = '\0';
    return buffer;
}

char *bench_expect(char *line, const char *prefix)
{
    if (strncmp(line, prefix, strlen(prefix)) != 0) {
        fprintf(stderr, "%s: expected \"%s...\", got \"%.*s\"\n", program_invocation_short_name,
            prefix, (int)strcspn(line, "\n"), line);
        exit(1);
    }
    return strchr(line, '\n') + 1;
}

void bench_copy_lease(char out[static BENCH_LEASE_SIZE], const char *line)
{
    const char *lease = strchr(line, ' ');
    size_t n = lease ? strcspn(lease + 1, " \n") : 0;
    if (n == 0 || n >= BENCH_LEASE_SIZE) {
        bench_fail("an answer without a lease");
    }
    memcpy(out, lease + 1, n);
    out[n] = '\0';
}
