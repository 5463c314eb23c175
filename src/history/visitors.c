#include "history/visitors.h"

#include "admission/peer.h"
#include "base/clock.h"
#include "base/memory.h"
#include "config.h"
#include "log/log.h"
#include "status/answer_lines.h"
#include "wire/linebuf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_ACCEPTS = 16, ENOUGH_BYTES = 64 << 10 };

#define SILENT_FOR (60 * NANOSECONDS_PER_SECOND) /* without a request, or without reading */
#define SIGHT_PATIENCE (2 * NANOSECONDS_PER_SECOND)

struct visitor {
    uv_poll_t poll;
    struct visitors *visitors;
    int fd;
    struct sight_user user;
    bool is_viewer; /* sees all when berthd is down */
    struct linebuf lines;
    char bytes[LINE_BYTES]; /* lent to `lines` */
    struct text out;
    size_t sent;
    struct question *question; /* that is being answered */
    bool has_sight; /* the question waits no more */
    nanoseconds asked_at;
    nanoseconds active_at;
    bool has_ended; /* no more requests come */
};

static void on_visitor(uv_poll_t *poll, int status, int events);

/* ---- life of one ---- */

static void free_visitor(uv_handle_t *handle)
{
    struct visitor *visitor = container_of((uv_poll_t *)handle, struct visitor, poll);
    close(visitor->fd);
    linebuf_deinit(&visitor->lines);
    text_deinit(&visitor->out);
    question_free(visitor->question);
    free(visitor->user.groups);
    free(visitor);
}

static void leave(struct visitor *visitor)
{
    struct visitors *visitors = visitor->visitors;
    for (size_t i = 0; i < MAX_VISITORS; i++) {
        if (visitors->list[i] == visitor) {
            visitors->list[i] = NULL;
            uv_close((uv_handle_t *)&visitor->poll, free_visitor);
        }
    }
}

/* As many as berthd takes in a line. False: the kernel does not say which. */
static bool read_groups(struct visitor *visitor)
{
    size_t n = 0;
    gid_t *gids = peer_groups(visitor->fd, &n);
    struct text groups = TEXT_INIT;
    text_add(&groups, "");
    for (size_t i = 0; i < n && groups.length < GROUPS_BYTES; i++) {
        text_add_format(&groups, "%s%u", i > 0 ? "," : "", gids[i]);
        visitor->is_viewer |= gids[i] == visitor->visitors->view_group;
    }
    visitor->user.groups = text_take(&groups);
    bool is_known = gids;
    free(gids);
    return is_known;
}

/* ---- answers ---- */

/* Of a user of whom berthd says nothing. */
static const struct sight *sight_without_berthd(const struct visitor *visitor)
{
    static const struct sight all = {.sees_all = true}, own;
    return visitor->user.uid == 0 || visitor->is_viewer ? &all : &own;
}

/* NULL: not yet. */
static const struct sight *sight_of(struct visitor *visitor, nanoseconds now)
{
    bool waits;
    const struct sight *sight =
        berthd_link_sight(visitor->visitors->link, &visitor->user, &waits);
    if (sight || (waits && !visitor->has_sight && now - visitor->asked_at < SIGHT_PATIENCE)) {
        return sight;
    }
    return sight_without_berthd(visitor);
}

static bool has_work(const struct visitor *visitor)
{
    return visitor->question && visitor->out.length - visitor->sent < ENOUGH_BYTES;
}

/* Sends what there is. False: the connection is broken. */
static bool flush(struct visitor *visitor, nanoseconds now)
{
    while (visitor->sent < visitor->out.length) {
        ssize_t n = send(visitor->fd, visitor->out.bytes + visitor->sent,
            visitor->out.length - visitor->sent, MSG_NOSIGNAL);
        if (n < 0) {
            return errno == EAGAIN || errno == EINTR;
        }
        visitor->sent += (size_t)n;
        visitor->active_at = now;
    }
    visitor->out.length = visitor->sent = 0;
    return true;
}

static void answer_hello(const struct request *request, struct text *out)
{
    const char *proto = request->keys[KEY_INDEX_proto];
    uint64_t version;
    if (proto && (!number_parse(proto, UINT32_MAX, &version) || version != PROTOCOL_VERSION)) {
        answer_error_saying(out, CODE_BAD_VALUE, "berth-history speaks proto=1");
        return;
    }
    text_add(out, "ok");
    text_add_number_key(out, "proto", PROTOCOL_VERSION);
    text_add_key(out, "version", PACKAGE_VERSION);
    text_add_number_key(out, "pid", (uint64_t)getpid());
    text_add(out, "\n");
}

static void begin_question(struct visitor *visitor, const struct request *request)
{
    const char *wrong;
    struct visitors *visitors = visitor->visitors;
    visitors->drain_all(visitors->context);
    visitor->question = question_new(
        request, visitor->user.uid, (int64_t)milliseconds(clock_wall_now()), &wrong);
    if (!visitor->question) {
        answer_error(&visitor->out, CODE_BAD_VALUE, wrong);
        return;
    }
    question_begin(visitor->question, visitors->days);
    visitor->has_sight = false;
    visitor->asked_at = clock_now();
}

