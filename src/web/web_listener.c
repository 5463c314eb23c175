#include "web/web_listener.h"

#include "base/memory.h"
#include "base/words.h"
#include "log/log.h"
#include "service/manager.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum {
    BACKLOG = 512,
    UNREAD_BYTES = 128 << 10, /* that the kernel keeps for a connection: else it takes megabytes */
};

#define SHOW_OTHERS "to show the page to others, put a proxy with a login before it"

union address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
    struct sockaddr_un un;
    struct sockaddr_storage storage;
};

/* ---- names ---- */

static bool is_loopback(const union address *address)
{
    return (address->any.sa_family == AF_INET &&
               ntohl(address->in.sin_addr.s_addr) >> 24 == 127) ||
        (address->any.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&address->in6.sin6_addr));
}

/* Of a socket that is bound. What is wrong with it; NULL: nothing. */
static const char *name_it(struct web_listener *listener)
{
    union address address = {0};
    socklen_t size = sizeof address;
    char text[INET6_ADDRSTRLEN];
    if (getsockname(listener->fd, &address.any, &size) < 0) {
        return strerror(errno);
    }
    if (address.any.sa_family == AF_UNIX) {
        snprintf(listener->name, sizeof listener->name, "%.*s", (int)sizeof address.un.sun_path,
            address.un.sun_path);
        return listener->name[0] == '/' ? NULL : "a Unix socket without an absolute path";
    }
    if (!is_loopback(&address)) {
        return "not one of loopback (127.0.0.1, ::1); " SHOW_OTHERS;
    }
    bool is_6 = address.any.sa_family == AF_INET6;
    inet_ntop(address.any.sa_family,
        is_6 ? (const void *)&address.in6.sin6_addr : (const void *)&address.in.sin_addr, text,
        sizeof text);
    snprintf(listener->name, sizeof listener->name, is_6 ? "http://[%s]:%u/" : "http://%s:%u/",
        text, (unsigned)ntohs(is_6 ? address.in6.sin6_port : address.in.sin_port));
    return NULL;
}

