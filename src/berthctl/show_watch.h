/* show_watch.h - `berthctl watch`: one line for each change, until somebody ends it. */
#ifndef BERTH_BERTHCTL_SHOW_WATCH_H
#define BERTH_BERTHCTL_SHOW_WATCH_H

#include "berthctl/ctl_call.h"
#include "berthctl/watch_events.h"

/* Sends the call's request, again whenever berthd has been restarted, and writes what is chosen to
 * stdout. Returns, with the exit status, when nobody reads that any more, or after a message. */
int show_watch(struct call *call, const struct watch_choice *choice);

#endif
