#include "redis/secret.h"

#include "base/memory.h"
#include "redis/one_line.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_SECRET_BYTES = 4096 };

static const char credential[] = "credential:";

char *secret_free(char *secret)
{
    if (secret) {
        explicit_bzero(secret, strlen(secret));
        free(secret);
    }
    return NULL;
}

const char *secret_find(const char *source, char path[PATH_MAX])
{
    size_t length = strlen(credential);
    const char *directory = getenv("CREDENTIALS_DIRECTORY");
    int n;
    if (strncmp(source, credential, length) != 0) {
        n = snprintf(path, PATH_MAX, "%s", source);
    } else if (!directory) {
        return "CREDENTIALS_DIRECTORY is not set";
    } else if (source[length] == '\0' || strchr(source + length, '/')) {
        return "not the name of a credential";
    } else {
        n = snprintf(path, PATH_MAX, "%s/%s", directory, source + length);
    }
    return n < PATH_MAX ? NULL : strerror(ENAMETOOLONG);
}

const char *secret_hint(const char *source)
{
    return strncmp(source, credential, strlen(credential)) == 0
        ? " (LoadCredential= of the unit names the file; it was read at the start)"
        : "";
}

/* NULL, or what is wrong. O_NONBLOCK: a FIFO must not hang the daemon. */
static const char *read_line(const char *path, char line[MAX_SECRET_BYTES + 1])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t n = fd < 0 ? -1 : read(fd, line, MAX_SECRET_BYTES);
    int error = errno;
    if (fd >= 0) {
        close(fd);
    }
    if (n < 0) {
        return strerror(error);
    }
    line[n] = '\0';
    size_t length = strcspn(line, "\r\n");
    size_t end = length + strspn(line + length, "\r\n");
    if (length == 0) {
        return "has no password in its first line";
    } else if (n == MAX_SECRET_BYTES || end < (size_t)n) {
        return "has more than one line";
    }
    line[length] = '\0';
    return NULL;
}

bool secret_read(const char *source, char **secretp, char *why, size_t size)
{
    char path[PATH_MAX], line[MAX_SECRET_BYTES + 1];
    const char *wrong = secret_find(source, path);
    wrong = wrong ? wrong : read_line(path, line);
    *secretp = wrong ? NULL : memory_string(line);
    explicit_bzero(line, sizeof line);
    if (wrong) {
        format_one_line(why, size, "password file %s: %s%s", source, wrong, secret_hint(source));
    }
    return !wrong;
}
