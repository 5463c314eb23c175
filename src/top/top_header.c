/* top_header.c - the lines above the list of `berthctl top`: figures of what is listed, and
 * whatever keeps the host from granting. Pure. */
#include "table/cell_text.h"
#include "top/top_internal.h"
#include "view/printable.h"

#include <string.h>

enum { MAX_DATABASES = 3 };

/* ---- the first line ---- */

static void add_figures(const struct top *top, struct top_line *line)
{
    struct text text = TEXT_INIT;
    text_add_escaped(&text, top->host);
    top_line_take(line, LOOK_STRONG, &text);
    if (top->status) {
        text_add_format(&text, ": %zu of %zu resources busy, %zu held, %zu waiting",
            top->rows.n_busy, top->rows.n_resources, top->rows.n_held, top->rows.n_waiting);
    } else {
        text_add(&text, ": waiting for the answer of berthd");
    }
    top_line_take(line, LOOK_PLAIN, &text);
}

/* At the right end, where there is room. */
static void add_clock(const struct top *top, struct top_line *line)
{
    size_t room = top_line_room(line), width = strlen(top->clock);
    if (room > width + 1) {
        top_line_add_cell(line, LOOK_QUIET, top->clock, room, true);
    }
}

static void add_trouble(const struct top *top, struct top_line *line)
{
    struct text text = TEXT_INIT;
    text_add(&text, "berthd is gone");
    if (top->clock[0] != '\0' && top->status) {
        text_add_format(&text, "; last update at %s", top->clock);
    }
    if (top->trouble.length > 0) {
        text_add_format(&text, "; %s", top->trouble.bytes);
    }
    top_line_take(line, LOOK_ALARM, &text);
}

/* ---- why nothing is granted ---- */

static void add_draining(const struct top *top, struct top_line *line)
{
    const struct status *status = top->status;
    struct text text = TEXT_INIT;
    if (status->draining) {
        const struct shown_decision said = drain_said(status);
        text_add(&text, "draining: this host grants nothing");
        text_add_noted(&text, ",", &said);
    }
    if (status->grace_until.is_given) {
        text_add(&text, text.length > 0 ? "; " : "");
        text_add(&text, "grace: berthd has restarted and waits ");
        text_add_age(&text, status_until(status, &status->grace_until));
        text_add(&text, " for its clients");
    }
    if (text.length == 0) {
        text_add(&text, "this host grants nothing now");
    }
    top_line_take(line, LOOK_NOTICE, &text);
}

static bool grants_nothing(const struct status *status)
{
    return status->draining || status->grace_until.is_given ||
        (status->granting.is_given && status->granting.number == 0);
}

static bool is_well(const struct status_database *database)
{
    return strcmp(database->state, "up") == 0 && !database->grace_until.is_given;
}

/* Those for which there is room; returns how many. */
static size_t find_ill(const struct top *top, const struct status_database *list[MAX_DATABASES])
{
    size_t n = 0;
    for (size_t i = 0; top->status && i < top->status->n_databases && n < MAX_DATABASES; i++) {
        if (!is_well(&top->status->databases[i])) {
            list[n++] = &top->status->databases[i];
        }
    }
    return n;
}

/* "database main: down: connection refused", "database main: up, in its grace for 12s" */
static void top_header_add_database(
    const struct status *status, const struct status_database *database, struct top_line *line)
{
    struct text text = TEXT_INIT;
    bool is_up = strcmp(database->state, "up") == 0;
    text_add_safe(&text, "database %s: %s", database->name, database->state);
    if (database->grace_until.is_given) {
        text_add(&text, database->new ? ", in its first grace for " : ", in its grace for ");
        text_add_age(&text, status_until(status, &database->grace_until));
    }
    if (database->why) {
        text_add_safe(&text, ": %s", database->why);
    }
    top_line_take(line, is_up ? LOOK_NOTICE : LOOK_ALARM, &text);
}

/* ---- what is chosen ---- */

/* Not everything. */
static bool is_part(const struct top_choice *choice)
{
    return choice->only.busy || choice->only.uid.is_given || choice->filter[0] != '\0';
}

/* "only: busy, of user alice, with "gpu"; by used" */
static void add_choice(const struct top *top, struct top_line *line)
{
    const struct top_choice *choice = &top->choice;
    struct text text = TEXT_INIT;
    const char *between = "only: ";
    if (choice->only.busy) {
        text_add_format(&text, "%sbusy", between);
        between = ", ";
    }
    if (choice->only.uid.is_given) {
        text_add_format(&text, "%sof user ", between);
        text_add_user(&text, choice->only.uid.number);
        between = ", ";
    }
    if (choice->filter[0] != '\0') {
        text_add_safe(&text, "%swith \"%s\"", between, choice->filter);
    }
    if (choice->only.sort) {
        text_add_format(&text, "%ssorted by %s", is_part(choice) ? "; " : "",
            choice->only.sort->word);
    }
    top_line_take(line, LOOK_PLAIN, &text);
}

/* ---- all of them ---- */

size_t top_header_lines(const struct top *top)
{
    bool is_held_back = top->status && grants_nothing(top->status);
    const struct status_database *ill[MAX_DATABASES];
    return 1 + is_held_back + find_ill(top, ill) +
        (is_part(&top->choice) || top->choice.only.sort);
}

void top_header_line(const struct top *top, size_t number, struct top_line *line)
{
    bool is_held_back = top->status && grants_nothing(top->status);
    const struct status_database *ill[MAX_DATABASES];
    if (number == 0 && top->is_stale) {
        add_trouble(top, line);
    } else if (number == 0) {
        add_figures(top, line);
        add_clock(top, line);
    } else if (number == 1 && is_held_back) {
        add_draining(top, line);
    } else if (number - 1 - is_held_back < find_ill(top, ill)) {
        top_header_add_database(top->status, ill[number - 1 - is_held_back], line);
    } else {
        add_choice(top, line);
    }
}
