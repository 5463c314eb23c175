/* live_status.c - the copy, in the form of an answer to `status`. */
#include "base/memory.h"
#include "view/live_internal.h"

static void leases_renew(struct status_leases *shown, const struct live_lease_list *list)
{
    shown->list = memory_resize(shown->list, list->n + 1, sizeof *shown->list);
    for (size_t i = 0; i < list->n; i++) {
        shown->list[i] = list->list[i]->shown;
        shown->list[i].position = i < list->n_held ? 0 : i - list->n_held + 1;
    }
    shown->n = list->n;
}

static void resource_show(struct live_resource *resource, struct status_resource *shown)
{
    if (resource->is_stale) {
        leases_renew(&resource->shown_leases, &resource->leases);
        resource->is_stale = false;
    }
    *shown = resource->shown;
    shown->leases = resource->shown_leases;
}

/* Templates have no leases. */
static size_t resources_show(const struct live_records *records, struct status_resource **listp)
{
    *listp = memory_resize(*listp, records->n + 1, sizeof **listp);
    for (size_t i = 0; i < records->n; i++) {
        resource_show((struct live_resource *)records->list[i], &(*listp)[i]);
    }
    return records->n;
}

const struct status *live_status(struct live *live, nanoseconds now)
{
    struct status *shown = &live->shown;
    const struct live_records *databases = &live->records[LINE_DATABASE];
    struct status next = live->host;
    next.now = live_now(live, now);
    next.resources = shown->resources;
    next.templates = shown->templates;
    next.n_resources = resources_show(&live->records[LINE_RESOURCE], &next.resources);
    next.n_templates = resources_show(&live->records[LINE_TEMPLATE], &next.templates);
    next.databases = memory_resize(shown->databases, databases->n + 1, sizeof *shown->databases);
    for (size_t i = 0; i < databases->n; i++) {
        next.databases[i] = ((const struct live_database *)databases->list[i])->shown;
    }
    next.n_databases = databases->n;
    *shown = next;
    return shown;
}
