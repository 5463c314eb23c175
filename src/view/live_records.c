/* live_records.c - what the copy has: resources, templates and databases, found by name, in order;
 * and leases, found by name and resource, in lists by order. */
#include "base/memory.h"
#include "base/ticket.h"
#include "view/live_internal.h"

#include <stdlib.h>
#include <string.h>

enum { NO_GENERATION = 0 }; /* that of no line */

/* ---- kinds ---- */

/* Where a record of the kind has what a line makes. */
static const struct kind {
    size_t size; /* of the record */
    size_t shown, before; /* its members */
} kinds[N_STATUS_LINES] = {
#define KIND(type)                                                                                 \
    {                                                                                              \
        sizeof(struct type), offsetof(struct type, shown), offsetof(struct type, before)           \
    }
    [LINE_RESOURCE] = KIND(live_resource),
    [LINE_TEMPLATE] = KIND(live_resource),
    [LINE_DATABASE] = KIND(live_database),
    [LINE_HOLDER] = KIND(live_lease),
    [LINE_WAITER] = KIND(live_lease),
#undef KIND
};

static void *shown_of(enum status_line kind, struct live_record *record)
{
    return (char *)record + kinds[kind].shown;
}

static void *before_of(enum status_line kind, struct live_record *record)
{
    return (char *)record + kinds[kind].before;
}

/* Its first member; NULL: it is empty. */
static const char *name_in(const void *shown)
{
    return *(const char *const *)shown;
}

const void *live_record_shown(enum status_line kind, const struct live_record *record)
{
    return (const char *)record + kinds[kind].shown;
}

const void *live_record_before(enum status_line kind, const struct live_record *record)
{
    const void *before = (const char *)record + kinds[kind].before;
    return !record->stood ? NULL : name_in(before) ? before : live_record_shown(kind, record);
}

/* ---- records ---- */

/* Also one that has gone since the copy was whole. `resource`: that a lease is on; else NULL. */
static struct live_record *find_in(const struct table *table, uint64_t hash,
    enum status_line kind, const char *name, const struct live_resource *resource)
{
    struct table_node *node = table_find(table, hash);
    for (; node; node = table_find_next(node)) {
        struct live_record *record = container_of(node, struct live_record, node);
        bool is_on_it = !resource || ((struct live_lease *)record)->resource == resource;
        if (is_on_it && strcmp(name_in(live_record_shown(kind, record)), name) == 0) {
            return record;
        }
    }
    return NULL;
}

static struct live_record *record_find(
    const struct live *live, enum status_line kind, const char *name)
{
    return find_in(&live->records[kind].by_name, hash_name(name), kind, name, NULL);
}

struct live_record *live_record_named(
    const struct live *live, enum status_line kind, const char *name)
{
    struct live_record *record = record_find(live, kind, name);
    return record && record->is_there ? record : NULL;
}

static struct live_record *record_new(struct live *live, enum status_line kind, const char *name)
{
    struct live_records *records = &live->records[kind];
    struct live_record *record = memory_resize(NULL, 1, kinds[kind].size);
    memset(record, 0, kinds[kind].size);
    table_insert(&records->by_name, &record->node, hash_name(name));
    records->list =
        memory_grow(records->list, records->n, sizeof(struct live_record *));
    records->list[records->n++] = record;
    return record;
}

static bool live_record_touch(struct live_record *record)
{
    bool is_first = !record->is_touched;
    if (is_first) {
        record->is_touched = true;
        record->print_before = record->print;
    }
    return is_first;
}

static void live_record_say(const struct live *live, enum status_line kind,
    struct live_record *record, const void *shown, uint64_t print)
{
    void *last = shown_of(kind, record), *before = before_of(kind, record);
    size_t size = status_kinds[kind].size;
    if (record->stood && !name_in(before)) {
        memcpy(before, last, size);
    } else {
        status_record_deinit(kind, last);
    }
    memcpy(last, shown, size);
    record->is_there = true;
    record->generation = live->generation;
    record->print = print;
}

static void live_record_settle(enum status_line kind, struct live_record *record)
{
    void *before = before_of(kind, record);
    if (record->is_touched) {
        status_record_deinit(kind, before);
        memset(before, 0, status_kinds[kind].size);
        record->is_touched = false;
        record->stood = record->is_there;
    }
}

static void live_record_forget(enum status_line kind, struct live_record *record)
{
    status_record_deinit(kind, shown_of(kind, record));
    status_record_deinit(kind, before_of(kind, record));
}

/* ---- leases ---- */

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
    return (struct live_lease *)find_in(
        &live->leases, hash_of(id, resource), LINE_HOLDER, id, resource);
}

