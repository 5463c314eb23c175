/* show_past.c - `berthctl history` and `berthctl stats`: what has ended. */
#include "berthctl/ask_past.h"
#include "berthctl/past_table.h"
#include "berthctl/run.h"
#include "berthctl/stats_table.h"
#include "table/cell_text.h"
#include "view/datetime.h"
#include "view/json.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* Of this host, or of one whose history is there, too; and held, or waited for, at .until already.
 */
static bool is_meant(const struct inquiry *inquiry, const struct status_lease *lease)
{
    const struct past_choice *choice = &inquiry->choice;
    const char *host = lease->host ? lease->host : choice->this_host;
    bool is_of_another_host = strchr(lease->id, '/'); /* SESSION/LEASE */
    bool was_there = !choice->until.is_given ||
        inquiry->past.now < choice->until.number + status_since(&inquiry->status, &lease->since);
    return was_there && (!is_of_another_host || inquiry->past.n_sources > 1) &&
        (!choice->host || strcmp(choice->host, host) == 0) &&
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
static void add_running(const struct inquiry *inquiry, struct text *out)
{
    const struct past_choice *choice = &inquiry->choice;
    const struct status_lease **leases, *first = NULL;
    size_t n = status_each_lease(&inquiry->status, true, true, &leases), n_meant = 0;
    for (size_t i = 0; i < n; i++) {
        if (is_meant(inquiry, leases[i])) {
            first = first ? first : leases[i];
            n_meant++;
        }
    }
    free(leases);
    if (first) {
        text_add_safe(out, "%llu still held or waiting", (unsigned long long)n_meant);
        if (choice->until.is_given) {
            text_add(out, " since before ");
            text_add_datetime(out, (int64_t)choice->until.number, (int64_t)inquiry->past.now);
        }
        add_command(choice, first, out);
    }
}

/* ---- showing ---- */

enum { HOST_BYTES = 256, NEWEST = 1000 };

/* What the command line asks for. `host` gets this host's name. */
static struct past_choice choice_of(const struct line *line, char host[static HOST_BYTES])
{
    struct past_choice choice = line->past;
    host[0] = '\0';
    gethostname(host, HOST_BYTES - 1);
    choice.this_host = host;
    return choice;
}

static void print_history(const struct inquiry *inquiry, struct text *out)
{
    const struct past_choice *choice = &inquiry->choice;
    const struct past *past = &inquiry->past;
    bool goes_on = past->n == 0 && choice->lease &&
        add_running_lease(&inquiry->status, choice->lease, out);
    if (goes_on) {
        return;
    }
    past_table_print(past, choice, show_width(), out);
    if ((choice->uid.is_given || choice->until.is_given) && !choice->lease) {
        add_running(inquiry, out);
    }
    text_add(out, inquiry->notes.bytes);
}

/* JSON has no place for them. */
static void say_notes(const struct inquiry *inquiry)
{
    fputs(inquiry->notes.bytes, stderr);
}

int run_history(struct call *call, const struct line *line)
{
    char host[HOST_BYTES] = "";
    struct inquiry inquiry = {.call = call, .choice = choice_of(line, host)};
    struct text out = TEXT_INIT;
    int exit_status;
    if (!inquiry.choice.limit.is_given) {
        inquiry.choice.limit = (struct optional){true, NEWEST};
    }
    if (!inquire(&inquiry)) {
        exit_status = call->exit_status;
    } else if (line->options & OPTION_JSON) {
        past_json_print(&inquiry.past, &out);
        say_notes(&inquiry);
        exit_status = show_print(&out);
    } else {
        print_history(&inquiry, &out);
        exit_status = show_print(&out);
    }
    inquiry_deinit(&inquiry);
    return exit_status;
}

static int print_stats(const struct line *line, struct inquiry *inquiry)
{
    struct text out = TEXT_INIT;
    struct past *past = &inquiry->past;
    struct stats stats = stats_of(past, &inquiry->status, &line->past);
    stats.knows_no_running = inquiry->is_without_berthd;
    if (line->options & OPTION_JSON) {
        stats_json_print(&stats, past, &out);
        say_notes(inquiry);
    } else {
        stats_table_print(&stats, past, show_width(), &out);
        past_add_note(past, stats.n_ended, &line->past, &out);
        text_add(&out, inquiry->notes.bytes);
    }
    stats_deinit(&stats);
    return show_print(&out);
}

/* Asks for the history of all users, since each one's share is a part of what all have used. */
int run_stats(struct call *call, const struct line *line)
{
    char host[HOST_BYTES] = "";
    struct inquiry inquiry = {
        .call = call, .choice = choice_of(line, host), .wants_figures = true};
    inquiry.choice.uid = (struct optional){0};
    int exit_status =
        inquire(&inquiry) ? print_stats(line, &inquiry) : call->exit_status;
    inquiry_deinit(&inquiry);
    return exit_status;
}
