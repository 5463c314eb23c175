/* top.h - `berthctl top`. */
#pragma once

#include "client/endpoint.h"
#include "table/status_filter.h"

/* Shows what berthd there does until somebody ends it. Returns the exit status. */
int top_run(const struct endpoint *endpoint, const struct status_filter *choice);