/* Connections get it from the socket that listens. */
static void bound_unread(const struct web_listener *listener)
{
    int bytes = UNREAD_BYTES;
    setsockopt(listener->fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

/* ---- one that was handed over ---- */

static const char *web_listener_look_at(struct web_listener *listener)
{
    int type = 0, listens = 0;
    socklen_t size = sizeof type;
    if (getsockopt(listener->fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0) {
        return strerror(errno);
    }
    size = sizeof listens;
    if (getsockopt(listener->fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) < 0 ||
        type != SOCK_STREAM || listens != 1) {
        return "not a stream socket that listens";
    }
    int flags = fcntl(listener->fd, F_GETFL);
    if (flags < 0 || fcntl(listener->fd, F_SETFL, flags | O_NONBLOCK) < 0) {
        return strerror(errno);
    }
    bound_unread(listener);
    return name_it(listener);
}

bool web_listener_take(struct web_listener *listener, bool *is_therep)
{
    *listener = (struct web_listener){.fd = -1};
    int n = manager_sockets();
    *is_therep = n > 0;
    if (n <= 0) {
        return n == 0;
    }
    if (n > 1) {
        log_error("%d sockets were passed: berth-web takes one", n);
        return false;
    }
    listener->fd = MANAGER_FIRST_FD;
    const char *wrong = web_listener_look_at(listener);
    if (wrong) {
        log_error("the socket passed is %s", wrong);
    }
    return !wrong;
}

/* ---- one of our own ---- */

/* False: malformed. */
static bool parse_address(const char *text, union address *address, socklen_t *sizep)
{
    char host[64];
    uint64_t port;
    const char *colon = strrchr(text, ':');
    bool is_6 = text[0] == '[' && colon && colon[-1] == ']';
    size_t n = colon ? (size_t)(colon - text) - (is_6 ? 2 : 0) : 0;
    if (n == 0 || n >= sizeof host || !number_parse(colon + 1, 65535, &port)) {
        return false;
    }
    memcpy(host, text + is_6, n);
    host[n] = '\0';
    if (is_6) {
        address->in6.sin6_family = AF_INET6;
        address->in6.sin6_port = htons((uint16_t)port);
        *sizep = sizeof address->in6;
        return inet_pton(AF_INET6, host, &address->in6.sin6_addr) == 1;
    }
    address->in.sin_family = AF_INET;
    address->in.sin_port = htons((uint16_t)port);
    *sizep = sizeof address->in;
    const char *digits = strcmp(host, "localhost") == 0 ? "127.0.0.1" : host;
    return inet_pton(AF_INET, digits, &address->in.sin_addr) == 1;
}

static bool make_socket(struct web_listener *listener, const char *listen_at,
    const union address *address, socklen_t size)
{
    int family = address->any.sa_family, on = 1;
    listener->fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener->fd >= 0 && family != AF_UNIX) {
        setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    }
    /* Whoever may look at the status of berthd may look at the page. */
    if (listener->fd < 0 || (family == AF_UNIX && fchmod(listener->fd, 0666) < 0) ||
        bind(listener->fd, &address->any, size) < 0 || listen(listener->fd, BACKLOG) < 0) {
        log_error("cannot listen at %s: %s%s", listen_at, strerror(errno),
            errno == EADDRINUSE ? " (is berth-web.socket active? else choose another port)" : "");
        return false;
    }
    return true;
}

/* A socket that nobody serves any more makes room; all else stays. */
static bool clear_stale(const char *path, const union address *address)
{
    struct stat status;
    if (lstat(path, &status) < 0) {
        return true; /* bind() says what is wrong */
    }
    int fd = S_ISSOCK(status.st_mode)
        ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)
        : -1;
    bool is_stale = fd >= 0 && connect(fd, &address->any, sizeof address->un) < 0 &&
        errno == ECONNREFUSED && unlink(path) == 0;
    if (fd >= 0) {
        close(fd);
    }
    if (!is_stale) {
        log_error("%s: %s; left alone", path,
            S_ISSOCK(status.st_mode) ? "another process serves it" : "is not a socket");
    }
    return is_stale;
}

static bool open_path(struct web_listener *listener, const char *path)
{
    union address address = {.un = {.sun_family = AF_UNIX}};
    struct stat status;
    if (strlen(path) >= sizeof address.un.sun_path) {
        log_error("%s: a socket's path has at most %zu bytes", path,
            sizeof address.un.sun_path - 1);
        return false;
    }
    strcpy(address.un.sun_path, path);
    mode_t umask_before = umask(0);
    bool is_made = clear_stale(path, &address) &&
        make_socket(listener, path, &address, sizeof address.un);
    umask(umask_before);
    if (is_made && stat(path, &status) == 0) {
        listener->path = memory_string(path);
        listener->device = status.st_dev;
        listener->inode = status.st_ino;
    }
    return is_made;
}

const char *web_listener_explain(const char *listen_at)
{
    union address address = {0};
    socklen_t size = 0;
    if (listen_at[0] == '/') {
        return NULL;
    }
    if (!parse_address(listen_at, &address, &size)) {
        return "expected ADDRESS:PORT, such as " WEB_LISTEN_DEFAULT ", or an absolute path";
    }
    return is_loopback(&address)
        ? NULL
        : "the address is not one of loopback (127.0.0.1, ::1); " SHOW_OTHERS;
}

static bool open_address(struct web_listener *listener, const char *text)
{
    union address address = {0};
    socklen_t size = 0;
    return parse_address(text, &address, &size) && make_socket(listener, text, &address, size);
}

bool web_listener_open(struct web_listener *listener, const char *listen_at)
{
    *listener = (struct web_listener){.fd = -1};
    if (!(listen_at[0] == '/' ? open_path : open_address)(listener, listen_at)) {
        return false;
    }
    bound_unread(listener);
    const char *wrong = name_it(listener);
    if (wrong) {
        log_error("%s: %s", listen_at, wrong);
    }
    return !wrong;
}

void web_listener_close(struct web_listener *listener)
{
    struct stat status;
    if (listener->path && lstat(listener->path, &status) == 0 &&
        status.st_dev == listener->device && status.st_ino == listener->inode) {
        unlink(listener->path);
    }
    free(listener->path);
    listener->path = NULL;
}