static void take_line(struct visitor *visitor, char *line, size_t length)
{
    struct request request;
    const char *detail;
    enum code code = request_parse(line, length, &request, &detail);
    if (code != CODE_NONE) {
        answer_error(&visitor->out, code, detail);
    } else if (request.command == COMMAND_history) {
        begin_question(visitor, &request);
    } else if (request.command == COMMAND_hello) {
        answer_hello(&request, &visitor->out);
    } else if (request.command == COMMAND_ping) {
        text_add(&visitor->out, "ok\n");
    } else {
        answer_error_saying(&visitor->out, CODE_UNKNOWN_COMMAND, "berthd answers that");
    }
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

static void on_idle(uv_idle_t *idle);

/* After whatever has happened: answers lines, sends, and says what it waits for. */
static void go_on_with(struct visitor *visitor, nanoseconds now)
{
    bool is_good;
    do {
        take_lines(visitor);
        is_good = flush(visitor, now);
    } while (is_good && !visitor->question && visitor->out.length == 0 &&
        linebuf_has_line(&visitor->lines));
    bool is_idle = !visitor->question && visitor->out.length == 0;
    if (!is_good || (visitor->has_ended && is_idle)) {
        leave(visitor);
        return;
    }
    int events = (is_idle ? UV_READABLE : 0) | (visitor->out.length > 0 ? UV_WRITABLE : 0);
    if (events != 0) {
        uv_poll_start(&visitor->poll, events, on_visitor);
    } else {
        uv_poll_stop(&visitor->poll);
    }
    if (has_work(visitor)) {
        uv_idle_start(&visitor->visitors->idle, on_idle);
    }
}

/* Adds a piece to its answer, unless it waits for berthd. */
static void work_for(struct visitor *visitor, nanoseconds now)
{
    const struct sight *sight = sight_of(visitor, now);
    if (!sight) {
        return;
    }
    visitor->has_sight = true;
    if (!question_go_on(visitor->question, visitor->visitors->days, sight, &visitor->out,
            visitor->sent + ENOUGH_BYTES)) {
        question_free(visitor->question);
        visitor->question = NULL;
        visitor->active_at = now;
    }
    go_on_with(visitor, now);
}

/* A piece for each. */
static void on_idle(uv_idle_t *idle)
{
    struct visitors *visitors = container_of(idle, struct visitors, idle);
    nanoseconds now = clock_now();
    uv_idle_stop(idle);
    for (size_t i = 0; i < MAX_VISITORS; i++) {
        if (visitors->list[i] && has_work(visitors->list[i])) {
            work_for(visitors->list[i], now);
        }
    }
}

/* False: the connection is broken. */
static bool receive(struct visitor *visitor, nanoseconds now)
{
    if (!linebuf_keep(&visitor->lines)) {
        return false;
    }
    ssize_t n = recv(visitor->fd, visitor->bytes, sizeof visitor->bytes, 0);
    if (n < 0) {
        return errno == EAGAIN || errno == EINTR;
    }
    visitor->has_ended = n == 0;
    visitor->active_at = now;
    return n == 0 || linebuf_feed(&visitor->lines, visitor->bytes, (size_t)n);
}

static void on_visitor(uv_poll_t *poll, int status, int events)
{
    struct visitor *visitor = container_of(poll, struct visitor, poll);
    nanoseconds now = clock_now();
    if (status < 0 || (events & UV_READABLE && !receive(visitor, now))) {
        leave(visitor);
    } else {
        go_on_with(visitor, now);
    }
}

void visitors_look(struct visitors *visitors)
{
    nanoseconds now = clock_now();
    for (size_t i = 0; i < MAX_VISITORS; i++) {
        struct visitor *visitor = visitors->list[i];
        if (visitor && now - visitor->active_at > SILENT_FOR) {
            leave(visitor);
        } else if (visitor && has_work(visitor)) {
            uv_idle_start(&visitors->idle, on_idle);
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
        n_of_user += visitor && visitor->user.uid == uid;
        *placep = visitor ? *placep : i;
    }
    return n_of_user >= MAX_VISITORS_OF_USER ? "too many connections of this user"
        : *placep == MAX_VISITORS            ? "too many connections"
                                             : NULL;
}

static void take_in(struct visitors *visitors, int fd)
{
    struct peer peer;
    size_t place;
    if (!peer_read(fd, &peer)) {
        close(fd);
        return;
    }
    const char *why = refusal(visitors, peer.uid, &place);
    if (why) {
        struct text line = TEXT_INIT;
        answer_error_saying(&line, CODE_BUSY, "%s", why);
        send(fd, line.bytes, line.length, MSG_NOSIGNAL);
        text_deinit(&line);
        close(fd);
        return;
    }
    struct visitor *visitor = memory_new(sizeof *visitor);
    *visitor = (struct visitor){
        .visitors = visitors, .fd = fd, .user.uid = peer.uid, .active_at = clock_now()};
    visitors->list[place] = visitor;
    uv_poll_init(visitors->loop, &visitor->poll, fd);
    if (read_groups(visitor)) {
        go_on_with(visitor, visitor->active_at);
    } else {
        leave(visitor);
    }
}

static void on_connection(uv_poll_t *poll, int status, int events)
{
    struct visitors *visitors = container_of(poll, struct visitors, listening);
    int fd;
    (void)status, (void)events;
    for (int n = 0; n < MAX_ACCEPTS &&
         uv_fileno((uv_handle_t *)poll, &fd) == 0 &&
         (fd = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;
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
