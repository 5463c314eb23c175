#include "history/visitors.h"

#include "admission/peer.h"
#include "base/memory.h"
#include "config.h"
#include "status/answer_lines.h"
#include "wire/linebuf.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_ACCEPTS = 16, ENOUGH_BYTES = 64 << 10, GROUPS_BYTES = 3840, NOBODY = 65534 };

#define SILENT_FOR (60 * NANOSECONDS_PER_SECOND) /* without a request, or without reading */
#define SIGHT_FOR (5 * NANOSECONDS_PER_SECOND) /* what a user may see is asked again after */
#define WORK_FOR (5 * NANOSECONDS_PER_MILLISECOND) /* on one answer, in a turn */
/* Before an answer, others meanwhile. Those who ask give up after 2 s: this and two questions to a
 * berthd that hangs (berthd_link_ask_sight()) take less. */
#define DRAIN_FOR (500 * NANOSECONDS_PER_MILLISECOND)

struct visitor {
    uv_pipe_t pipe;
    uv_write_t write;
    struct visitors *visitors;
    int fd; /* the pipe's */
    uint32_t uid;
    struct linebuf lines;
    char bytes[LINE_BYTES]; /* lent to `lines` */
    struct text out; /* being written */
    bool is_writing, has_ended; /* no more requests come */
    struct question *question; /* that is being answered */
    struct copy *copy; /* from which it is; NULL: from what ended here */
    bool is_draining; /* before it is */
    struct sight sight;
    nanoseconds sight_at, active_at;
};

static void go_on_with(struct visitor *visitor);

/* ---- life of one ---- */

static void free_visitor(uv_handle_t *handle)
{
    struct visitor *visitor = container_of((uv_pipe_t *)handle, struct visitor, pipe);
    linebuf_deinit(&visitor->lines);
    text_deinit(&visitor->out);
    question_free(visitor->question);
    sight_deinit(&visitor->sight);
    free(visitor);
}

static void leave(struct visitor *visitor)
{
    struct visitors *visitors = visitor->visitors;
    for (size_t i = 0; i < MAX_VISITORS; i++) {
        if (visitors->list[i] == visitor) {
            visitors->list[i] = NULL;
            uv_close((uv_handle_t *)&visitor->pipe, free_visitor);
        }
    }
}

/* ---- requests ---- */

/* Whether who is in the view group, and nothing else, sees all: that a member does may be for
 * another reason. */
static void learn_of_viewers(struct visitors *visitors)
{
    struct sight sight = {0};
    char group[16];
    snprintf(group, sizeof group, "%u", visitors->view_group);
    if (berthd_link_ask_sight(visitors->link, NOBODY, group, &sight)) {
        visitors->viewers_see_all = sight.sees_all;
    }
    sight_deinit(&sight);
}

/* What the user may see, as berthd says it; while it is down: one's own, and who saw all before
 * sees all. */
static void look_at_rights(struct visitor *visitor, nanoseconds now)
{
    struct text groups = TEXT_INIT;
    struct visitors *visitors = visitor->visitors;
    size_t n = 0;
    bool is_viewer = false;
    if (visitor->sight.is_known && now - visitor->sight_at < SIGHT_FOR) {
        return;
    }
    gid_t *gids = peer_groups(visitor->fd, &n);
    text_add(&groups, "");
    for (size_t i = 0; gids && i < n; i++) {
        is_viewer |= gids[i] == visitors->view_group;
        if (groups.length < GROUPS_BYTES) { /* as many as berthd takes in a line */
            text_add_format(&groups, "%s%u", i > 0 ? "," : "", gids[i]);
        }
    }
    free(gids);
    sight_deinit(&visitor->sight);
    if (!berthd_link_ask_sight(visitors->link, visitor->uid, groups.bytes, &visitor->sight)) {
        sight_deinit(&visitor->sight);
        visitor->sight.sees_all = visitor->uid == 0 || (is_viewer && visitors->viewers_see_all);
    } else if (is_viewer) {
        learn_of_viewers(visitors);
    }
    visitor->sight_at = now;
    text_deinit(&groups);
}

static void begin_question(
    struct visitor *visitor, const struct request *request, bool wants_figures)
{
    const char *wrong, *database = request->keys[KEY_INDEX_database];
    visitor->copy = database ? copies_find(visitor->visitors->copies, database) : NULL;
    if (database && (!visitor->copy || visitor->copy->days.n == 0)) {
        answer_error_saying(&visitor->out, CODE_UNKNOWN, "that database is not copied");
        return;
    }
    visitor->question = question_new(request, wants_figures, visitor->uid,
        (int64_t)milliseconds(clock_wall_now()), &wrong);
    if (!visitor->question) {
        answer_error(&visitor->out, CODE_BAD_VALUE, wrong);
    }
    visitor->is_draining = true;
    visitor->active_at = clock_now();
}

