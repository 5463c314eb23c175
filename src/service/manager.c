#include "service/manager.h"

#include "config.h"
#include "log/log_fields.h"

#include <stdlib.h>

#ifdef HAVE_SYSTEMD

#include <poll.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

/* The journal is not to get the lines of our source. */
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

#define NOT_STARTED_PAUSE_MS 2000

int manager_sockets(void)
{
    int n = sd_listen_fds(0);
    if (n < 0) {
        log_error("cannot use the sockets passed in LISTEN_FDS: %s", strerror(-n));
    }
    return n;
}

bool manager_is_there(void)
{
    return getenv("NOTIFY_SOCKET") != NULL;
}

/* libsystemd's sockets wait while the other side's queue is full, which takes long if that side
 * hangs. Between this look and the message another process may take the last place: then the
 * watchdog ends us, and the next berthd finds the queue full. */
static bool takes_datagrams(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (length >= sizeof address.sun_path) {
        return false;
    }
    memcpy(address.sun_path, path, length);
    if (path[0] == '@') {
        address.sun_path[0] = '\0'; /* abstract */
    }
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct pollfd other = {.fd = fd, .events = POLLOUT};
    bool takes = fd >= 0 && connect(fd, (const struct sockaddr *)&address, size) == 0 &&
        poll(&other, 1, 0) == 1;
    if (fd >= 0) {
        close(fd);
    }
    return takes;
}

bool manager_notify(const char *assignments)
{
    const char *path = getenv("NOTIFY_SOCKET");
    return path && takes_datagrams(path) && sd_notify(0, assignments) > 0;
}

nanoseconds manager_watchdog(void)
{
    uint64_t microseconds;
    return sd_watchdog_enabled(0, &microseconds) > 0 && microseconds < INT64_MAX / 1000
        ? (nanoseconds)microseconds * 1000
        : 0;
}

bool manager_log(enum log_level level, const char *text, const struct log_subject *subject)
{
    struct log_fields fields;
    if (!takes_datagrams("/run/systemd/journal/socket")) {
        return false;
    }
    log_fields_fill(&fields, level, text, subject);
    return sd_journal_sendv(fields.list, fields.n) == 0;
}

/* For whom we would be started again at once, which systemd does a few times and then closes the
 * socket. */
static bool client_waits(void)
{
    struct pollfd socket = {.fd = MANAGER_FIRST_FD, .events = POLLIN};
    return sd_listen_fds(0) > 0 && poll(&socket, 1, 0) == 1;
}

void manager_not_started(const char *why)
{
    char text[512];
    if (manager_is_there()) {
        log_escape(text, sizeof text, why);
        sd_notifyf(0, "STATUS=not started: %s", text);
    }
    if (client_waits()) {
        poll(NULL, 0, NOT_STARTED_PAUSE_MS);
    }
}

#else

#include "base/words.h"

#include <unistd.h>

/* Checks as sd_listen_fds(3) does whether the sockets are for us. */
int manager_sockets(void)
{
    const char *pid = getenv("LISTEN_PID");
    uint64_t number;
    if (!getenv("LISTEN_FDS") || !pid || !number_parse(pid, INT32_MAX, &number) ||
        (pid_t)number != getpid()) {
        return 0;
    }
    log_error("a socket was passed (LISTEN_FDS), but this program is built without libsystemd");
    return -1;
}

bool manager_is_there(void)
{
    if (getenv("NOTIFY_SOCKET")) {
        log_warning(
            "NOTIFY_SOCKET is set, but this program is built without libsystemd and cannot "
            "report that it is ready");
    }
    return false;
}

bool manager_notify(const char *assignments)
{
    (void)assignments;
    return false;
}

nanoseconds manager_watchdog(void)
{
    return 0;
}

bool manager_log(enum log_level level, const char *text, const struct log_subject *subject)
{
    (void)level, (void)text, (void)subject;
    return false;
}

void manager_not_started(const char *why)
{
    (void)why;
}

#endif
