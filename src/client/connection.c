#include "client/connection.h"

#include <errno.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* The user that the system's daemon may run as. */
static const char daemon_user[] = "berth";

static bool is_trusted(uid_t uid)
{
    if (uid == 0 || uid == geteuid()) {
        return true;
    }
    struct passwd *user = getpwnam(daemon_user); /* last: the name service may be slow */
    return user && uid == user->pw_uid;
}

int connection_open(struct connection *connection, const struct endpoint *endpoint)
{
    connection_close(connection);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0) {
        return errno;
    }
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    memcpy(address.sun_path, endpoint->path, sizeof address.sun_path);

    struct ucred peer;
    socklen_t size = sizeof peer;
    int error = 0;
    if (connect(fd, (const struct sockaddr *)&address, sizeof address) != 0 ||
        getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) {
        error = errno;
    } else if (!is_trusted(peer.uid)) {
        error = EPERM;
    }
    if (error != 0) {
        close(fd);
        return error;
    }
    connection->fd = fd;
    return 0;
}

void connection_close(struct connection *connection)
{
    if (connection->fd >= 0) {
        close(connection->fd);
    }
    connection->fd = -1;
    linebuf_deinit(&connection->lines);
}

/* NULL: nobody can know. */
static const char *how_to_start(const struct endpoint *endpoint, int error)
{
    struct endpoint own;
    if (error != ENOENT && error != ECONNREFUSED) {
        return NULL;
    }
    if (strcmp(endpoint->path, ENDPOINT_DEFAULT) == 0) {
        return "start it: systemctl start berthd";
    }
    if (endpoint_of_user(&own) && strcmp(endpoint->path, own.path) == 0) {
        return "start it: systemctl --user start berthd";
    }
    return error == ECONNREFUSED ? "no berthd is listening there; start it: berthd -c FILE"
                                 : "is -S or BERTH_SOCKET right? Else start it: berthd -c FILE";
}

void connection_explain(const struct endpoint *endpoint, int error, char *out, size_t size)
{
    struct endpoint own;
    if (error == EPERM) {
        snprintf(out, size, "the server at %s runs neither as root, nor as berth, nor as you",
            endpoint->path);
    } else if (error == ENOENT && endpoint->is_default && endpoint_of_user(&own) &&
        access(own.path, F_OK) == 0) {
        snprintf(out, size, "cannot connect to %s: %s (but %s exists: -S user)", endpoint->path,
            strerror(error), own.path);
    } else {
        const char *hint = how_to_start(endpoint, error);
        snprintf(out, size, "cannot connect to %s: %s%s%s%s", endpoint->path, strerror(error),
            hint ? " (" : "", hint ? hint : "", hint ? ")" : "");
    }
}

bool connection_send(struct connection *connection, const char *line, size_t n)
{
    return send(connection->fd, line, n, MSG_NOSIGNAL) == (ssize_t)n;
}

static bool take_bytes(struct connection *connection, ssize_t n)
{
    if (n < 0) {
        return errno == EAGAIN || errno == EINTR;
    }
    return n > 0 && linebuf_feed(&connection->lines, connection->bytes, (size_t)n);
}

bool connection_read(struct connection *connection)
{
    return linebuf_keep(&connection->lines) &&
        take_bytes(connection,
            recv(connection->fd, connection->bytes, sizeof connection->bytes, 0));
}

bool connection_read_passed(struct connection *connection, int *fdp)
{
    union {
        char bytes[CMSG_SPACE(sizeof *fdp)]; /* one: the kernel closes further ones */
        struct cmsghdr header;
    } control;
    struct iovec bytes = {.iov_base = connection->bytes, .iov_len = sizeof connection->bytes};
    struct msghdr message = {.msg_iov = &bytes,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof control};
    *fdp = -1;
    if (!linebuf_keep(&connection->lines)) {
        return false;
    }
    ssize_t n = recvmsg(connection->fd, &message, MSG_CMSG_CLOEXEC);
    const struct cmsghdr *passed = n > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    if (passed && passed->cmsg_level == SOL_SOCKET && passed->cmsg_type == SCM_RIGHTS) {
        memcpy(fdp, CMSG_DATA(passed), sizeof *fdp);
    }
    return take_bytes(connection, n);
}

static bool is_clean(const char *line, size_t length)
{
    size_t i = 0;
    while (i < length && line[i] >= ' ' && line[i] <= '~') {
        i++;
    }
    return i == length && length > 0;
}

enum connection_line connection_next(struct connection *connection, char **linep)
{
    size_t length;
    switch (linebuf_next(&connection->lines, linep, &length)) {
    case LINE_MORE:
        return CONNECTION_MORE;
    case LINE_OK:
        return is_clean(*linep, length) ? CONNECTION_LINE : CONNECTION_GARBAGE;
    case LINE_TOO_LONG:
        break;
    }
    return CONNECTION_GARBAGE;
}

enum connection_taken connection_take(
    struct connection *connection, answer_taker *take, void *object)
{
    char *line;
    enum connection_line got;
    bool goes_on = connection_read(connection);
    while ((got = connection_next(connection, &line)) == CONNECTION_LINE) {
        enum answer_result result = take(object, line);
        if (result != ANSWER_MORE) {
            return result == ANSWER_END ? TAKEN_ALL : TAKEN_NONSENSE;
        }
    }
    return got == CONNECTION_GARBAGE ? TAKEN_NONSENSE : goes_on ? TAKEN_MORE : TAKEN_CLOSED;
}

int poll_until(struct pollfd fds[], size_t n, nanoseconds until)
{
    nanoseconds left = until == NEVER ? 0 : later(until - clock_now(), 0);
    const struct timespec timeout = {
        .tv_sec = left / NANOSECONDS_PER_SECOND, .tv_nsec = left % NANOSECONDS_PER_SECOND};
    return ppoll(fds, n, until == NEVER ? NULL : &timeout, NULL);
}

enum connection_line connection_wait_line(
    struct connection *connection, char **linep, nanoseconds deadline)
{
    for (;;) {
        if (deadline <= clock_now()) {
            return CONNECTION_MORE; /* even if there are lines, which may never end */
        }
        enum connection_line line = connection_next(connection, linep);
        if (line != CONNECTION_MORE) {
            return line;
        }
        struct pollfd readable = {.fd = connection->fd, .events = POLLIN};
        if (poll_until(&readable, 1, deadline) > 0 && !connection_read(connection)) {
            return CONNECTION_MORE;
        }
    }
}
