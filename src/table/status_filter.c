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

#define OF_MEMBER(member) .offset = offsetof(struct status_resource, member)

const struct sort_row sort_rows[] = {
    [SORT_NAME] = {"name", OF_MEMBER(name)},
    [SORT_KIND] = {"kind", OF_MEMBER(kind)},
    [SORT_LIMIT] = {"limit", OF_MEMBER(limit)},
    [SORT_USED] = {"used", OF_MEMBER(in_use)},
    [SORT_FREE] = {"free", .figure = status_grantable},
    [SORT_WAIT] = {"wait", OF_MEMBER(waiting)},
    [SORT_AGE] = {"age", .figure = oldest_in},
    {0},
};

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

static uint64_t figure_of(const struct order *order, const struct status_resource *resource)
{
    const void *member = (const char *)resource + order->row->offset;
    return order->row->figure ? order->row->figure(order->status, resource)
                              : *(const uint64_t *)member;
}

static int sort_compare(const struct order *order, const struct status_resource *left,
    const struct status_resource *right)
{
    if (order->row == &sort_rows[SORT_NAME]) {
        return strverscmp(left->name, right->name); /* c9 before c10 */
    }
    if (order->row == &sort_rows[SORT_KIND]) {
        return strcmp(left->kind, right->kind);
    }
    uint64_t a = figure_of(order, left), b = figure_of(order, right);
    return (a < b) - (a > b); /* the largest first */
}

static int compare_resources(const void *left, const void *right, void *order)
{
    const struct status_resource *a = *(const struct status_resource *const *)left,
                                 *b = *(const struct status_resource *const *)right;
    int compared = sort_compare(order, a, b);
    return compared != 0 ? compared : (a > b) - (a < b);
}

/* ---- rows ---- */

static int compare_instances(const void *left, const void *right)
{
    const struct status_resource *const *a = left, *const *b = right;
    return strverscmp((*a)->name, (*b)->name); /* c9 before c10 */
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
    const struct status_resource **rows, size_t n)
{
    size_t first = n;
    for (size_t i = 0; i < status->n_resources; i++) {
        if (resource_is_of(&status->resources[i], template)) {
            rows[n++] = &status->resources[i];
        }
    }
    qsort(&rows[first], n - first, sizeof(void *), compare_instances);
    return n;
}

const struct status_resource **status_rows(
    const struct status *status, const struct sort_row *sort)
{
    size_t n = 0, n_rows = status->n_resources + status->n_templates;
    struct order order = {status, sort};
    const struct status_resource **rows = memory_resize(NULL, n_rows + 1, sizeof(void *));
    for (size_t i = 0; i < status->n_resources; i++) {
        if (sort || !is_below_template(status, &status->resources[i])) {
            rows[n++] = &status->resources[i];
        }
    }
    if (sort) {
        qsort_r(rows, n, sizeof(void *), compare_resources, &order);
    }
    for (size_t i = 0; i < status->n_templates; i++) {
        rows[n++] = &status->templates[i];
        n = sort ? n : add_instances(status, &status->templates[i], rows, n);
    }
    return rows;
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

static void sort_resources(struct status *status, const struct sort_row *sort)
{
    const struct status_resource **rows = status_rows(status, sort);
    struct status_resource *sorted =
        memory_resize(NULL, status->n_resources + 1, sizeof *sorted);
    for (size_t i = 0; i < status->n_resources; i++) {
        sorted[i] = *rows[i];
    }
    free(rows);
    free(status->resources);
    status->resources = sorted;
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
        sort_resources(status, choice->sort);
    }
}
