/* show_hosts.c - the table of `berthctl hosts`. */
#include "base/words.h"
#include "berthctl/grid.h"
#include "berthctl/show.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOST_COLUMNS = 6 };

static const struct column columns[HOST_COLUMNS] = {
    {.title = "HOST"},
    {.title = "DATABASE"},
    {.title = "HEARD", .is_right = true},
    {.title = "HELD", .is_right = true},
    {.title = "WAIT", .is_right = true},
    {.title = "SESSION"},
};

/* False: no daemon sends that. */
static bool add_host(struct grid *grid, char *words[], size_t n)
{
    char *database = words_find(words, n, "database"), *session = words_find(words, n, "session");
    uint64_t heard, held, waiting;
    if (n < 2 || !percent_decode(words[1]) || !database || !percent_decode(database) || !session ||
        !percent_decode(session) || !number_find(words, n, "heard", &heard) ||
        !number_find(words, n, "held", &held) || !number_find(words, n, "waiting", &waiting)) {
        return false;
    }
    struct text age = TEXT_INIT;
    text_add_age(&age, heard);
    grid_add_string(grid, words[1]);
    grid_add_string(grid, database);
    grid_add(grid, &age);
    grid_add_number(grid, held);
    grid_add_number(grid, waiting);
    grid_add_string(grid, session);
    return true;
}

/* One that has not been asked: its hosts are not shown. */
static bool add_database(struct text *notes, size_t *n_databases, char *words[], size_t n)
{
    char *state = words_find(words, n, "state"), *why = words_find(words, n, "why");
    if (n < 2 || !percent_decode(words[1]) || !state || !percent_decode(state) ||
        (why && !percent_decode(why))) {
        return false;
    }
    ++*n_databases;
    if (strcmp(state, "up") != 0) {
        text_add(notes, "database ");
        text_add_escaped(notes, words[1]);
        text_add(notes, " ");
        text_add_escaped(notes, state);
        text_add(notes, why ? ": " : "");
        text_add_escaped(notes, why ? why : "");
        text_add(notes, "\n");
    }
    return true;
}

/* Whether it could be written. */
static int print_all(const struct grid *grid, const struct text *notes, size_t n_databases)
{
    struct text out = TEXT_INIT;
    if (n_databases == 0) {
        text_add(&out, "the file of this host has no [redis] section\n");
    }
    if (grid_n_rows(grid) > 0) {
        grid_print_titles(grid, &out);
    }
    for (size_t i = 0; i < grid_n_rows(grid); i++) {
        grid_print_row(grid, i, &out);
    }
    text_add_bytes(&out, notes->bytes, notes->length);
    return show_print(&out);
}

int show_hosts(struct call *call, char *answer)
{
    struct grid grid;
    struct text notes = TEXT_INIT;
    size_t n_databases = 0;
    char *line = answer;
    bool is_good = true;
    grid_init(&grid, columns, HOST_COLUMNS, 0);
    while (is_good && (line = call_line(call)) && strcmp(line, "end") != 0) {
        char *words[MAX_WORDS];
        size_t n = words_split(line, words, MAX_WORDS);
        if (n > 0 && strcmp(words[0], "host") == 0) {
            is_good = add_host(&grid, words, n);
        } else if (n > 0 && strcmp(words[0], "database") == 0) {
            is_good = add_database(&notes, &n_databases, words, n);
        }
    }
    int exit_status = !is_good ? call_nonsense(call)
        : !line                ? call->exit_status
                               : print_all(&grid, &notes, n_databases);
    grid_deinit(&grid);
    text_deinit(&notes);
    return exit_status;
}
