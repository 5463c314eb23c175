/* show_past.c - `berthctl history` and `berthctl stats`: what has ended. */
#include "base/clock.h"
#include "berthctl/past_table.h"
#include "berthctl/run.h"
#include "table/cell_text.h"
#include "view/datetime.h"
#include "view/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- asking ---- */

/* False after a message. */
static bool ask_past(struct call *call, const struct past_choice *choice, struct past *past)
{
    uint64_t now = milliseconds(clock_wall_now()), since = choice->since.number;
    call->request.since = (struct optional){choice->since.is_given, now > since ? now - since : 0};
    call->request.user = choice->uid;
    call->request.lease = choice->lease;
    past->only = choice;
    bool is_read = call_take(call, past_take, past);
    call->request.since = call->request.user = (struct optional){0};
    return is_read;
}

/* What is held now, and the limits. A name that only the history knows is no error; then nothing is
 * read. False after a message. */
static bool ask_status(struct call *call, struct status *status)
{
    const struct ctl_request asked = call->request;
    bool is_of_fleet = asked.lease && strchr(asked.lease, '/'); /* SESSION/LEASE */
    call->request.word = command_table[COMMAND_status].word;
    call->request.lease = is_of_fleet ? NULL : asked.lease; /* everything */
    call->unsaid = CODE_UNKNOWN;
    bool is_read = call_take(call, status_take, status);
    call->request = asked;
    call->unsaid = CODE_NONE;
    return is_read || call->code == CODE_UNKNOWN;
}

/* ---- what has not ended, from an answer to `status` ---- */

static const struct status_lease *find_lease(const struct status *status, const char *id)
{
    const struct status_lease *found = NULL;
    for (size_t i = 0; i < status->n_resources && !found; i++) {
        found = status_lease_find(&status->resources[i], id);
    }
    return found;
}

/* "3f9k is still held: berthctl why 3f9k". False: the answer does not have that lease. */
static bool add_running_lease(const struct status *status, const char *lease, struct text *out)
{
    const char *slash = strchr(lease, '/');
    const struct status_lease *found = find_lease(status, lease);
    found = !found && slash ? find_lease(status, slash + 1) : found; /* it is this host's */
    if (found) {
        text_add_format(out, "%s %s: berthctl why %s\n", lease,
            found->is_held ? "is still held" : "still waits", lease);
    }
    return found;
}

/* Of this host, and held, or waited for, at .until already; `now` is that of .until. */
static bool is_meant(const struct status *status, const struct status_lease *lease,
    const struct past_choice *choice, uint64_t now)
{
    bool is_of_another_host = strchr(lease->id, '/'); /* SESSION/LEASE */
    bool was_there = !choice->until.is_given ||
        now < choice->until.number + status_since(status, &lease->since);
    return !is_of_another_host && was_there &&
        (!choice->uid.is_given || lease->uid == choice->uid.number);
}

/* The command that shows them. */
static void add_command(
    const struct past_choice *choice, const struct status_lease *lease, struct text *out)
{
    text_add(out, ": berthctl status");
    for (size_t i = 0; i < choice->n_names; i++) {
        text_add_safe(out, " %s", choice->names[i]);
    }
    if (choice->uid.is_given) {
        text_add(out, " --user ");
        text_add_user(out, lease->uid);
    }
    text_add(out, "\n");
}

/* "2 still held or waiting since before 03:05:00: berthctl status etl"; nothing if there are none.
 */
static void add_running(const struct status *status, const struct past_choice *choice, uint64_t now,
    struct text *out)
{
    const struct status_lease **leases, *first = NULL;
    size_t n = status_each_lease(status, true, true, &leases), n_meant = 0;
    for (size_t i = 0; i < n; i++) {
        if (is_meant(status, leases[i], choice, now)) {
            first = first ? first : leases[i];
            n_meant++;
        }
    }
    free(leases);
    if (first) {
        text_add_safe(out, "%llu still held or waiting", (unsigned long long)n_meant);
        if (choice->until.is_given) {
            text_add(out, " since before ");
            text_add_datetime(out, (int64_t)choice->until.number, (int64_t)now);
        }
        add_command(choice, first, out);
    }
}

static bool is_of_fleet(const struct status_resource *resource)
{
    return !resource->is_template && resource->database;
}

/* That the history of the first resource of fleet scope is this host's; nothing if there is none.
 */
static void add_fleet_note(const struct status *status, struct text *out)
{
    const struct status_resource *first = status_first(status, is_of_fleet);
    if (first) {
        text_add_safe(out, "%s has fleet scope: each host keeps the history of its own jobs only\n",
            first->name);
    }
}

/* ---- showing ---- */

/* Shows what has ended, and says what has not. Returns the exit status. */
static int print_history(
    struct call *call, const struct past_choice *choice, const struct past *past)
{
    struct text out = TEXT_INIT;
    struct status status = {0};
    bool is_empty = past->n == 0,
         is_asked = choice->uid.is_given || choice->until.is_given ||
             (is_empty && (choice->lease || choice->n_names > 0));
    if (is_asked && !ask_status(call, &status)) {
        status_deinit(&status);
        return call->exit_status;
    }
    if (!is_empty || !choice->lease || !add_running_lease(&status, choice->lease, &out)) {
        past_table_print(past, choice, show_width(), &out);
    }
    if ((choice->uid.is_given || choice->until.is_given) && !choice->lease) {
        add_running(&status, choice, past->now, &out);
    }
    if (is_empty && choice->n_names > 0) {
        add_fleet_note(&status, &out);
    }
    status_deinit(&status);
    return show_print(&out);
}

int run_history(struct call *call, const struct line *line)
{
    const struct past_choice *choice = &line->past;
    struct past past = {0};
    struct text out = TEXT_INIT;
    int exit_status = EXIT_FAILURE;
    if (!ask_past(call, choice, &past)) {
        exit_status = call->exit_status;
    } else if (line->options & OPTION_JSON) {
        past_json_print(&past, &out);
        exit_status = show_print(&out);
    } else {
        exit_status = print_history(call, choice, &past);
    }
    past_deinit(&past);
    return exit_status;
}

static int print_stats(
    const struct line *line, struct past *past, const struct status *status)
{
    struct text out = TEXT_INIT;
    struct stats stats = stats_of(past, status, &line->past);
    if (line->options & OPTION_JSON) {
        stats_json_print(&stats, past, &out);
    } else {
        stats_table_print(&stats, past, show_width(), &out);
        past_add_note(past, stats.n_ended, &line->past, &out);
    }
    stats_deinit(&stats);
    return show_print(&out);
}

/* Asks for the history of all users, since each one's share is a part of what all have used. Asks
 * for status afterwards: a lease that ends in between is in neither answer, rather than in both. */
int run_stats(struct call *call, const struct line *line)
{
    struct past past = {0};
    struct status status = {0};
    struct past_choice asked = line->past;
    asked.uid = (struct optional){0};
    bool is_read = ask_past(call, &asked, &past) && ask_status(call, &status);
    int exit_status =
        is_read ? print_stats(line, &past, &status) : call->exit_status;
    past_deinit(&past);
    status_deinit(&status);
    return exit_status;
}
