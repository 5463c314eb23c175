/* json_parts.h - objects of one document that others have too. Pure. */
#ifndef BERTH_VIEW_JSON_PARTS_H
#define BERTH_VIEW_JSON_PARTS_H

#include "view/past.h"
#include "view/status.h"

#include <jansson.h>

/* Of `berthctl status --json`. Each is the caller's. */
json_t *holder_value(const struct status_lease *lease, bool is_pool);
json_t *waiter_value(const struct status_lease *lease);
/* Of `berthctl history --json`. */
json_t *past_lease_value(const struct past_lease *lease);

#endif
