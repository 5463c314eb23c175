/* process_lease.h - finds the lease that `why PID` refers to. */
#pragma once

struct call;

/* `pid` as the client has written it. Looks at all leases, some at a time; then the connection goes
 * on with `why` of the one that was found, or has its answer. */
void process_lease_why(struct call *call, const char *pid);
