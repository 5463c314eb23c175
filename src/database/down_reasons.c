#include "database/down_reasons.h"

#include <stdio.h>
#include <string.h>

enum { MAX_REASONS = 5 };

bool down_reasons_add(struct down_reasons *said, const char *reason)
{
    bool is_same = said->n_reasons > 0 && strcmp(said->reason, reason) == 0;
    if (is_same || said->n_reasons == MAX_REASONS) {
        return false;
    }
    snprintf(said->reason, sizeof said->reason, "%s", reason);
    said->n_reasons++;
    return true;
}
