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
    return is_shown &&
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
    return (!choice->only.uid.is_given || lease->uid == choice->only.uid.number) &&
        (named || lease_has_text(lease, choice));
}

/* What may be listed, in the order of the list. */
struct candidate {
    const struct status_resource *resource; /* or template */
    size_t n_leases; /* of those chosen */
    bool is_named; /* see is_chosen() */
    bool is_meant; /* for its own sake */
    bool is_open;
};

struct candidates {
    const struct top_choice *choice;
    struct candidate *list;
    size_t n;
    size_t n_rows; /* of the list, and of leases of those that are open */
};

static bool is_named(const char *name, const struct top_choice *choice)
{
    return choice->filter[0] == '\0' || has_text(name, choice->filter);
}

static void add_candidate(
    struct candidates *candidates, const struct status_resource *resource)
{
    const struct top_choice *choice = candidates->choice;
    struct candidate candidate = {
        .resource = resource, .is_named = is_named(resource->name, choice)};
    for (size_t i = 0; i < resource->leases.n; i++) {
        candidate.n_leases += is_chosen(&resource->leases.list[i], choice, candidate.is_named);
    }
    candidate.is_meant = candidate.n_leases > 0 ||
        (candidate.is_named && !choice->only.uid.is_given &&
            (!choice->only.busy || resource_is_busy(resource)));
    /* a template stands above its instances, too */
    if (candidate.is_meant || resource->is_template) {
        candidates->list[candidates->n++] = candidate;
    }
}

/* ---- what is open ---- */

/* Leases that were looked for are shown wherever they are. */
static bool are_looked_for(const struct candidate *candidate, const struct top_choice *choice)
{
    return choice->only.uid.is_given || !candidate->is_named;
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
    size_t n_leases = candidates->n_rows - candidates->n;
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

const char *top_row_lease(const struct top_row *row)
{
    return row->lease ? row->lease->id : NULL;
}

static void add_row(struct top_rows *rows, const struct top_row *row)
{
    rows->list = memory_grow(rows->list, rows->n, sizeof *rows->list);
    rows->list[rows->n++] = *row;
}

static void widen(size_t *widthp, size_t width)
{
    *widthp = width > *widthp ? width : *widthp;
}

static void add_leases(
    struct top_rows *rows, const struct candidate *candidate, const struct top_choice *choice)
{
    const struct status_resource *resource = candidate->resource;
    for (size_t i = 0; i < resource->leases.n; i++) {
        const struct status_lease *lease = &resource->leases.list[i];
        if (is_chosen(lease, choice, candidate->is_named)) {
            add_row(rows, &(struct top_row){.resource = resource, .lease = lease});
        }
    }
}

static void top_rows_add_resource(
    struct top_rows *rows, const struct candidate *candidate, const struct top_choice *choice)
{
    const struct status_resource *resource = candidate->resource;
    add_row(rows,
        &(struct top_row){.resource = resource,
            .has_leases = candidate->n_leases > 0,
            .is_open = candidate->is_open});
    widen(&rows->name_width, strlen(resource->name));
    if (!resource->is_template) {
        widen(&rows->used_width,
            (size_t)snprintf(NULL, 0, "%llu/%llu", (unsigned long long)resource->in_use,
                (unsigned long long)resource->limit));
        widen(&rows->waiting_width,
            (size_t)snprintf(NULL, 0, "%llu", (unsigned long long)resource->waiting));
    }
    if (candidate->is_open) {
        add_leases(rows, candidate, choice);
    }
}

/* For its own sake, or above an instance. */
static bool is_shown(const struct candidates *candidates, const struct candidate *candidate)
{
    bool is_shown = candidate->is_meant;
    for (size_t i = 0; i < candidates->n && !is_shown; i++) {
        is_shown = resource_is_of(candidates->list[i].resource, candidate->resource);
    }
    return is_shown;
}

/* ---- what the header says of them ---- */

/* The leases that are chosen, each as often as it is listed. */
struct listed {
    const struct status_lease **leases; /* owned */
    size_t n;
};

static void count_resource(struct top_rows *rows, struct listed *listed,
    const struct candidate *candidate, const struct top_choice *choice)
{
    const struct status_resource *resource = candidate->resource;
    rows->n_resources += !resource->is_template;
    rows->n_busy += !resource->is_template && resource_is_busy(resource);
    for (size_t i = 0; i < resource->leases.n; i++) {
        const struct status_lease *lease = &resource->leases.list[i];
        if (is_chosen(lease, choice, candidate->is_named)) {
            listed->leases = memory_grow(listed->leases, listed->n, sizeof *listed->leases);
            listed->leases[listed->n++] = lease;
        }
    }
}

static void count_leases(struct top_rows *rows, struct listed *listed)
{
    size_t n = status_leases_once(listed->leases, listed->n);
    for (size_t i = 0; i < n; i++) {
        bool is_held = listed->leases[i]->is_held;
        rows->n_held += is_held;
        rows->n_waiting += !is_held;
    }
    free(listed->leases);
}

/* ---- all of them ---- */

static void add_all(struct top_rows *rows, const struct candidates *candidates)
{
    struct listed listed = {NULL, 0};
    for (size_t i = 0; i < candidates->n; i++) {
        const struct candidate *candidate = &candidates->list[i];
        if (is_shown(candidates, candidate)) {
            top_rows_add_resource(rows, candidate, candidates->choice);
            count_resource(rows, &listed, candidate, candidates->choice);
        }
    }
    count_leases(rows, &listed);
}

void top_rows_make(struct top_rows *rows, const struct status *status,
    const struct top_choice *choice, struct top_folds *folds, size_t room)
{
    size_t n = status->n_resources + status->n_templates;
    const struct status_resource **all = status_rows(status, choice->only.sort);
    struct candidates candidates = {
        .choice = choice,
        .list = memory_resize(NULL, n + 1, sizeof *candidates.list),
    };
    *rows = (struct top_rows){.list = rows->list};
    for (size_t i = 0; i < status->n_resources; i++) {
        rows->has_hosts |= status->resources[i].database != NULL;
    }
    for (size_t i = 0; i < n; i++) {
        add_candidate(&candidates, all[i]);
    }
    folds->now++;
    open_known(&candidates, folds);
    open_new(&candidates, folds, room);
    if (folds->table.n > candidates.n + MANY_FOLDS) {
        top_rows_forget(folds, folds->now - 1);
    }
    add_all(rows, &candidates);
    free(candidates.list);
    free(all);
}
