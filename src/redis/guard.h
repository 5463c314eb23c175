/* guard.h - may this server keep leases? From the text of its INFO to the answer. Pure. */
#ifndef BERTH_REDIS_GUARD_H
#define BERTH_REDIS_GUARD_H

#include "redis/say.h"

#include <stdbool.h>

struct guard {
    char run_id[64];
    char version[32];
    char refusal[SAY_BYTES]; /* why it must not be used; or "" */
    char warning[SAY_BYTES]; /* why it is not as safe as it could be; or "" */
};

/* `may_fail_over`: another server may take its place, whether or not it has replicas just now. */
void guard_judge(struct guard *guard, const char *info, bool may_fail_over);

#endif