static struct days *days_asked(const struct visitor *visitor)
{
    return visitor->copy ? &visitor->copy->days : visitor->visitors->days;
}

/* What has just ended is to be in the answer; while much ends, or berthd is slow, what there is
 * time for. */
static void drain_first(struct visitor *visitor, nanoseconds now)
{
    struct visitors *visitors = visitor->visitors;
    bool has_more =
        visitor->copy ? copies_await(visitors->copies, visitor->copy, visitor->active_at)
                      : berthd_link_await_ring(visitors->link) ||
            drain_step(visitors->drain) == DRAIN_MORE;
    visitor->is_draining = has_more && now < visitor->active_at + DRAIN_FOR;
    if (!visitor->is_draining && !visitor->question->wants_figures) {
        look_at_rights(visitor, now);
    }
    if (!visitor->is_draining) {
        question_begin(visitor->question, days_asked(visitor));
        visitor->question->database = visitor->copy ? visitor->copy->name : NULL;
        visitor->question->cut_at =
            visitor->copy ? copy_cut(visitor->copy, visitor->active_at) : 0;
    }
}

static void say_hello(struct visitor *visitor)
{
    const struct copies *copies = visitor->visitors->copies;
    text_add_format(&visitor->out, "ok proto=%d version=%s pid=%d", PROTOCOL_VERSION,
        PACKAGE_VERSION, (int)getpid());
    for (size_t i = 0; i < copies->n; i++) {
        text_add(&visitor->out, i > 0 ? "," : " databases=");
        text_add_encoded(&visitor->out, copies->list[i]->name);
    }
    text_add(&visitor->out, "\n");
}

static void take_line(struct visitor *visitor, char *line, size_t length)
{
    static const char figures[] = "stats"; /* is not for berthd, and has the keys of `history` */
    struct request request;
    const char *detail;
    struct text history = TEXT_INIT;
    bool wants_figures = strcspn(line, " ") == strlen(figures) &&
        strncmp(line, figures, strlen(figures)) == 0;
    if (wants_figures) {
        text_add(&history, command_table[COMMAND_history].word);
        text_add_bytes(&history, line + strlen(figures), length - strlen(figures));
        line = history.bytes;
        length = history.length;
    }
    enum code code = request_parse(line, length, &request, &detail);
    if (code != CODE_NONE) {
        answer_error(&visitor->out, code, detail);
    } else if (request.command == COMMAND_history) {
        begin_question(visitor, &request, wants_figures);
    } else if (request.command == COMMAND_hello) {
        say_hello(visitor);
    } else if (request.command == COMMAND_ping) {
        text_add(&visitor->out, "ok\n");
    } else {
        answer_error_saying(&visitor->out, CODE_UNKNOWN_COMMAND, "berthd answers that");
    }
    text_deinit(&history);
}

/* Lines one after the other, as answers are ready. */
static void take_lines(struct visitor *visitor)
{
    char *line;
    size_t length;
    enum line_result got = LINE_OK;
    while (!visitor->question && visitor->out.length < ENOUGH_BYTES && got != LINE_MORE) {
        got = linebuf_next(&visitor->lines, &line, &length);
        if (got == LINE_TOO_LONG) {
            answer_error(&visitor->out, CODE_TOO_LONG, NULL);
        } else if (got == LINE_OK) {
            take_line(visitor, line, length);
        }
    }
}

/* ---- turns ---- */

static void lend_bytes(uv_handle_t *handle, size_t size, uv_buf_t *buffer)
{
    struct visitor *visitor = container_of((uv_pipe_t *)handle, struct visitor, pipe);
    (void)size;
    bool is_kept = linebuf_keep(&visitor->lines);
    *buffer = uv_buf_init(visitor->bytes, is_kept ? sizeof visitor->bytes : 0);
}

static void on_bytes(uv_stream_t *stream, ssize_t n, const uv_buf_t *buffer)
{
    struct visitor *visitor = container_of((uv_pipe_t *)stream, struct visitor, pipe);
    (void)buffer;
    visitor->has_ended = n == UV_EOF;
    if (n < 0 && n != UV_EOF) {
        leave(visitor);
    } else if (n == UV_EOF || linebuf_feed(&visitor->lines, visitor->bytes, (size_t)n)) {
        visitor->active_at = clock_now();
        go_on_with(visitor);
    }
}

static void on_written(uv_write_t *write, int status)
{
    struct visitor *visitor = container_of(write, struct visitor, write);
    visitor->is_writing = false;
    visitor->out.length = 0;
    visitor->active_at = clock_now();
    if (status < 0) {
        leave(visitor);
    } else if (!uv_is_closing((uv_handle_t *)&visitor->pipe)) {
        go_on_with(visitor);
    }
}

