/* fleet_reasons.h - what reasons.h says about a resource, from a database's listing. Pure. */
#ifndef BERTH_STATUS_FLEET_REASONS_H
#define BERTH_STATUS_FLEET_REASONS_H

#include "status/fleet_lines.h"
#include "status/forecast.h"
#include "status/reasons.h"

/* What the listing says of the request itself. */
struct fleet_said {
    uint64_t position; /* its place in line; a new one's is behind all others */
    bool is_free; /* a new request would be granted at once */
    uint64_t max; /* units that one request can ever have */
    bool is_over_quota; /* its user may not have so many more */
    const char *blocked, *blocker; /* of a waiting lease: as in its line; or NULL */
};

/* All about that resource. `lease` waits for it, as this host knows; NULL: a new request. The
 * forecast, which has its holds already, gets who holds and who is ahead. */
struct fleet_said fleet_reasons_add(struct reasons *reasons, const struct fleet_rows *rows,
    const struct fleet_resource *resource, const struct fleet_scene *scene, uint32_t wants,
    const struct lease *lease, struct forecast *forecast);

#endif
