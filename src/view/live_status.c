/* live_status.c - the copy, in the form of an answer to `status`. */
#include "base/memory.h"
#include "view/live_internal.h"

static void leases_renew(struct status_leases *shown, const struct live_lease_list *list)
{
    if (shown->size < list->n) {
        shown->size = list->n + list->n / 4;
        shown->list = memory_resize(shown->list, shown->size, sizeof *shown->list);
    }
    for (size_t i = 0; i < list->n; i++) {
        shown->list[i] = list->list[i]->shown;
        shown->list[i].position = list->list[i]->standing == LIVE_WAITS ? i + 1 : 0;
    }
    shown->n = list->n;
}

static void resource_show(struct live_resource *resource, struct status_resource *shown)
{
    if (resource->is_stale) {
        leases_renew(&resource->shown_holders, &resource->holders);
        leases_renew(&resource->shown_waiters, &resource->waiters);
        resource->is_stale = false;
    }
    *shown = resource->shown;
    shown->holders = resource->shown_holders;
    shown->waiters = resource->shown_waiters;
}

static void *array_of(void *list, size_t *sizep, size_t n, size_t element)
{
    if (n <= *sizep) {
        return list;
    }
    *sizep = n + n / 4;
    return memory_resize(list, *sizep, element);
}

const struct status *live_status(struct live *live, nanoseconds now)
{
    struct status *shown = &live->shown;
    const struct live_records *resources = &live->records[LIVE_RESOURCE],
                              *templates = &live->records[LIVE_TEMPLATE],
                              *databases = &live->records[LIVE_DATABASE];
    struct status next = live->host;
    next.now = live_now(live, now);
    next.size = shown->size;
    next.templates_size = shown->templates_size;
    next.databases_size = shown->databases_size;
    next.resources = array_of(shown->resources, &next.size, resources->n, sizeof *shown->resources);
    next.templates =
        array_of(shown->templates, &next.templates_size, templates->n, sizeof *shown->templates);
    next.databases =
        array_of(shown->databases, &next.databases_size, databases->n, sizeof *shown->databases);
    for (size_t i = 0; i < resources->n; i++) {
        resource_show((struct live_resource *)resources->list[i], &next.resources[i]);
    }
    for (size_t i = 0; i < templates->n; i++) {
        next.templates[i] = ((struct live_resource *)templates->list[i])->shown;
    }
    for (size_t i = 0; i < databases->n; i++) {
        next.databases[i] = ((const struct live_database *)databases->list[i])->shown;
    }
    next.n_resources = resources->n;
    next.n_templates = templates->n;
    next.n_databases = databases->n;
    *shown = next;
    return shown;
}
