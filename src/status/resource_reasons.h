/* resource_reasons.h - what reasons.h says about one resource, and when a request for it will
 * probably start: from its row, its holders and its waiters, whoever knows them. Pure. */
#pragma once

#include "status/forecast.h"
#include "status/lease_row.h"
#include "status/reasons.h"

/* What is found out about the request itself. */
struct request_row {
    const char *name; /* of the resource */
    uint64_t wants;
    uint64_t position; /* its place in line, a new one's behind all others; 0: not known */
    uint64_t max; /* units that one request can ever have, as a listing says; else UINT64_MAX */
    bool is_taken; /* a listing says that a new request would not be granted at once */
    bool is_over_quota; /* its user has .held, and may not have so many more */
    uint64_t held;
    uint32_t quota;
    const char *blocker; /* what a waiting lease lacks, as in its line; or NULL */
    const char *owner; /* SESSION/LEASE: who has its identity, if it waits for that; or NULL */
    bool owner_waits; /* that has it, but does not run */
};

/* Which lease waits; {0}: none yet, a new request. */
struct waiting_lease {
    const struct claim *claim; /* of this host: its part of that resource */
    const char *key; /* or SESSION/LEASE, of another host: as a listing has it */
};

/* The resource in one line, for a request for that many units: as the core knows it. */
void resource_brief(
    struct text *brief, const struct scene *scene, const char *name, uint32_t wants);
/* All about it. A new request is for a resource, or for an instance that `definition` allows. The
 * forecast, which has its holds already, gets who holds and is ahead. */
struct request_row resource_reasons(struct reasons *reasons, const struct scene *scene,
    const char *name, const struct definition *definition, uint32_t wants,
    const struct waiting_lease *waiter, struct forecast *forecast);

/* Adds that the job of a held lease waits for the lock of a file, if it does. */
void reasons_say_file_lock(
    struct reasons *reasons, const struct viewer *viewer, const struct lease *lease);
