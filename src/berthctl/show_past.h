/* show_past.h - `berthctl history` and `berthctl stats`: what has ended. */
#ifndef BERTH_BERTHCTL_SHOW_PAST_H
#define BERTH_BERTHCTL_SHOW_PAST_H

#include "berthctl/ctl_call.h"
#include "wire/fields.h"

/* Besides the resources, which are the call's arguments. Times are milliseconds since 1970. */
struct past_choice {
    struct optional since; /* what ended then or later */
    struct optional until; /* of this, what was asked for before */
    struct optional uid; /* only this user's */
    const char *lease; /* only this one; or NULL */
};

/* Each sends the call's request, and shows the answer. Returns the exit status. */
int show_history(struct call *call, const struct past_choice *choice, bool is_json);
int show_stats(struct call *call, const struct past_choice *choice, bool is_json);

#endif
