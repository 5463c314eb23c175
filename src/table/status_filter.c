#include "table/status_filter.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- orders ---- */

static uint64_t oldest_in(const struct status *status, const struct status_resource *resource)
{
    uint64_t oldest = 0;
    for (size_t i = 0; i < resource->leases.n; i++) {
        uint64_t age = status_since(status, &resource->leases.list[i].since);
        oldest = age > oldest ? age : oldest;
    }
    return oldest;
}

const struct sort_row sort_rows[] = {
    {"name", SORT_NAME},
    {"kind", SORT_KIND},
    {"limit", SORT_LIMIT},
    {"used", SORT_USED},
    {"free", SORT_FREE},
    {"wait", SORT_WAIT},
    {"age", SORT_AGE},
    {0},
};

/* Of a column of numbers. */
static uint64_t figure(enum sort_column column, const struct status *status,
    const struct status_resource *resource)
{
    switch (column) {
    case SORT_NAME:
    case SORT_KIND:
        break;
    case SORT_LIMIT:
        return resource->limit;
    case SORT_USED:
        return resource->in_use;
    case SORT_FREE:
        return status_grantable(status, resource);
    case SORT_WAIT:
        return resource->waiting;
    case SORT_AGE:
        return oldest_in(status, resource);
    }
    return 0;
}

int sort_compare(const struct sort_row *row, const struct status *status,
    const struct status_resource *left, const struct status_resource *right)
{
    if (row->column == SORT_NAME) {
        return strverscmp(left->name, right->name); /* c9 before c10 */
    }
    if (row->column == SORT_KIND) {
        return strcmp(left->kind, right->kind);
    }
    uint64_t a = figure(row->column, status, left), b = figure(row->column, status, right);
    return (a < b) - (a > b); /* the largest first */
}

const struct sort_row *sort_find(const char *word)
{
    for (const struct sort_row *row = sort_rows; row->word; row++) {
        if (strcmp(row->word, word) == 0) {
            return row;
        }
    }
    return NULL;
}

/* What qsort_r() compares: pointers to resources of the answer. */
struct order {
    const struct status *status;
    const struct sort_row *row;
};

static int compare_resources(const void *left, const void *right, void *context)
{
    const struct order *order = context;
    const struct status_resource *a = *(const struct status_resource *const *)left,
                                 *b = *(const struct status_resource *const *)right;
    int compared = sort_compare(order->row, order->status, a, b);
    return compared != 0 ? compared : (a > b) - (a < b);
}

static void sort(struct status *status, const struct sort_row *row)
{
    size_t n = status->n_resources;
    struct order order = {status, row};
    const struct status_resource **list = memory_resize(NULL, n + 1, sizeof(void *));
    struct status_resource *sorted = memory_resize(NULL, n + 1, sizeof *sorted);
    for (size_t i = 0; i < n; i++) {
        list[i] = &status->resources[i];
    }
    qsort_r(list, n, sizeof(void *), compare_resources, &order);
    for (size_t i = 0; i < n; i++) {
        sorted[i] = *list[i];
    }
    free(list);
    free(status->resources);
    status->resources = sorted;
}

/* ---- which ---- */

bool resource_is_busy(const struct status_resource *resource)
{
    return resource->in_use > 0 || resource->waiting > 0 || resource->leases.n > 0;
}

static void keep_leases_of(struct status_leases *leases, uint64_t uid)
{
    size_t n = 0;
    for (size_t i = 0; i < leases->n; i++) {
        if (leases->list[i].uid == uid) {
            leases->list[n++] = leases->list[i];
        } else {
            status_record_deinit(LINE_HOLDER, &leases->list[i]);
        }
    }
    leases->n = n;
}

static bool is_chosen(struct status_resource *resource, const struct status_filter *choice)
{
    if (choice->uid.is_given) {
        keep_leases_of(&resource->leases, choice->uid.number);
        return resource->leases.n > 0;
    }
    return !choice->busy || resource_is_busy(resource);
}

static bool has_instance(const struct status *status, const struct status_resource *template)
{
    for (size_t i = 0; i < status->n_resources; i++) {
        if (resource_is_of(&status->resources[i], template)) {
            return true;
        }
    }
    return false;
}

void status_choose(struct status *status, const struct status_filter *choice)
{
    size_t n = 0, n_templates = 0;
    for (size_t i = 0; i < status->n_resources; i++) {
        if (is_chosen(&status->resources[i], choice)) {
            status->resources[n++] = status->resources[i];
        } else {
            status_record_deinit(LINE_RESOURCE, &status->resources[i]);
        }
    }
    status->n_left_out += status->n_resources - n;
    status->n_resources = n;
    for (size_t i = 0; i < status->n_templates; i++) {
        struct status_resource *template = &status->templates[i];
        if ((!choice->busy && !choice->uid.is_given) || has_instance(status, template)) {
            status->templates[n_templates++] = *template;
        } else {
            status_record_deinit(LINE_TEMPLATE, template);
        }
    }
    status->n_templates = n_templates;
    if (choice->sort) {
        sort(status, choice->sort);
    }
}

/* ---- rows ---- */

static int compare_instances(const void *left, const void *right)
{
    const struct status_row *a = left, *b = right;
    return strverscmp(a->resource->name, b->resource->name); /* c9 before c10 */
}

bool resource_is_of(const struct status_resource *resource, const struct status_resource *template)
{
    return resource->template && strcmp(resource->template, template->name) == 0;
}

/* The answer has a line for its template. */
static bool is_below_template(
    const struct status *status, const struct status_resource *resource)
{
    for (size_t i = 0; i < status->n_templates; i++) {
        if (resource_is_of(resource, &status->templates[i])) {
            return true;
        }
    }
    return false;
}

/* Adds the instances of the template to the rows; returns how many rows there are then. */
static size_t add_instances(const struct status *status, const struct status_resource *template,
    struct status_row *rows, size_t n)
{
    size_t first = n;
    for (size_t i = 0; i < status->n_resources; i++) {
        const struct status_resource *resource = &status->resources[i];
        if (resource_is_of(resource, template)) {
            rows[n++] = (struct status_row){.resource = resource};
        }
    }
    qsort(&rows[first], n - first, sizeof *rows, compare_instances);
    return n;
}

struct status_row *status_rows(const struct status *status, bool is_sorted)
{
    size_t n = 0, n_rows = status->n_resources + status->n_templates;
    struct status_row *rows = memory_resize(NULL, n_rows + 1, sizeof *rows);
    for (size_t i = 0; i < status->n_resources; i++) {
        const struct status_resource *resource = &status->resources[i];
        if (is_sorted || !is_below_template(status, resource)) {
            rows[n++] = (struct status_row){.resource = resource};
        }
    }
    for (size_t i = 0; i < status->n_templates; i++) {
        rows[n++] = (struct status_row){.template = &status->templates[i]};
        n = is_sorted ? n : add_instances(status, &status->templates[i], rows, n);
    }
    return rows;
}
