/* watch_line.h - one line of `berthctl watch`, and who makes them. Pure but for the time zone. */
#ifndef BERTH_BERTHCTL_WATCH_LINE_H
#define BERTH_BERTHCTL_WATCH_LINE_H

#include "berthctl/watch_events.h"
#include "view/json.h"

struct watch_line {
    struct json_event json; /* .time and .text are set when it is printed */
    struct text name, what, who; /* columns, escaped; .who may be empty */
    struct text sentence;
};

/* Adds the line to what is to be written, and frees it. `time`: milliseconds since 1970. */
void watch_line_print(struct watch_events *events, struct watch_line *line, int64_t time);

/* Whether lines about this resource are wanted. */
bool watch_is_named(const struct watch_choice *choice, const char *name);

/* Calls of a live_watcher: watch_leases.c */
void watch_granted(void *context, const struct live_lease *lease);
void watch_waits(void *context, const struct live_lease *lease);
void watch_gone(void *context, const struct live_lease *lease);
void watch_changed(
    void *context, const struct live_lease *lease, const struct status_lease *before);
void watch_ended(void *context, const struct past_lease *lease);
void watch_missed(void *context);
/* watch_limits.c */
void watch_begun(void *context);
void watch_host(void *context, const struct status *before, const struct status *now);
void watch_database(
    void *context, const struct status_database *before, const struct status_database *now);
void watch_resource(
    void *context, const struct status_resource *before, const struct status_resource *now);
void watch_template(
    void *context, const struct status_resource *before, const struct status_resource *now);

#endif
