/* status_filter.h - which resources and leases of an answer `berthctl status` shows, and in which
 * order. Pure. */
#pragma once

#include "view/status.h"

enum sort_column { SORT_NAME, SORT_KIND, SORT_LIMIT, SORT_USED, SORT_FREE, SORT_WAIT, SORT_AGE };

struct sort_row {
    const char *word; /* of --sort */
    enum sort_column column;
};

extern const struct sort_row sort_rows[]; /* by .column; to a word that is NULL */

/* NULL: no such word. */
const struct sort_row *sort_find(const char *word);

/* As of qsort(): whether `left` comes before. */
int sort_compare(const struct sort_row *row, const struct status *status,
    const struct status_resource *left, const struct status_resource *right);

/* It is held or waited for. */
bool resource_is_busy(const struct status_resource *resource);
bool resource_is_of(const struct status_resource *resource, const struct status_resource *template);

struct status_filter {
    bool busy; /* only what is held or waited for */
    struct optional uid; /* only leases of this user, and resources that have one */
    const struct sort_row *sort; /* NULL: in the order of the answer */
};

/* Takes out of the answer what is not chosen, and sorts its resources; equal ones stay in the order
 * of the answer. A template stays if an instance of it does. */
void status_choose(struct status *status, const struct status_filter *choice);

/* A line of the table: a resource or a template; the other is NULL. */
struct status_row {
    const struct status_resource *resource;
    const struct status_resource *template;
};

/* All of them: below each template its instances, by their names; with `is_sorted`, the resources
 * as they are, and then the templates. The caller frees the list of n_resources + n_templates; it
 * points into the answer. */
struct status_row *status_rows(const struct status *status, bool is_sorted);
