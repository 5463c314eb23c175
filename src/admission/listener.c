#include "admission/listener.h"

#include "base/memory.h"
#include "journal/paths.h"
#include "log/log.h"
#include "service/manager.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static bool make_folder(const char *path)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(path, '/');
    snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
    mode_t umask_before = umask(022); /* others must be able to open the host's socket */
    bool made =
        slash == path || mkdir(folder, geteuid() == 0 ? 0755 : 0700) == 0 || errno == EEXIST;
    umask(umask_before);
    if (!made) {
        bool has_no_login = errno == ENOENT && strncmp(path, "/run/user/", 10) == 0;
        log_error("cannot make %s: %s%s", folder, strerror(errno),
            has_no_login ? "; without a login, set XDG_RUNTIME_DIR to a directory of your own"
                         : "");
    }
    return made;
}

static bool take_lock(struct listener *listener)
{
    char path[PATH_MAX];
    if (!path_at_runtime(listener->path, ".lock", path, sizeof path)) {
        log_error("%s: too long", listener->path);
        return false;
    }
    listener->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (listener->lock_fd < 0) {
        log_error("%s: %s", path, strerror(errno));
        return false;
    }
    if (flock(listener->lock_fd, LOCK_EX | LOCK_NB) < 0) {
        log_error(errno == EWOULDBLOCK ? "%s: another %s serves it" : "%s: %s cannot lock it: %m",
            listener->path, log_program);
        return false;
    }
    return true;
}

/* Under the lock. Leaves another program's file, or a socket that answers, alone. */
static bool clear_stale_socket(const char *path, const struct sockaddr_un *address)
{
    struct stat status;
    if (lstat(path, &status) < 0) {
        if (errno == ENOENT) {
            return true;
        }
        log_error("%s: %s", path, strerror(errno));
        return false;
    }
    if (!S_ISSOCK(status.st_mode)) {
        log_error("%s: exists but is not a socket; left alone", path);
        return false;
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool refused = fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof *address) < 0 &&
        errno == ECONNREFUSED;
    if (fd >= 0) {
        close(fd);
    }
    if (!refused) {
        log_error("%s: another process serves it; left alone", path);
        return false;
    }
    if (unlink(path) < 0) {
        log_error("%s: stale, but cannot be removed: %s", path, strerror(errno));
        return false;
    }
    return true;
}

static bool bind_socket(struct listener *listener, const struct sockaddr_un *address, uint32_t mode)
{
    listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener->fd < 0) {
        log_error("cannot make a socket: %s", strerror(errno));
        return false;
    }
    /* The mode is right from the first moment on: bind() takes it from the descriptor. */
    mode_t umask_before = umask(0);
    bool bound = fchmod(listener->fd, mode) == 0 &&
        bind(listener->fd, (const struct sockaddr *)address, sizeof *address) == 0;
    umask(umask_before);
    struct stat status;
    if (!bound || stat(listener->path, &status) < 0) {
        log_error("%s: %s", listener->path, strerror(errno));
        return false;
    }
    listener->device = status.st_dev;
    listener->inode = status.st_ino;
    return true;
}

bool listener_open(struct listener *listener, const char *path, uint32_t mode)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (path[0] != '/' || strlen(path) >= sizeof address.sun_path) {
        log_error("%s: a socket's path is absolute and has at most %zu bytes", path,
            sizeof address.sun_path - 1);
        return false;
    }
    strcpy(address.sun_path, path);
    listener->path = memory_string(path);
    return make_folder(path) && take_lock(listener) && clear_stale_socket(path, &address) &&
        bind_socket(listener, &address, mode);
}

/* ---- one that a service manager has made and keeps ---- */

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

static const char *inherited_look_at(struct inherited *inherited)
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

/* The manager promises neither. accept() must not wait: the client may have gone. */
static bool set_flags(int fd)
{
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && fcntl(fd, F_SETFL, flags | O_NONBLOCK) == 0 &&
        fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

bool inherited_take(struct inherited *inherited)
{
    static const char wanted[] = "takes one listening Unix stream socket with a path";
    *inherited = (struct inherited){.fd = -1};
    int n = manager_sockets();
    if (n <= 0) {
        return n == 0;
    }
    if (n > 1) {
        log_error("%d sockets were passed: %s %s", n, log_program, wanted);
        return false;
    }
    inherited->fd = MANAGER_FIRST_FD;
    const char *wrong = inherited_look_at(inherited);
    if (!wrong && !set_flags(inherited->fd)) {
        wrong = strerror(errno);
    }
    if (wrong) {
        log_error("the socket passed is %s: %s %s", wrong, log_program, wanted);
    }
    return !wrong;
}

static bool is_same_path(const char *a, const char *b)
{
    char real_a[PATH_MAX], real_b[PATH_MAX];
    return path_canonical(a, real_a, sizeof real_a) && path_canonical(b, real_b, sizeof real_b) &&
        strcmp(real_a, real_b) == 0;
}

void inherited_say_ignored(const struct inherited *inherited, const struct conf *conf)
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

bool listener_adopt(struct listener *listener, const struct inherited *inherited)
{
    listener->fd = inherited->fd;
    listener->path = memory_string(inherited->path);
    struct stat status;
    if (stat(listener->path, &status) < 0 || !S_ISSOCK(status.st_mode)) {
        log_error("%s: no longer exists, so clients cannot find us: restart its socket unit "
                  "(berthd.socket), with this service stopped",
            listener->path);
    }
    return take_lock(listener);
}

bool listener_is_inherited(const struct listener *listener)
{
    return listener->inode == 0;
}

void listener_close(struct listener *listener)
{
    struct stat status;
    if (listener->inode != 0 && lstat(listener->path, &status) == 0 &&
        status.st_dev == listener->device && status.st_ino == listener->inode) {
        unlink(listener->path);
    }
    if (listener->fd >= 0) {
        close(listener->fd);
    }
    if (listener->lock_fd >= 0) {
        close(listener->lock_fd); /* the file stays: unlinking it would let two daemons lock it */
    }
    free(listener->path);
    *listener = (struct listener)LISTENER_INIT;
}
