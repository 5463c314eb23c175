/* live_leases.c - leases of the copy: found by name and resource, in lists by order. */
#include "base/memory.h"
#include "view/live_internal.h"

#include <stdlib.h>
#include <string.h>

/* Lines are compared without what a renewal changes, or a clock of another host that wavers. */
static uint64_t print_of(const char *line)
{
    uint64_t print = 0;
    while (*line != '\0') {
        size_t n = strcspn(line, " ");
        if (strncmp(line, "since=", strlen("since=")) != 0 &&
            strncmp(line, "until=", strlen("until=")) != 0) {
            print = hash_bytes(line, n, print);
        }
        line += n;
        line += *line == ' ';
    }
    return print;
}

static uint64_t hash_of(const char *id, const struct live_resource *resource)
{
    return hash_bytes(id, strlen(id), resource->record.node.hash);
}

static struct live_lease *lease_named(
    const struct live *live, const char *id, const struct live_resource *resource)
{
    struct table_node *node = table_find(&live->leases, hash_of(id, resource));
    for (; node; node = table_find_next(node)) {
        struct live_lease *lease = container_of(node, struct live_lease, record.node);
        if (lease->resource == resource && strcmp(lease->shown.id, id) == 0) {
            return lease;
        }
    }
    return NULL;
}

static struct live_resource *resource_named(const struct live *live, const char *name)
{
    return (struct live_resource *)live_record_named(live, LINE_RESOURCE, name);
}

/* ---- lists ---- */

static uint64_t ticket_of(const struct live_lease *lease)
{
    return lease->shown.ticket.is_given ? lease->shown.ticket.number : UINT64_MAX;
}

static bool is_before(const struct live_lease *a, const struct live_lease *b)
{
    if (a->state != b->state) {
        return a->state == LIVE_HOLDS;
    }
    if (a->state == LIVE_WAITS && a->shown.priority != b->shown.priority) {
        return a->shown.priority > b->shown.priority;
    }
    if (a->state == LIVE_WAITS && ticket_of(a) != ticket_of(b)) {
        return ticket_of(a) < ticket_of(b);
    }
    return a->came < b->came;
}

/* How many of the list are before the lease. Most come at the end. */
static size_t live_leases_place_of(
    const struct live_lease_list *list, const struct live_lease *lease)
{
    size_t low = 0, high = list->n;
    if (high > 0 && is_before(list->list[high - 1], lease)) {
        return high;
    }
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (is_before(list->list[middle], lease)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* A list of pointers: to move the rest of 10 000 takes microseconds. */
static void list_insert(struct live_lease *lease)
{
    struct live_lease_list *list = &lease->resource->leases;
    size_t place = live_leases_place_of(list, lease);
    list->list = memory_grow(list->list, list->n, sizeof(struct live_lease *));
    memmove(list->list + place + 1, list->list + place, (list->n - place) * sizeof *list->list);
    list->list[place] = lease;
    list->n++;
    list->n_held += lease->state == LIVE_HOLDS;
    lease->resource->is_stale = true;
}

static void list_remove(struct live_lease *lease)
{
    struct live_lease_list *list = &lease->resource->leases;
    size_t place = live_leases_place_of(list, lease);
    list->n--;
    list->n_held -= lease->state == LIVE_HOLDS;
    memmove(list->list + place, list->list + place + 1, (list->n - place) * sizeof *list->list);
    lease->resource->is_stale = true;
}

/* ---- changes ---- */

static void touch(struct live *live, struct live_lease *lease)
{
    if (live_record_touch(&lease->record)) {
        live->touched = memory_grow(live->touched, live->n_touched, sizeof(struct live_lease *));
        live->touched[live->n_touched++] = lease;
    }
    lease->resource->changed = live->serial + 1;
}

static struct live_lease *lease_new(
    struct live *live, struct live_resource *resource, const char *id)
{
    struct live_lease *lease = memory_resize(NULL, 1, sizeof *lease);
    *lease = (struct live_lease){.resource = resource, .is_elsewhere = strchr(id, '/')};
    table_insert(&live->leases, &lease->record.node, hash_of(id, resource));
    return lease;
}

static void leave(struct live *live, struct live_lease *lease)
{
    touch(live, lease);
    lease->state = LIVE_ABSENT;
    lease->record.is_there = false;
    lease->resource->is_stale = true;
}

bool live_lease_take(struct live *live, const char *line, enum status_line kind)
{
    enum live_state state = kind == LINE_HOLDER ? LIVE_HOLDS : LIVE_WAITS;
    struct status_lease shown = {0};
    bool is_good =
        status_record_take(kind, &shown, line) && shown.resource && shown.id[0] != '\0';
    struct live_resource *resource = is_good ? resource_named(live, shown.resource) : NULL;
    if (!resource) {
        status_record_deinit(kind, &shown);
        return is_good;
    }
    struct live_lease *lease = lease_named(live, shown.id, resource);
    if (!lease) {
        lease = lease_new(live, resource, shown.id);
    }
    touch(live, lease);
    if (lease->state != LIVE_ABSENT) {
        list_remove(lease);
    }
    if (lease->state != state) {
        lease->came = ++live->came;
    }
    lease->state = state;
    live_record_say(live, kind, &lease->record, &shown, print_of(line));
    list_insert(lease);
    return true;
}

void live_lease_gone(struct live *live, const char *id, const char *name)
{
    struct live_resource *resource = resource_named(live, name);
    struct live_lease *lease = resource ? lease_named(live, id, resource) : NULL;
    if (lease && lease->state != LIVE_ABSENT) {
        list_remove(lease);
        leave(live, lease);
    }
}

void live_leases_sweep(struct live *live, struct live_resource *resource, uint64_t generation)
{
    struct live_lease_list *list = &resource->leases, kept = {.list = list->list};
    for (size_t i = 0; i < list->n; i++) {
        struct live_lease *lease = list->list[i];
        if (lease->record.generation == generation) {
            kept.list[kept.n++] = lease;
            kept.n_held += lease->state == LIVE_HOLDS;
        } else {
            leave(live, lease);
        }
    }
    *list = kept;
}

void live_leases_settle(struct live *live)
{
    for (size_t i = 0; i < live->n_touched; i++) {
        struct live_lease *lease = live->touched[i];
        live_record_settle(LINE_HOLDER, &lease->record);
        lease->previous_state = lease->state;
        if (lease->state == LIVE_ABSENT) {
            table_remove(&live->leases, &lease->record.node);
            live_record_forget(LINE_HOLDER, &lease->record);
            free(lease);
        }
    }
    live->n_touched = 0;
}

size_t live_lease_place(const struct live_lease *lease)
{
    const struct live_lease_list *list = &lease->resource->leases;
    bool waits = lease->state == LIVE_WAITS;
    return waits ? live_leases_place_of(list, lease) - list->n_held + 1 : 0;
}
