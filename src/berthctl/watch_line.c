#include "berthctl/watch_line.h"

#include "base/pattern.h"
#include "view/printable.h"
#include "view/when.h"

#include <string.h>

enum { NAME_WIDTH = 12, WHAT_WIDTH = 26 }; /* columns of the terminal */

bool watch_is_named(const struct watch_choice *choice, const char *name)
{
    bool is = choice->n_names == 0;
    for (size_t i = 0; i < choice->n_names && !is; i++) {
        is = strcmp(choice->names[i], name) == 0 ||
            (strchr(choice->names[i], '*') && pattern_matches(choice->names[i], name));
    }
    return is;
}

static void add_column(struct text *out, const struct text *cell, size_t width, bool is_last)
{
    size_t used = text_width(cell->bytes);
    text_add(out, "  ");
    text_add(out, cell->bytes);
    if (!is_last && used < width) {
        text_add_repeated(out, ' ', width - used);
    }
}

void watch_line_print(struct watch_events *events, struct watch_line *line, int64_t time)
{
    if (events->choice.is_json) {
        line->json.time = time;
        line->json.now = live_now(events->live, events->now);
        line->json.text = line->sentence.bytes;
        json_print_event(&line->json, &events->out);
    } else {
        bool has_who = line->who.length > 0;
        text_add_when(&events->out, time, events->wall);
        add_column(&events->out, &line->name, NAME_WIDTH, false);
        add_column(&events->out, &line->what, WHAT_WIDTH, !has_who);
        if (has_who) {
            add_column(&events->out, &line->who, 0, true);
        }
        text_add(&events->out, "\n");
    }
    text_deinit(&line->name);
    text_deinit(&line->what);
    text_deinit(&line->who);
    text_deinit(&line->sentence);
}
