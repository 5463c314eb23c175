/* guard.h - may this server keep leases? Decides by the text of INFO. Pure. */
#ifndef BERTH_REDIS_GUARD_H
#define BERTH_REDIS_GUARD_H

#include "redis/say.h"

#include <stdbool.h>

struct guard {
    char run_id[64];
    char version[32];
    char refusal[SAY_BYTES]; /* why the server must not be used; or "" */
    char warning[SAY_BYTES]; /* why the server is not as safe as it could be; or "" */
};

/* `may_fail_over`: another server may take this one's place, even if it has no replicas at
 * present. */
void guard_judge(struct guard *guard, const char *info, bool may_fail_over);

#endif