static void on_idle(uv_idle_t *idle)
{
    struct visitors *visitors = container_of(idle, struct visitors, idle);
    uv_idle_stop(idle);
    for (size_t i = 0; i < MAX_VISITORS; i++) {
        if (visitors->list[i] && visitors->list[i]->question) {
            go_on_with(visitors->list[i]);
        }
    }
}

static void answer_some(struct visitor *visitor)
{
    nanoseconds now = clock_now(), until = now + WORK_FOR;
    for (; visitor->question && visitor->out.length < ENOUGH_BYTES && now < until;
         now = clock_now()) {
        if (visitor->is_draining) {
            drain_first(visitor, now);
        } else if (!question_go_on(visitor->question, days_asked(visitor), &visitor->sight,
                       &visitor->out, ENOUGH_BYTES)) {
            question_free(visitor->question);
            visitor->question = NULL;
        }
    }
}

/* Answers, sends it, and reads again when all is sent. */
static void go_on_with(struct visitor *visitor)
{
    uv_stream_t *stream = (uv_stream_t *)&visitor->pipe;
    if (visitor->is_writing) {
        return;
    }
    take_lines(visitor);
    if (visitor->question) {
        answer_some(visitor);
    }
    if (visitor->out.length > 0) {
        uv_buf_t buffer = uv_buf_init(visitor->out.bytes, (unsigned)visitor->out.length);
        visitor->is_writing = true;
        uv_read_stop(stream);
        if (uv_write(&visitor->write, stream, &buffer, 1, on_written) < 0) {
            leave(visitor);
        }
    } else if (visitor->question) {
        uv_idle_start(&visitor->visitors->idle, on_idle);
    } else if (visitor->has_ended) {
        leave(visitor);
    } else {
        uv_read_start(stream, lend_bytes, on_bytes);
    }
}

void visitors_look(struct visitors *visitors, nanoseconds now)
{
    for (size_t i = 0; i < MAX_VISITORS; i++) {
        struct visitor *visitor = visitors->list[i];
        bool is_silent = visitor && (!visitor->question || visitor->is_writing);
        if (is_silent && now - visitor->active_at > SILENT_FOR) {
            leave(visitor);
        }
    }
}

/* ---- who comes in ---- */

/* NULL: there is room for them. */
static const char *refusal(const struct visitors *visitors, uid_t uid, size_t *placep)
{
    size_t n_of_user = 0;
    *placep = MAX_VISITORS;
    for (size_t i = 0; i < MAX_VISITORS; i++) {
        const struct visitor *visitor = visitors->list[i];
        n_of_user += visitor && visitor->uid == uid;
        *placep = visitor ? *placep : i;
    }
    return n_of_user >= MAX_VISITORS_OF_USER ? "too many connections of this user"
        : *placep == MAX_VISITORS            ? "too many connections"
                                             : NULL;
}

static void take_in(struct visitors *visitors, int fd)
{
    struct peer peer = {0};
    struct text line = TEXT_INIT;
    size_t place;
    const char *why = peer_read(fd, &peer) ? refusal(visitors, peer.uid, &place)
                                           : "the kernel does not say who asks";
    if (why) {
        answer_error_saying(&line, CODE_BUSY, "%s", why);
        send(fd, line.bytes, line.length, MSG_NOSIGNAL);
        text_deinit(&line);
        close(fd);
        return;
    }
    struct visitor *visitor = memory_new(sizeof *visitor);
    *visitor = (struct visitor){
        .visitors = visitors, .fd = fd, .uid = peer.uid, .active_at = clock_now()};
    visitors->list[place] = visitor;
    uv_pipe_init(visitors->loop, &visitor->pipe, 0);
    uv_pipe_open(&visitor->pipe, fd);
    go_on_with(visitor);
}

/* Not by uv_listen(): its loop would keep us for as long as clients connect without end. */
static void on_connection(uv_poll_t *poll, int status, int events)
{
    struct visitors *visitors = container_of(poll, struct visitors, listening);
    int listening, fd;
    (void)status, (void)events;
    uv_fileno((uv_handle_t *)poll, &listening);
    for (int n = 0; n < MAX_ACCEPTS &&
         (fd = accept4(listening, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;
         n++) {
        take_in(visitors, fd);
    }
}

void visitors_begin(struct visitors *visitors, int fd)
{
    uv_idle_init(visitors->loop, &visitors->idle);
    if (uv_poll_init(visitors->loop, &visitors->listening, fd) != 0) {
        abort(); /* a socket can be polled */
    }
    uv_poll_start(&visitors->listening, UV_READABLE, on_connection);
}

void visitors_end(struct visitors *visitors)
{
    uv_close((uv_handle_t *)&visitors->listening, NULL);
    uv_close((uv_handle_t *)&visitors->idle, NULL);
    for (size_t i = 0; i < MAX_VISITORS; i++) {
        if (visitors->list[i]) {
            leave(visitors->list[i]);
        }
    }
}
