#include "status/listed_leases.h"

#include "status/host_leases.h"

void listed_leases_begin(struct listed_leases *leases, const struct fleet_rows *rows,
    const struct fleet_resource *resource)
{
    *leases =
        (struct listed_leases){.rows = rows, .resource = resource, .row = resource->row + 1};
}

/* To the lease itself: few of the holders, and no waiter but itself. */
static bool is_for_waiter(struct listed_leases *leases, const struct fleet_row *row,
    const struct fleet_scene *scene, uint64_t waiter)
{
    enum fleet_lease kind = fleet_row_kind(row, leases->resource);
    if (kind == FLEET_HOLDER) {
        return leases->n_holders++ < MAX_HOLDERS_SHOWN;
    }
    const struct lease *own = kind == FLEET_WAITER ? fleet_own_lease(row, scene) : NULL;
    bool is_itself = own && own->id == waiter;
    leases->has_shown_waiter |= is_itself;
    return is_itself;
}

/* The rows may be a little older than the lease's place in line. */
static void show_as_host_knows(struct text *out, const struct fleet_scene *scene, uint64_t waiter,
    const struct fleet_resource *resource)
{
    const struct lease_scene here = {
        .core = scene->core, .viewer = scene->viewer, .now = scene->now};
    host_describe_waiting(out, &here, waiter, resource->name);
}

void listed_leases_continue(struct listed_leases *leases, const struct fleet_scene *scene,
    uint64_t only_waiter, struct text *out, size_t enough)
{
    const struct fleet_rows *rows = leases->rows;
    const struct fleet_resource *resource = leases->resource;
    for (; leases->row < resource->end && out->length < enough; leases->row++) {
        if (only_waiter == 0 ||
            is_for_waiter(leases, &rows->rows[leases->row], scene, only_waiter)) {
            fleet_describe_lease(out, rows, resource, leases->row, scene);
        }
    }
    if (leases->row == resource->end) {
        if (only_waiter != 0 && !leases->has_shown_waiter) {
            show_as_host_knows(out, scene, only_waiter, resource);
        }
        leases->resource = NULL;
    }
}
