#include "berthctl/show_watch.h"

#include "view/printable.h"
#include "view/users.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    FIRST_PAUSE_MILLISECONDS = 50, /* before berthd is looked for again */
    LONGEST_PAUSE_MILLISECONDS = 1000,
};

struct watch {
    struct call *call;
    struct live live;
    struct watch_events events;
    bool has_begun; /* the first batch was whole */
};

enum watch_end {
    WATCH_LOST, /* the connection has ended */
    WATCH_UNREAD, /* nobody reads stdout any more */
    WATCH_FAILED, /* after a message; the call has the exit status */
};

/* ---- waiting ---- */

/* Whether nobody can read what is written to stdout. */
static bool is_hung_up(const struct pollfd *out)
{
    return out->revents & (POLLERR | POLLHUP);
}

/* False: nobody reads stdout any more. */
static bool pause_for(int milliseconds)
{
    struct pollfd out = {.fd = STDOUT_FILENO};
    poll(&out, 1, milliseconds);
    return !is_hung_up(&out);
}

/* Whether there is a next line; else *endp says why not. */
static bool next_line(struct watch *watch, char **linep, enum watch_end *endp)
{
    struct connection *connection = &watch->call->connection;
    enum connection_line got;
    while ((got = connection_next(connection, linep)) == CONNECTION_MORE) {
        struct pollfd fds[] = {{.fd = connection->fd, .events = POLLIN}, {.fd = STDOUT_FILENO}};
        int n = poll(fds, 2, -1);
        if (n > 0 && is_hung_up(&fds[1])) {
            *endp = WATCH_UNREAD;
            return false;
        }
        if (n > 0 && fds[0].revents && !connection_read(connection)) {
            *endp = WATCH_LOST;
            return connection_next(connection, linep) == CONNECTION_LINE;
        }
    }
    if (got == CONNECTION_GARBAGE) {
        watch->call->exit_status = call_nonsense(watch->call);
        *endp = WATCH_FAILED;
    }
    return got == CONNECTION_LINE;
}

/* ---- lines ---- */

/* False after a message, but for a pipe that nobody reads. */
static bool write_out(struct watch *watch)
{
    struct text *out = &watch->events.out;
    if (out->length > 0) {
        fwrite(out->bytes, 1, out->length, stdout);
    }
    text_deinit(out);
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return true;
    }
    if (errno != EPIPE) {
        complain("cannot write: %m");
        watch->call->exit_status = EXIT_FAILURE;
    }
    return false;
}

/* The first time: whether what is asked for exists. False after a message. */
static bool check_names(struct watch *watch)
{
    const char *unknown = watch->has_begun ? NULL : watch_events_unknown(&watch->events);
    watch->has_begun = true;
    if (unknown) {
        const struct code_row *row = &code_table[CODE_UNKNOWN];
        struct text escaped = TEXT_INIT;
        text_add_escaped(&escaped, unknown);
        complain("watch: no resource %s (%s)", escaped.bytes, row->word);
        text_deinit(&escaped);
        watch->call->exit_status = row->exit_status;
    }
    return !unknown;
}

static bool take_line(struct watch *watch, const char *line, enum watch_end *endp)
{
    watch->events.now = clock_now();
    watch->events.wall = clock_wall_now() / NANOSECONDS_PER_MILLISECOND;
    switch (live_take(&watch->live, line, watch->events.now)) {
    case LIVE_MORE:
        return true;
    case LIVE_MALFORMED:
        watch->call->exit_status = call_nonsense(watch->call);
        *endp = WATCH_FAILED;
        return false;
    case LIVE_END:
        break;
    }
    if (!check_names(watch)) {
        *endp = WATCH_FAILED;
        return false;
    }
    bool is_written = write_out(watch);
    *endp = watch->call->exit_status == EXIT_SUCCESS ? WATCH_UNREAD : WATCH_FAILED;
    return is_written;
}

/* Over a connection on which this line has come. */
static enum watch_end follow(struct watch *watch, char *line)
{
    enum watch_end end = WATCH_FAILED;
    do {
        if (!take_line(watch, line, &end)) {
            return end;
        }
    } while (next_line(watch, &line, &end));
    return end;
}

/* ---- again ---- */

/* Whether berthd is not back yet, or has no room yet. */
static bool is_away(const struct call *call)
{
    return call->has_closed || (call->refusal.length > 0 && call->code == CODE_BUSY);
}

/* The first line of a new connection, once berthd is back; NULL: *endp says why not. */
static char *come_back(struct watch *watch, enum watch_end *endp)
{
    struct call *call = watch->call;
    char *line = NULL;
    int pause = FIRST_PAUSE_MILLISECONDS;
    connection_close(&call->connection);
    live_forget(&watch->live);
    complain("berthd has closed the connection: waiting until it is back");
    call->awaits_berthd = call->is_silent = true;
    do {
        connection_close(&call->connection);
        text_deinit(&call->refusal);
        call->has_closed = false;
        if (!pause_for(pause)) {
            *endp = WATCH_UNREAD;
            return NULL;
        }
        pause = pause * 2 < LONGEST_PAUSE_MILLISECONDS ? pause * 2 : LONGEST_PAUSE_MILLISECONDS;
        line = call_answer(call);
    } while (!line && is_away(call));
    if (line) {
        call->exit_status = EXIT_SUCCESS;
        complain("berthd is back");
    } else if (call->refusal.length > 0) {
        complain("%s", call->refusal.bytes);
    }
    return line;
}

static int run(struct watch *watch)
{
    char *line = call_answer(watch->call);
    enum watch_end end = WATCH_FAILED;
    while (line && (end = follow(watch, line)) == WATCH_LOST) {
        end = WATCH_FAILED;
        line = come_back(watch, &end);
    }
    return end == WATCH_UNREAD ? EXIT_SUCCESS : watch->call->exit_status;
}

int show_watch(struct call *call, const struct watch_choice *choice)
{
    struct watch watch = {.call = call};
    live_init(&watch.live);
    live_name_users(&watch.live, user_name);
    watch_events_init(&watch.events, &watch.live, choice);
    int exit_status = run(&watch);
    live_deinit(&watch.live);
    watch_events_deinit(&watch.events);
    return exit_status;
}
