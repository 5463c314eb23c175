#include "client_help.h"

#include "scratch.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct stage the_stage;

static void listen_there(struct stage *stage)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "s"};
    memcpy(stage->endpoint.path, address.sun_path, sizeof address.sun_path);
    stage->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    cr_assert_eq(bind(stage->listener, (const struct sockaddr *)&address, sizeof address), 0);
    cr_assert_eq(listen(stage->listener, 8), 0);
}

void stage_setup(void)
{
    scratch_begin();
    listen_there(&the_stage);
    the_stage.said = memfd_create("said", MFD_CLOEXEC);
    dup2(the_stage.said, STDERR_FILENO);
    unsetenv("BERTH_LEASE");
}

struct stage *stage_open(void)
{
    struct stage *stage = &the_stage;
    stage->options = (struct options){
        .wanted = {{"r", 1, 1}},
        .n_wanted = 1,
        .wait = NEVER,
        .down_after = 5 * S,
        .conflict_status = -1,
        .kill_after = NEVER,
        .on_lost = ON_LOST_NOT_SAID,
        .ttl = NEVER,
    };
    stage->connection.fd = stage->peer = -1;
    return stage;
}

void stage_begin(struct stage *stage)
{
    stage->acquisition = (struct acquisition){0};
    acquisition_init(
        &stage->acquisition, &stage->options, &stage->endpoint, &stage->connection, 42, T);
}

void stage_no_berthd(struct stage *stage)
{
    close(stage->listener);
    stage_hang_up(stage);
}

enum acquisition_result stage_step(struct stage *stage, nanoseconds now)
{
    return acquisition_step(&stage->acquisition, stage->connection.fd >= 0, now);
}

const char *stage_line(struct stage *stage)
{
    size_t n = 0;
    /* berth has connected and sent before its step returned: nothing is on its way. */
    int fd = accept4(stage->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd >= 0) {
        stage_hang_up(stage);
        stage->peer = fd;
    }
    while (n < LINE_BYTES && recv(stage->peer, stage->line + n, 1, 0) == 1 &&
        stage->line[n] != '\n') {
        n++;
    }
    stage->line[n] = '\0';
    return stage->line;
}

void stage_say(struct stage *stage, const char *text)
{
    cr_assert_eq(send(stage->peer, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

void stage_hang_up(struct stage *stage)
{
    if (stage->peer >= 0) {
        close(stage->peer);
    }
    stage->peer = -1;
}

const char *stage_said(struct stage *stage)
{
    static char text[4096];
    ssize_t n = pread(stage->said, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = '\0';
    cr_assert_eq(ftruncate(stage->said, 0), 0);
    lseek(stage->said, 0, SEEK_SET);
    return text;
}
