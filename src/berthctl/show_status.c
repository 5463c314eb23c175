/* show_status.c - reads the answer to `status`, and shows it as a table or as JSON. */
#include "table/grid.h"
#include "view/programs.h"
#include "base/words.h"
#include "berthctl/run.h"
#include "table/status_table.h"
#include "client/exit_status.h"
#include "view/json.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    USUAL_WIDTH = 80, /* for a terminal that does not say */
    MAX_LEASES = 20, /* of each resource, on a terminal and without NAME */
};

size_t show_width(void)
{
    struct winsize size;
    if (!isatty(STDOUT_FILENO)) {
        return 0;
    }
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col
                                                                           : USUAL_WIDTH;
}

static struct table_style style_of(const struct call *call, const struct status_filter *choice)
{
    size_t width = show_width();
    bool is_of_some = call->request.n_arguments > 0;
    return (struct table_style){
        .width = width,
        .max_leases = width > 0 && !is_of_some ? MAX_LEASES : 0,
        .is_of_some = is_of_some,
        .sort = choice->sort,
        .is_coloured = width > 0 && look_wants_colour(),
    };
}

/* Of what a database that is up has not answered, or not as a whole. */
static bool is_partial(const struct status_resource *resource)
{
    static const char *const words[] = {"no-answer", "busy", "too-large", NULL};
    const char *state = resource->database_state;
    unsigned place;
    return state && word_look_up(words, state, &place);
}

int run_status(struct call *call, const struct line *line)
{
    struct status status = {0};
    struct text out = TEXT_INIT;
    int exit_status = EXIT_SUCCESS;
    if (call_take(call, status_take, &status)) {
        struct table_style style = style_of(call, &line->shown);
        bool is_cut = status_first(&status, is_partial); /* whatever is shown of it */
        status_choose(&status, &line->shown);
        if (line->options & OPTION_JSON) {
            json_print(&status, &out);
        } else {
            programs_fill_in(&status);
            table_print(&status, &style, &out);
        }
        exit_status = show_print(&out);
        exit_status = exit_status == EXIT_SUCCESS && is_cut ? STATUS_DOWN : exit_status;
    } else {
        exit_status = call->exit_status;
    }
    status_deinit(&status);
    return exit_status;
}
