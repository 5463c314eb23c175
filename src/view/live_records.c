/* live_records.c - resources, templates and databases of the copy: found by name, in order. */
#include "base/memory.h"
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

/* Also one that has gone since the copy was whole. */
static struct live_record *record_find(
    const struct live *live, enum status_line kind, const char *name)
{
    struct table_node *node = table_find(&live->records[kind].by_name, hash_name(name));
    for (; node; node = table_find_next(node)) {
        struct live_record *record =
            (struct live_record *)((char *)node - offsetof(struct live_record, node));
        if (strcmp(name_in(shown_of(kind, record)), name) == 0) {
            return record;
        }
    }
    return NULL;
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

bool live_record_touch(struct live_record *record)
{
    bool is_first = !record->is_touched;
    if (is_first) {
        record->is_touched = true;
        record->print_before = record->print;
    }
    return is_first;
}

void live_record_say(const struct live *live, enum status_line kind, struct live_record *record,
    const void *shown, uint64_t print)
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

void live_record_settle(enum status_line kind, struct live_record *record)
{
    void *before = before_of(kind, record);
    if (record->is_touched) {
        status_record_deinit(kind, before);
        memset(before, 0, status_kinds[kind].size);
        record->is_touched = false;
        record->stood = record->is_there;
    }
}

void live_record_forget(enum status_line kind, struct live_record *record)
{
    status_record_deinit(kind, shown_of(kind, record));
    status_record_deinit(kind, before_of(kind, record));
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
