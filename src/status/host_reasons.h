/* host_reasons.h - what reasons.h says about a resource, from the core. Pure. */
#ifndef BERTH_STATUS_HOST_REASONS_H
#define BERTH_STATUS_HOST_REASONS_H

#include "core/core.h"
#include "status/forecast.h"
#include "status/host_lines.h"
#include "status/reasons.h"
#include "status/viewer.h"

/* For whom, and when. */
struct reasons_scene {
    struct core *core;
    const struct viewer *viewer;
    nanoseconds now;
};

/* The resource in one line, for a request for that many units. */
void host_reasons_brief(struct text *brief, const struct reasons_scene *scene,
    const struct resource *resource, uint32_t wants);
/* All about it. `claim` waits for it; NULL: a new request. `host` is NULL in host scope. The
 * forecast, which has its holds already, gets who holds and who is ahead. */
void host_reasons_add(struct reasons *reasons, const struct reasons_scene *scene,
    const struct resource *resource, const struct host_scene *host, uint32_t wants,
    const struct claim *claim, struct forecast *forecast);

/* Says if the client of a waiting lease is stopped or not connected, or that of a held one has not
 * read the grant. */
void host_reasons_client(
    struct reasons *reasons, const struct reasons_scene *scene, const struct lease *lease);

#endif
