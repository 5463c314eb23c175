#include "top/top_rows.h"

#include "base/memory.h"
#include "view/users.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- folds ---- */

struct fold {
    struct table_node node;
    char *name;
    bool is_open;
    uint64_t used; /* when rows were last made of it */
};

enum { MANY_FOLDS = 1000 }; /* of resources that may be gone: instances come and go */

static struct fold *fold_of(const struct top_folds *folds, const char *name)
{
    struct table_node *node = table_find(&folds->table, hash_name(name));
    while (node && strcmp(container_of(node, struct fold, node)->name, name) != 0) {
        node = table_find_next(node);
    }
    return node ? container_of(node, struct fold, node) : NULL;
}

void top_folds_set(struct top_folds *folds, const char *name, bool is_open)
{
    struct fold *fold = fold_of(folds, name);
    if (!fold) {
        fold = memory_new(sizeof *fold);
        fold->name = memory_string(name);
        table_insert(&folds->table, &fold->node, hash_name(name));
    }
    fold->is_open = is_open;
    fold->used = folds->now;
}

/* Those that were used last at that time or before. */
static void top_rows_forget(struct top_folds *folds, uint64_t time)
{
    uint64_t cursor = 0;
    do {
        struct table_node *node = table_walk(&folds->table, &cursor);
        while (node) {
            struct fold *fold = container_of(node, struct fold, node);
            node = node->next;
            if (fold->used <= time) {
                table_remove(&folds->table, &fold->node);
                free(fold->name);
                free(fold);
            }
        }
    } while (cursor != 0);
}

void top_folds_deinit(struct top_folds *folds)
{
    while (folds->table.n > 0) {
        top_rows_forget(folds, UINT64_MAX);
    }
    table_deinit(&folds->table);
}

/* ---- what is chosen ---- */

static bool has_text(const char *string, const char *wanted)
{
    return string && strcasestr(string, wanted);
}

/* Its arguments, or its name if it has given none: where they are shown. */
static bool process_has_text(const struct status_lease *lease, const struct top_choice *choice)
{
    bool is_shown = choice->with_arguments || !lease->shown[SHOWN_program];
    return choice->process_of && is_shown &&
        has_text(
            choice->process_of(choice->context, lease, choice->with_arguments), choice->filter);
}

static bool lease_has_text(const struct status_lease *lease, const struct top_choice *choice)
{
    const char *wanted = choice->filter;
    const char *const texts[] = {
        lease->id, user_name(lease->uid), lease->host, lease->holder, lease->stopping};
    bool has = false;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0] && !has; i++) {
        has = has_text(texts[i], wanted);
    }
    for (size_t i = 0; i < N_SHOWN && !has; i++) {
        has = has_text(lease->shown[i], wanted);
    }
    for (size_t i = 0; i < lease->units.n && !has; i++) {
        has = has_text(lease->units.list[i], wanted);
    }
    return has || process_has_text(lease, choice);
}

/* `has_text`: the resource has the text that is looked for, and so all its leases are meant. */
static bool is_chosen(const struct status_lease *lease, const struct top_choice *choice, bool named)
{
    return (!choice->by_user || lease->uid == choice->uid) &&
        (named || lease_has_text(lease, choice));
}

static size_t count_chosen(
    const struct status_leases *leases, const struct top_choice *choice, bool named)
{
    size_t n = 0;
    for (size_t i = 0; i < leases->n; i++) {
        n += is_chosen(&leases->list[i], choice, named);
    }
    return n;
}

/* A resource that may be listed. */
struct candidate {
    const struct status_resource *resource;
    size_t place; /* in the picture */
    size_t n_leases; /* of those chosen */
    bool is_named; /* see is_chosen() */
    bool is_open;
};

struct candidates {
    const struct status *status;
    const struct top_choice *choice;
    struct candidate *list;
    size_t n;
    size_t n_rows; /* of resources, and of leases of those that are open */
};

