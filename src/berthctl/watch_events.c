#include "berthctl/watch_events.h"

#include "base/pattern.h"
#include "view/datetime.h"
#include "view/printable.h"

#include <string.h>

static bool could_be(const struct status *status, const char *name)
{
    bool could = false;
    for (size_t i = 0; i < status->n_templates && !could; i++) {
        could = pattern_matches(status->templates[i].name, name);
    }
    return could;
}

const char *watch_events_unknown(const struct watch_events *events)
{
    const struct status *status = live_status(events->live, events->now);
    for (size_t i = 0; i < events->choice.n_names; i++) {
        const char *name = events->choice.names[i];
        bool is_known = strchr(name, '*')
            ? pattern_is_valid(name)
            : live_resource_find(events->live, name) || could_be(status, name);
        if (!is_known) {
            return name;
        }
    }
    return NULL;
}

void watch_events_init(
    struct watch_events *events, struct live *live, const struct watch_choice *choice)
{
    *events = (struct watch_events){
        .choice = *choice,
        .live = live,
        .watcher =
            {
                .context = events,
                .begun = watch_begun,
                .host = watch_host,
                .record = watch_record,
                .lease = watch_lease,
                .ended = watch_ended,
                .missed = watch_missed,
            },
    };
    live_watch(live, &events->watcher);
}

void watch_events_deinit(struct watch_events *events)
{
    text_deinit(&events->out);
}

/* ---- a line ---- */

enum { NAME_WIDTH = 12, WHAT_WIDTH = 26 }; /* columns of the terminal */

bool watch_is_named(const struct watch_choice *choice, const char *name)
{
    return patterns_match(choice->names, choice->n_names, name);
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

void watch_line_print(struct watch_events *events, struct watch_line *line)
{
    line->json.time = line->json.time != 0 ? line->json.time : events->wall;
    if (events->choice.is_json) {
        line->json.now = live_now(events->live, events->now);
        line->json.text = line->sentence.bytes;
        json_print_event(&line->json, &events->out);
    } else {
        bool has_who = line->who.length > 0;
        text_add_datetime(&events->out, line->json.time, events->wall);
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

void watch_line_print_host(
    struct watch_events *events, const char *word, const char *what, const char *sentence)
{
    struct watch_line line = {.json = {.event = word}};
    text_add(&line.name, "-");
    text_add(&line.what, what);
    text_add(&line.sentence, sentence);
    watch_line_print(events, &line);
}
