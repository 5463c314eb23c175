/* show_watch.c - `berthctl watch`: one line for each change, until somebody ends it. */
#include "view/programs.h"
#include "berthctl/run.h"
#include "berthctl/watch_events.h"
#include "client/exit_status.h"
#include "view/live_link.h"
#include "view/printable.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct watch {
    struct live_link link;
    struct watch_events events;
    bool has_begun; /* the first batch was whole */
    bool is_waiting; /* for a berthd that is to come back: that has been said */
    bool is_over;
    int exit_status;
};

static void show_watch_end(struct watch *watch, int exit_status)
{
    watch->is_over = true;
    watch->exit_status = exit_status;
}

/* ---- lines ---- */

/* Whether what is asked for exists. False after a message. */
static bool check_names(struct watch *watch)
{
    const char *unknown = watch_events_unknown(&watch->events);
    if (unknown) {
        const struct code_row *row = &code_table[CODE_UNKNOWN];
        message("watch: no resource %s (%s)", unknown, row->word);
        show_watch_end(watch, row->exit_status);
    }
    return !unknown;
}

/* A pipe that nobody reads any more is no error. */
static void write_out(struct watch *watch)
{
    struct text *out = &watch->events.out;
    if (out->length > 0) {
        fwrite(out->bytes, 1, out->length, stdout);
    }
    text_deinit(out);
    if (fflush(stdout) != 0 || ferror(stdout)) {
        bool is_unread = errno == EPIPE;
        if (!is_unread) {
            message("cannot write: %m");
        }
        show_watch_end(watch, is_unread ? EXIT_SUCCESS : EXIT_FAILURE);
    }
}

/* ---- the connection ---- */

/* Whether berthd is to come back, or will have room. */
static bool is_away(const struct live_link *link)
{
    return link->loss == LIVE_AWAY || (link->loss == LIVE_REFUSED && link->code == CODE_BUSY);
}

static void take_loss(struct watch *watch)
{
    const struct live_link *link = &watch->link;
    if (!watch->has_begun || !is_away(link)) {
        show_watch_end(watch, live_link_complain(link, "watch"));
    } else if (!watch->is_waiting) {
        message("berthd closed the connection: waiting for it to come back");
        watch->is_waiting = true;
    }
}

static void take_changes(struct watch *watch)
{
    watch->link.has_changed = false;
    if (watch->link.loss != LIVE_KEPT) {
        take_loss(watch);
        return;
    }
    if (watch->is_waiting) {
        message("berthd is back");
        watch->is_waiting = false;
    }
    if (watch->has_begun || check_names(watch)) {
        write_out(watch);
    }
    watch->has_begun = true;
}

static void wait_for_something(struct watch *watch)
{
    struct live_link *link = &watch->link;
    struct pollfd fds[] = {
        {.fd = link->connection.fd, .events = POLLIN}, /* or -1 */
        {.fd = STDOUT_FILENO},
    };
    int n = poll_until(fds, 2, link->due);
    if (n > 0 && fds[1].revents & (POLLERR | POLLHUP)) { /* nobody can read it any more */
        show_watch_end(watch, EXIT_SUCCESS);
        return;
    }
    watch->events.now = clock_now();
    watch->events.wall = clock_wall_now() / NANOSECONDS_PER_MILLISECOND;
    if (n > 0 && fds[0].revents) {
        live_link_read(link, watch->events.now);
    } else if (link->due <= watch->events.now) {
        live_link_act(link, watch->events.now);
    }
}

/* The names are not sent: what is not theirs is left out here. */
int run_watch(struct call *call, const struct line *line)
{
    static struct watch watch;
    const struct watch_choice choice = {
        .names = call->request.arguments,
        .n_names = call->request.n_arguments,
        .with_ended = line->options & OPTION_ENDED,
        .is_json = line->options & OPTION_JSON,
        .find_program = program_fill_in,
    };
    live_link_init(
        &watch.link, &call->endpoint, choice.with_ended ? "watch ended=1\n" : "watch\n");
    watch_events_init(&watch.events, &watch.link.live, &choice);
    while (!watch.is_over) {
        wait_for_something(&watch);
        if (watch.link.has_changed) {
            take_changes(&watch);
        }
    }
    live_link_deinit(&watch.link);
    text_deinit(&watch.events.out);
    return watch.exit_status;
}