static struct live_resource *resource_named(const struct live *live, const char *name)
{
    return (struct live_resource *)live_record_named(live, LINE_RESOURCE, name);
}

/* ---- lists of leases ---- */

static uint64_t ticket_of(const struct live_lease *lease)
{
    return lease->shown.ticket.is_given ? lease->shown.ticket.number : UINT64_MAX;
}

static int64_t priority_of(const struct live_lease *lease)
{
    return ticket_priority(lease->shown.ticket.number, lease->shown.priority);
}

static bool is_before(const struct live_lease *a, const struct live_lease *b)
{
    if (a->state != b->state) {
        return a->state == LIVE_HOLDS;
    }
    if (a->state == LIVE_WAITS && priority_of(a) != priority_of(b)) {
        return priority_of(a) > priority_of(b);
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

/* ---- changes of leases ---- */

static void lease_touch(struct live *live, struct live_lease *lease)
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

static void lease_leave(struct live *live, struct live_lease *lease)
{
    lease_touch(live, lease);
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
    lease_touch(live, lease);
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
        lease_leave(live, lease);
    }
}

static void live_leases_sweep(
    struct live *live, struct live_resource *resource, uint64_t generation)
{
    struct live_lease_list *list = &resource->leases, kept = {.list = list->list};
    for (size_t i = 0; i < list->n; i++) {
        struct live_lease *lease = list->list[i];
        if (lease->record.generation == generation) {
            kept.list[kept.n++] = lease;
            kept.n_held += lease->state == LIVE_HOLDS;
        } else {
            lease_leave(live, lease);
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

/* ---- lines of records ---- */

bool live_record_take(struct live *live, enum status_line kind, const char *line)
{
    union {
        struct status_resource resource;
        struct status_database database;
    } shown;
    memset(&shown, 0, sizeof shown);
    if (!status_record_take(kind, &shown, line)) {
        status_record_deinit(kind, &shown);
        return false;
    }
    const char *name = name_in(&shown);
    struct live_record *record = record_find(live, kind, name);
    record = record ? record : record_new(live, kind, name);
    live_record_touch(record);
    live_record_say(live, kind, record, &shown, hash_name(line));
    if (kind == LINE_RESOURCE) {
        ((struct live_resource *)record)->changed = live->serial + 1;
    }
    return true;
}

static void leave(struct live *live, enum status_line kind, struct live_record *record)
{
    live_record_touch(record);
    record->is_there = false;
    if (kind == LINE_RESOURCE) {
        live_leases_sweep(live, (struct live_resource *)record, NO_GENERATION);
    }
}

void live_record_gone(struct live *live, enum status_line kind, const char *name)
{
    struct live_record *record = live_record_named(live, kind, name);
    if (record) {
        leave(live, kind, record);
    }
}

void live_sweep(struct live *live)
{
    for (enum status_line kind = 0; kind < N_STATUS_LINES; kind++) {
        struct live_records *records = &live->records[kind];
        for (size_t i = 0; i < records->n; i++) {
            struct live_record *record = records->list[i];
            if (record->is_there && record->generation != live->generation) {
                leave(live, kind, record);
            } else if (kind == LINE_RESOURCE) {
                live_leases_sweep(live, (struct live_resource *)record, live->generation);
            }
        }
    }
}

/* ---- the end of a batch ---- */

static void record_free(struct live *live, enum status_line kind, struct live_record *record)
{
    table_remove(&live->records[kind].by_name, &record->node);
    live_record_forget(kind, record);
    if (kind != LINE_DATABASE) {
        struct live_resource *resource = (struct live_resource *)record;
        free(resource->leases.list);
        free(resource->shown_leases.list);
    }
    free(record);
}

void live_records_settle(struct live *live)
{
    for (enum status_line kind = 0; kind < N_STATUS_LINES; kind++) {
        struct live_records *records = &live->records[kind];
        size_t n = 0;
        for (size_t i = 0; i < records->n; i++) {
            live_record_settle(kind, records->list[i]);
            if (records->list[i]->is_there) {
                records->list[n++] = records->list[i];
            } else {
                record_free(live, kind, records->list[i]);
            }
        }
        records->n = n;
    }
}

/* ---- resources ---- */

size_t live_resource_count(const struct live *live)
{
    return live->records[LINE_RESOURCE].n;
}

const struct live_resource *live_resource_at(const struct live *live, size_t i)
{
    return (const struct live_resource *)live->records[LINE_RESOURCE].list[i];
}

const struct live_resource *live_resource_find(const struct live *live, const char *name)
{
    return (const struct live_resource *)live_record_named(live, LINE_RESOURCE, name);
}
