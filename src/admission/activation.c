#include "admission/activation.h"

#include "service/manager.h"
#include "journal/paths.h"
#include "log/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

/* ---- checking it ---- */

static int option_of(int fd, int option)
{
    int value = -1;
    socklen_t size = sizeof value;
    return getsockopt(fd, SOL_SOCKET, option, &value, &size) == 0 ? value : -1;
}

/* What is wrong with the socket; NULL: nothing. */
static const char *read_path(struct inherited *inherited)
{
    struct sockaddr_un address = {0};
    socklen_t size = sizeof address;
    if (getsockname(inherited->fd, (struct sockaddr *)&address, &size) < 0) {
        return strerror(errno);
    }
    if (size <= offsetof(struct sockaddr_un, sun_path) || address.sun_path[0] == '\0') {
        return "an abstract Unix socket";
    }
    size_t length = strnlen(address.sun_path, sizeof address.sun_path);
    if (length == sizeof inherited->path) {
        return "a Unix socket whose path is too long";
    }
    memcpy(inherited->path, address.sun_path, length);
    inherited->path[length] = '\0';
    return inherited->path[0] == '/' ? NULL : "a Unix socket with a relative path";
}

static const char *activation_look_at(struct inherited *inherited)
{
    int fd = inherited->fd;
    struct stat status;
    if (fstat(fd, &status) < 0) {
        return strerror(errno);
    }
    if (!S_ISSOCK(status.st_mode)) {
        return "not a socket";
    }
    if (option_of(fd, SO_DOMAIN) != AF_UNIX) {
        return "not a Unix socket";
    }
    if (option_of(fd, SO_TYPE) != SOCK_STREAM) {
        return "a Unix socket, but not a stream socket";
    }
    if (option_of(fd, SO_ACCEPTCONN) != 1) {
        return "a Unix socket that does not listen: Accept=yes?";
    }
    return read_path(inherited);
}

/* ---- taking it ---- */

/* The manager promises neither. accept() must not wait: the client may have gone. */
static bool set_flags(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 &&
        fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

bool activation_take(struct inherited *inherited)
{
    static const char wanted[] = "berthd takes one listening Unix stream socket with a path";
    *inherited = (struct inherited){.fd = -1};
    int n = manager_sockets();
    if (n <= 0) {
        return n == 0;
    }
    if (n > 1) {
        log_error("%d sockets were passed: %s", n, wanted);
        return false;
    }
    inherited->fd = MANAGER_FIRST_FD;
    const char *wrong = activation_look_at(inherited);
    if (!wrong && !set_flags(inherited->fd)) {
        wrong = strerror(errno);
    }
    if (wrong) {
        log_error("the socket passed is %s: %s", wrong, wanted);
    }
    return !wrong;
}

/* ---- what is ignored ---- */

static bool is_same_path(const char *a, const char *b)
{
    char real_a[PATH_MAX], real_b[PATH_MAX];
    return path_canonical(a, real_a, sizeof real_a) && path_canonical(b, real_b, sizeof real_b) &&
        strcmp(real_a, real_b) == 0;
}

void activation_say_ignored(const struct inherited *inherited, const struct conf *conf)
{
    struct stat status;
    if (conf->gives_socket && !is_same_path(conf->socket, inherited->path)) {
        log_warning(
            "%s: socket is ignored: the service manager has made %s", conf->path, inherited->path);
    }
    if (conf->gives_socket_mode && stat(inherited->path, &status) == 0 &&
        (status.st_mode & 0777) != conf->socket_mode) {
        log_warning("%s: socket-mode is ignored: the service manager has made %s with %04o",
            conf->path, inherited->path, (unsigned)(status.st_mode & 0777));
    }
}
