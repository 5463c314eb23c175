#include "berthctl/watch_events.h"

#include "base/pattern.h"
#include "berthctl/watch_line.h"

#include <string.h>

static bool could_be(const struct status *status, const char *name)
{
    bool could = false;
    for (size_t i = 0; i < status->n_templates && !could; i++) {
        could = strcmp(status->templates[i].name, name) == 0 ||
            pattern_matches(status->templates[i].name, name);
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
                .database = watch_database,
                .resource = watch_resource,
                .template = watch_template,
                .granted = watch_granted,
                .waits = watch_waits,
                .gone = watch_gone,
                .changed = watch_changed,
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
