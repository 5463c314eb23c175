#include "berthctl/found.h"

#include "berthctl/grid.h"
#include "berthctl/show.h"
#include "client/exit_status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { HOST_COLUMNS = 5 };

static const struct column columns[HOST_COLUMNS] = {
    {.title = "HOST"},
    {.title = "HERE FOR", .is_right = true},
    {.title = "HELD", .is_right = true},
    {.title = "WAIT", .is_right = true},
    {.title = "VERSION"},
};

static const struct status_database *find_database(const struct status *status, const char *name)
{
    for (size_t i = 0; i < status->n_databases; i++) {
        if (strcmp(status->databases[i].name, name) == 0) {
            return &status->databases[i];
        }
    }
    return NULL;
}

static void add_host(
    struct grid *grid, const struct status *status, const struct status_host *host)
{
    struct text age = TEXT_INIT;
    text_add(&age, host->since.is_given ? "" : "-");
    if (host->since.is_given) {
        text_add_age(&age, status_since(status, &host->since));
    }
    grid_add_string(grid, host->name);
    grid_add(grid, &age);
    grid_add_number(grid, host->held);
    grid_add_number(grid, host->waiting);
    grid_add_string(grid, host->version ? host->version : "-");
}

static void add_hosts(struct text *out, const struct status *status, const char *database)
{
    struct grid grid;
    grid_init(&grid, columns, HOST_COLUMNS, 2);
    for (size_t i = 0; i < status->n_hosts; i++) {
        if (strcmp(status->hosts[i].database, database) == 0) {
            add_host(&grid, status, &status->hosts[i]);
        }
    }
    grid_print_titles(&grid, out);
    for (size_t i = 0; i < grid_n_rows(&grid); i++) {
        grid_print_row(&grid, i, out);
    }
    grid_deinit(&grid);
}

/* What an operator must know, on stderr. */
static void explain(const struct status *status, const struct status_database *database)
{
    struct text out = TEXT_INIT;
    text_add(&out, "database ");
    text_add_escaped(&out, database->name);
    text_add(&out, " is new: for another ");
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
        complain("found: nothing was done: cannot ask for confirmation, as stdin is not a terminal;"
                 " --yes says that the database never held anything");
        call->exit_status = STATUS_USAGE;
        return false;
    }
    fprintf(stderr, "Has this database never held anything? [y/N] ");
    bool is_sure = fgets(answer, sizeof answer, stdin) &&
        (strcmp(answer, "y\n") == 0 || strcmp(answer, "yes\n") == 0);
    if (!is_sure) {
        complain("found: nothing was done");
        call->exit_status = STATUS_NOT_ACQUIRED;
    }
    return is_sure;
}

/* Whether to go on. Where there is nothing to ask, berthd says what is wrong. */
static bool is_meant(struct call *call, const char *name)
{
    struct status status = STATUS_INIT;
    call->request = (struct ctl_request){.word = command_table[COMMAND_hosts].word};
    char *answer = call_answer(call);
    bool goes_on = answer && show_read_status(call, answer, &status);
    const struct status_database *database = goes_on ? find_database(&status, name) : NULL;
    if (database && database->new && database->grace_until.is_given) {
        explain(&status, database);
        goes_on = asks_for_sure(call);
    }
    status_deinit(&status);
    return goes_on;
}

int found(struct call *call, bool is_sure)
{
    const char *name = call->request.arguments[0];
    if (!is_sure && !is_meant(call, name)) {
        return call->exit_status;
    }
    call->request = (struct ctl_request){
        .word = command_table[COMMAND_found].word, .database = name};
    char *answer = call_answer(call);
    return answer ? show_nothing(call, answer) : call->exit_status;
}
