#include "client_help.h"

#include "scratch.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct stage stage;

static void listen_there(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "s"};
    memcpy(stage.endpoint.path, address.sun_path, sizeof address.sun_path);
    stage.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    cr_assert_eq(bind(stage.listener, (const struct sockaddr *)&address, sizeof address), 0);
    cr_assert_eq(listen(stage.listener, 8), 0);
}

void stage_setup(void)
{
    scratch_begin();
    listen_there();
    stage.said = memfd_create("said", MFD_CLOEXEC);
    dup2(stage.said, STDERR_FILENO);
    unsetenv("BERTH_LEASE");
    stage_open();
}

void stage_open(void)
{
    stage.options = (struct options){
        .wanted = {{"r", 1, 1}},
        .n_wanted = 1,
        .wait = NEVER,
        .down_after = 5 * S,
        .conflict_status = -1,
        .kill_after = NEVER,
        .on_lost = ON_LOST_NOT_SAID,
        .nested = NESTED_NOT_SAID,
        .ttl = NEVER,
    };
    stage.connection.fd = stage.peer = -1;
}

void stage_begin(void)
{
    stage.acquisition = (struct acquisition){0};
    acquisition_init(&stage.acquisition, &stage.options, &stage.endpoint, &stage.connection, 42, T);
}

void stage_no_berthd(void)
{
    close(stage.listener);
    stage_hang_up();
}

enum acquisition_result stage_step(nanoseconds now)
{
    return acquisition_step(&stage.acquisition, stage.connection.fd >= 0, now);
}

const char *stage_line(void)
{
    size_t n = 0;
    /* berth has connected and sent before its step returned: nothing is on its way. */
    int fd = accept4(stage.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
        stage_hang_up();
        stage.peer = fd;
    }
    while (n < LINE_BYTES && recv(stage.peer, stage.line + n, 1, 0) == 1 && stage.line[n] != '\n') {
        n++;
    }
    stage.line[n] = '\0';
    return stage.line;
}

void stage_say(const char *text)
{
    cr_assert_eq(send(stage.peer, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

enum acquisition_result stage_hear(const char *text, nanoseconds now)
{
    stage_say(text);
    return stage_step(now);
}

void stage_hang_up(void)
{
    if (stage.peer >= 0) {
        close(stage.peer);
    }
    stage.peer = -1;
}

const char *stage_said(void)
{
    static char text[4096];
    ssize_t n = pread(stage.said, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    cr_assert_eq(ftruncate(stage.said, 0), 0);
    lseek(stage.said, 0, SEEK_SET);
    return text;
}
