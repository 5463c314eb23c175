#include "client/live_line.h"

#include "client/message.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define TO_THE_LEFT "\r"
#define ERASE_THE_REST "\033[K"

enum { USUAL_WIDTH = 80 };

static bool is_shown;

bool live_line_has_terminal(void)
{
    const char *kind = getenv("TERM");
    return kind && kind[0] && strcmp(kind, "dumb") != 0 && isatty(STDERR_FILENO);
}

bool live_line_is_possible(void)
{
    return live_line_has_terminal() && tcgetpgrp(STDERR_FILENO) == getpid();
}

bool stderr_would_block(void)
{
    struct pollfd polled = {.fd = STDERR_FILENO, .events = POLLOUT};
    return poll(&polled, 1, 0) == 0;
}

size_t terminal_width(int fd)
{
    struct winsize size;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : USUAL_WIDTH;
}

static void put(const char *text, size_t length)
{
    int saved_errno = errno;
    ssize_t written = write(STDERR_FILENO, text, length);
    (void)written; /* there is nowhere to complain */
    errno = saved_errno;
}

void live_line_show(const char *text)
{
    char shown[256], line[sizeof shown + sizeof TO_THE_LEFT ERASE_THE_REST];
    if (!live_line_is_possible() || stderr_would_block()) {
        return;
    }
    snprintf(shown, sizeof shown, "berth: %s", text);
    /* In the last column the terminal would erase what it has just shown, or begin a line. */
    int width = (int)terminal_width(STDERR_FILENO) - 1;
    int length = snprintf(line, sizeof line, TO_THE_LEFT "%.*s" ERASE_THE_REST, width, shown);
    put(line, (size_t)length);
    is_shown = true;
    message_precede_by(live_line_clear);
}

void live_line_clear(void)
{
    static const char erase[] = TO_THE_LEFT ERASE_THE_REST;
    if (!is_shown) {
        return;
    }
    is_shown = false;
    if (!stderr_would_block()) {
        put(erase, sizeof erase - 1);
    }
}