static void add_candidate(
    struct candidates *candidates, const struct status_resource *resource, size_t place)
{
    const struct top_choice *choice = candidates->choice;
    bool named = choice->filter[0] == '\0' || has_text(resource->name, choice->filter);
    size_t n = count_chosen(&resource->holders, choice, named) +
        count_chosen(&resource->waiters, choice, named);
    bool is_meant = n > 0 ||
        (named && !choice->by_user && (!choice->busy || resource_is_busy(resource)));
    if (is_meant) {
        candidates->list[candidates->n++] = (struct candidate){
            .resource = resource, .place = place, .n_leases = n, .is_named = named};
    }
}

static int compare_candidates(const void *left, const void *right, void *context)
{
    const struct candidates *candidates = context;
    const struct candidate *a = left, *b = right;
    int compared =
        sort_compare(candidates->choice->sort, candidates->status, a->resource, b->resource);
    return compared != 0 ? compared : (a->place > b->place) - (a->place < b->place);
}

/* ---- what is open ---- */

/* Leases that were looked for are shown wherever they are. */
static bool are_looked_for(const struct candidate *candidate, const struct top_choice *choice)
{
    return choice->by_user || !candidate->is_named;
}

static void open_known(struct candidates *candidates, struct top_folds *folds)
{
    for (size_t i = 0; i < candidates->n; i++) {
        struct candidate *candidate = &candidates->list[i];
        struct fold *fold = fold_of(folds, candidate->resource->name);
        if (fold) {
            fold->used = folds->now;
        }
        candidate->is_open = fold ? fold->is_open : are_looked_for(candidate, candidates->choice);
        candidates->n_rows += 1 + (candidate->is_open ? candidate->n_leases : 0);
    }
}

static void open_new(struct candidates *candidates, struct top_folds *folds, size_t room)
{
    size_t n_leases = candidates->n_rows - candidates->n - candidates->status->n_templates;
    for (size_t i = 0; i < candidates->n; i++) {
        struct candidate *candidate = &candidates->list[i];
        size_t n = candidate->n_leases;
        bool fits = candidates->n_rows + n <= room || n_leases + n <= room / 2;
        if (n > 0 && fits && !fold_of(folds, candidate->resource->name)) {
            top_folds_set(folds, candidate->resource->name, true);
            n_leases += candidate->is_open ? 0 : n;
            candidates->n_rows += candidate->is_open ? 0 : n;
            candidate->is_open = true;
        }
    }
}

/* ---- rows ---- */

const char *top_row_name(const struct top_row *row)
{
    return row->kind == TOP_TEMPLATE ? row->template->name : row->resource->name;
}

const char *top_row_lease(const struct top_row *row)
{
    return row->lease ? row->lease->id : NULL;
}

void top_rows_deinit(struct top_rows *rows)
{
    free(rows->list);
    *rows = (struct top_rows)TOP_ROWS_INIT;
}

static void add_row(struct top_rows *rows, const struct top_row *row)
{
    rows->list = memory_grow(rows->list, rows->n, sizeof *rows->list);
    rows->list[rows->n] = *row;
    rows->list[rows->n++].status = rows->status;
}

static void widen(size_t *widthp, size_t width)
{
    *widthp = width > *widthp ? width : *widthp;
}

static void add_leases(struct top_rows *rows, const struct candidate *candidate,
    const struct status_leases *leases, const struct top_choice *choice, enum top_row_kind kind)
{
    for (size_t i = 0; i < leases->n; i++) {
        const struct status_lease *lease = &leases->list[i];
        if (is_chosen(lease, choice, candidate->is_named)) {
            add_row(rows,
                &(struct top_row){.kind = kind,
                    .resource = candidate->resource,
                    .lease = lease,
                    .place = lease->position > 0 ? lease->position : i + 1});
        }
    }
}

