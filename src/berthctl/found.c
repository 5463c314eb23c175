/* found.c - `berthctl found`: shows who is connected, and asks the operator before it is done. */
#include "table/grid.h"
#include "berthctl/run.h"
#include "client/exit_status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A row is a struct status_host. */
static const struct column columns[] = {
    {"HOST", COLUMN_STRING(struct status_host, name)},
    {"HERE FOR", COLUMN_AGE(struct status_host, since)},
    {"HELD", COLUMN_NUMBER(struct status_host, held)},
    {"WAIT", COLUMN_NUMBER(struct status_host, waiting)},
    {"VERSION", COLUMN_STRING(struct status_host, version)},
};

static void add_hosts(struct text *out, const struct status *status, const char *database)
{
    const struct cell_context at = {.status = status};
    struct grid grid;
    grid_init(&grid, columns, sizeof columns / sizeof columns[0], 2);
    for (size_t i = 0; i < status->n_hosts; i++) {
        if (strcmp(status->hosts[i].database, database) == 0) {
            grid_add_row(&grid, &status->hosts[i], &at);
        }
    }
    grid_print(&grid, out);
    grid_deinit(&grid);
}

/* What an operator must know, on stderr. */
static void explain(const struct status *status, const struct status_database *database)
{
    struct text out = TEXT_INIT;
    text_add_safe(&out, "database %s is new: for another ", database->name);
    text_add_age(&out, status_until(status, &database->grace_until));
    text_add(&out, " it grants nothing, because hosts may hold leases\nthat it has no record of.\n"
                   "These hosts are connected, and have listed none:\n");
    add_hosts(&out, status, database->name);
    text_add(&out, "If Redis has lost its data, or has been replaced by another one, a host\n"
                   "that is cut off now may run jobs whose units would be granted to others:\n"
                   "then wait.\n");
    fwrite(out.bytes, 1, out.length, stderr);
    text_deinit(&out);
}

/* False after a message. */
static bool asks_for_sure(struct call *call)
{
    char answer[16] = "";
    if (!isatty(STDIN_FILENO)) {
        message("found: nothing was done: cannot ask for confirmation, as stdin is not a terminal;"
                 " --yes says that the database never held anything");
        call->exit_status = STATUS_USAGE;
        return false;
    }
    fprintf(stderr, "Has this database never held anything? [y/N] ");
    bool is_sure = fgets(answer, sizeof answer, stdin) &&
        (strcmp(answer, "y\n") == 0 || strcmp(answer, "yes\n") == 0);
    if (!is_sure) {
        message("found: nothing was done");
        call->exit_status = STATUS_NOT_ACQUIRED;
    }
    return is_sure;
}

/* Whether to go on. Where there is nothing to ask, berthd says what is wrong. */
static bool is_meant(struct call *call, const char *name)
{
    struct status status = {0};
    call_set(call, COMMAND_hosts, NULL, 0);
    bool goes_on = call_take(call, status_take, &status);
    const struct status_database *database =
        goes_on ? status_record_named(&status, LINE_DATABASE, name) : NULL;
    if (database && database->new && database->grace_until.is_given) {
        explain(&status, database);
        goes_on = asks_for_sure(call);
    }
    status_deinit(&status);
    return goes_on;
}

int run_found(struct call *call, const struct line *line)
{
    const char *name = call->request.arguments[0];
    if (!(line->options & OPTION_YES) && !is_meant(call, name)) {
        return call->exit_status;
    }
    call_set(call, COMMAND_found, NULL, 0);
    call->request.database = name;
    return show_answer(call, NULL);
}
