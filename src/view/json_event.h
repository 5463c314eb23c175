/* json_event.h - what `berthctl watch --json` prints. Pure. */
#ifndef BERTH_VIEW_JSON_EVENT_H
#define BERTH_VIEW_JSON_EVENT_H

#include "base/text.h"
#include "view/past.h"
#include "view/status.h"

#include <stdint.h>

struct json_event {
    const char *event; /* a word */
    int64_t time; /* milliseconds since 1970 */
    struct instant now; /* the same on berthd's clock, for those of the lease */
    const char *resource, *database; /* which it is about; or NULL */
    const char *text; /* a sentence */
    /* Whom it is about; at most one, else NULL. Its keys follow those above. */
    const struct status_lease *holder, *waiter;
    const struct past_lease *ended;
    bool is_pool; /* the resource of the holder */
};

/* Adds it as a line. */
void json_print_event(const struct json_event *event, struct text *out);

#endif
