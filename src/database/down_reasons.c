#include "database/down_reasons.h"

#include <stdio.h>
#include <string.h>

enum { MAX_REASONS = 5 };

bool down_reasons_add(struct down_reasons *reasons, const char *reason)
{
    bool is_same = reasons->n_reasons > 0 && strcmp(reasons->reason, reason) == 0;
    if (is_same || reasons->n_reasons == MAX_REASONS) {
        return false;
    }
    snprintf(reasons->reason, sizeof reasons->reason, "%s", reason);
    reasons->n_reasons++;
    return true;
}
