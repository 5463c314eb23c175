/* found.h - `berthctl found`: shows who is connected, and asks the operator before it is done. */
#ifndef BERTH_BERTHCTL_FOUND_H
#define BERTH_BERTHCTL_FOUND_H

#include "berthctl/ctl_call.h"

/* The database is the call's argument. `is_sure`: nobody is asked. Returns the exit status. */
int found(struct call *call, bool is_sure);

#endif