static void top_rows_add_resource(
    struct top_rows *rows, const struct candidate *candidate, const struct top_choice *choice)
{
    const struct status_resource *resource = candidate->resource;
    add_row(rows,
        &(struct top_row){.kind = TOP_RESOURCE,
            .resource = resource,
            .has_leases = candidate->n_leases > 0,
            .is_open = candidate->is_open});
    widen(&rows->name_width, strlen(resource->name));
    widen(&rows->used_width,
        (size_t)snprintf(NULL, 0, "%llu/%llu", (unsigned long long)resource->in_use,
            (unsigned long long)resource->limit));
    widen(&rows->waiting_width,
        (size_t)snprintf(NULL, 0, "%llu", (unsigned long long)resource->waiting));
    if (candidate->is_open) {
        add_leases(rows, candidate, &resource->holders, choice, TOP_HOLDER);
        add_leases(rows, candidate, &resource->waiters, choice, TOP_WAITER);
    }
}

static int compare_instances(const void *left, const void *right)
{
    const struct candidate *a = left, *b = right;
    return strverscmp(a->resource->name, b->resource->name); /* c9 before c10 */
}

/* Below each template its instances, by their names. A template is shown for its own sake only
 * where nothing is looked for. */
static void add_template(struct top_rows *rows, const struct candidates *candidates,
    const struct status_resource *template, struct candidate *instances)
{
    const struct top_choice *choice = candidates->choice;
    bool is_meant = !choice->busy && !choice->by_user &&
        (choice->filter[0] == '\0' || has_text(template->name, choice->filter));
    size_t n = 0;
    for (size_t i = 0; i < candidates->n; i++) {
        if (resource_is_of(candidates->list[i].resource, template)) {
            instances[n++] = candidates->list[i];
        }
    }
    if (is_meant || n > 0) {
        widen(&rows->name_width, strlen(template->name));
        add_row(rows, &(struct top_row){.kind = TOP_TEMPLATE, .template = template});
    }
    qsort(instances, n, sizeof *instances, compare_instances);
    for (size_t i = 0; i < n && !choice->sort; i++) {
        top_rows_add_resource(rows, &instances[i], choice);
    }
}

static void add_all(struct top_rows *rows, const struct candidates *candidates)
{
    const struct status *status = candidates->status;
    struct candidate *instances = memory_resize(NULL, candidates->n + 1, sizeof *instances);
    for (size_t i = 0; i < candidates->n; i++) {
        const struct candidate *candidate = &candidates->list[i];
        if (candidates->choice->sort || !resource_is_below_template(status, candidate->resource)) {
            top_rows_add_resource(rows, candidate, candidates->choice);
        }
    }
    for (size_t i = 0; i < status->n_templates; i++) {
        add_template(rows, candidates, &status->templates[i], instances);
    }
    free(instances);
}

void top_rows_make(struct top_rows *rows, const struct status *status,
    const struct top_choice *choice, struct top_folds *folds, size_t room)
{
    struct candidates candidates = {
        .status = status,
        .choice = choice,
        .list = memory_resize(NULL, status->n_resources + 1, sizeof *candidates.list),
    };
    *rows = (struct top_rows){.list = rows->list};
    rows->status = status;
    rows->n_resources = status->n_resources;
    for (size_t i = 0; i < status->n_resources; i++) {
        rows->n_busy += resource_is_busy(&status->resources[i]);
        rows->has_hosts |= status->resources[i].database != NULL;
        add_candidate(&candidates, &status->resources[i], i);
    }
    candidates.n_rows = status->n_templates;
    folds->now++;
    open_known(&candidates, folds);
    if (choice->sort) {
        qsort_r(candidates.list, candidates.n, sizeof *candidates.list, compare_candidates,
            &candidates);
    }
    open_new(&candidates, folds, room);
    if (folds->table.n > candidates.n + MANY_FOLDS) {
        top_rows_forget(folds, folds->now - 1);
    }
    add_all(rows, &candidates);
    free(candidates.list);
}
