/* live_records.c - resources, templates and databases of the copy: found by name, in order. */
#include "base/memory.h"
#include "view/live_internal.h"

#include <stdlib.h>
#include <string.h>

enum { NO_GENERATION = 0 }; /* that of no line */

/* ---- kinds ---- */

static bool resource_take(void *shown, const char *line)
{
    return status_resource_take(shown, line);
}

static bool database_take(void *shown, const char *line)
{
    return status_database_take(shown, line);
}

static void resource_deinit(void *shown)
{
    status_resource_deinit(shown);
}

static void database_deinit(void *shown)
{
    status_database_deinit(shown);
}

/* What a line of the kind makes, and where its record has it. */
static const struct kind {
    size_t size; /* of the record */
    size_t shown, before; /* members of the record */
    size_t shown_size;
    size_t name; /* member of .shown */
    bool (*take)(void *shown, const char *line); /* into zeroes */
    void (*deinit)(void *shown);
} kinds[N_LIVE_KINDS] = {
#define RESOURCES                                                                                  \
    {                                                                                              \
        sizeof(struct live_resource), offsetof(struct live_resource, shown),                       \
            offsetof(struct live_resource, before), sizeof(struct status_resource),                \
            offsetof(struct status_resource, name), resource_take, resource_deinit                 \
    }
    [LIVE_RESOURCE] = RESOURCES,
    [LIVE_TEMPLATE] = RESOURCES,
#undef RESOURCES
    [LIVE_DATABASE] = {sizeof(struct live_database), offsetof(struct live_database, shown),
        offsetof(struct live_database, before), sizeof(struct status_database),
        offsetof(struct status_database, name), database_take, database_deinit},
};

static void *shown_of(const struct kind *kind, struct live_record *record)
{
    return (char *)record + kind->shown;
}

static void *before_of(const struct kind *kind, struct live_record *record)
{
    return (char *)record + kind->before;
}

static const char *name_in(const struct kind *kind, const void *shown)
{
    return *(const char *const *)((const char *)shown + kind->name);
}

/* ---- records ---- */

/* Also one that has gone since the copy was whole. */
static struct live_record *record_find(
    const struct live *live, enum live_kind kind, const char *name)
{
    const struct kind *row = &kinds[kind];
    struct table_node *node = table_find(&live->records[kind].by_name, hash_name(name));
    for (; node; node = table_find_next(node)) {
        struct live_record *record =
            (struct live_record *)((char *)node - offsetof(struct live_record, node));
        if (strcmp(name_in(row, shown_of(row, record)), name) == 0) {
            return record;
        }
    }
    return NULL;
}

struct live_record *live_record_named(
    const struct live *live, enum live_kind kind, const char *name)
{
    struct live_record *record = record_find(live, kind, name);
    return record && record->is_there ? record : NULL;
}

static struct live_record *record_new(struct live *live, enum live_kind kind, const char *name)
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

static void touch(struct live_record *record)
{
    if (!record->is_touched) {
        record->is_touched = true;
        record->print_before = record->print;
    }
}

/* Puts what a line says in place of what an earlier one has said. */
static void replace(const struct kind *kind, struct live_record *record, const void *shown)
{
    void *last = shown_of(kind, record), *before = before_of(kind, record);
    bool is_kept = record->stood && !name_in(kind, before);
    if (is_kept) {
        memcpy(before, last, kind->shown_size);
    } else {
        kind->deinit(last);
    }
    memcpy(last, shown, kind->shown_size);
}

bool live_record_take(struct live *live, enum live_kind kind, const char *line)
{
    union {
        struct status_resource resource;
        struct status_database database;
    } shown;
    const struct kind *row = &kinds[kind];
    memset(&shown, 0, sizeof shown);
    if (!row->take(&shown, line)) {
        row->deinit(&shown);
        return false;
    }
    const char *name = name_in(row, &shown);
    struct live_record *record = record_find(live, kind, name);
    record = record ? record : record_new(live, kind, name);
    touch(record);
    record->is_there = true;
    record->generation = live->generation;
    record->print = hash_name(line);
    replace(row, record, &shown);
    if (kind == LIVE_RESOURCE) {
        ((struct live_resource *)record)->changed = live->serial + 1;
    }
    return true;
}

static void leave(struct live *live, enum live_kind kind, struct live_record *record)
{
    touch(record);
    record->is_there = false;
    if (kind == LIVE_RESOURCE) {
        live_leases_sweep(live, (struct live_resource *)record, NO_GENERATION);
    }
}

void live_record_gone(struct live *live, enum live_kind kind, const char *name)
{
    struct live_record *record = live_record_named(live, kind, name);
    if (record) {
        leave(live, kind, record);
    }
}

void live_sweep(struct live *live)
{
    for (enum live_kind kind = 0; kind < N_LIVE_KINDS; kind++) {
        struct live_records *records = &live->records[kind];
        for (size_t i = 0; i < records->n; i++) {
            struct live_record *record = records->list[i];
            if (record->is_there && record->generation != live->generation) {
                leave(live, kind, record);
            } else if (kind == LIVE_RESOURCE) {
                live_leases_sweep(live, (struct live_resource *)record, live->generation);
            }
        }
    }
}

/* ---- the end of a batch ---- */

static void record_free(struct live *live, enum live_kind kind, struct live_record *record)
{
    const struct kind *row = &kinds[kind];
    table_remove(&live->records[kind].by_name, &record->node);
    row->deinit(shown_of(row, record));
    row->deinit(before_of(row, record));
    if (kind != LIVE_DATABASE) {
        struct live_resource *resource = (struct live_resource *)record;
        free(resource->holders.list);
        free(resource->waiters.list);
        free(resource->shown_holders.list);
        free(resource->shown_waiters.list);
    }
    free(record);
}

static void settle(const struct kind *kind, struct live_record *record)
{
    void *before = before_of(kind, record);
    if (record->is_touched) {
        kind->deinit(before);
        memset(before, 0, kind->shown_size);
        record->is_touched = false;
        record->stood = record->is_there;
    }
}

void live_records_settle(struct live *live)
{
    for (enum live_kind kind = 0; kind < N_LIVE_KINDS; kind++) {
        struct live_records *records = &live->records[kind];
        size_t n = 0;
        for (size_t i = 0; i < records->n; i++) {
            settle(&kinds[kind], records->list[i]);
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
    return live->records[LIVE_RESOURCE].n;
}

const struct live_resource *live_resource_at(const struct live *live, size_t i)
{
    return (const struct live_resource *)live->records[LIVE_RESOURCE].list[i];
}

const struct live_resource *live_resource_find(const struct live *live, const char *name)
{
    return (const struct live_resource *)live_record_named(live, LIVE_RESOURCE, name);
}
