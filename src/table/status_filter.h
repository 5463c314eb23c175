/* status_filter.h - which resources and leases of an answer `berthctl status` shows, and in which
 * order. Pure. */
#pragma once

#include "view/status.h"

enum sort_column { SORT_NAME, SORT_KIND, SORT_LIMIT, SORT_USED, SORT_FREE, SORT_WAIT, SORT_AGE };

struct sort_row {
    const char *word; /* of --sort */
    size_t offset; /* of a column of numbers: which member of the resource; or: */
    uint64_t (*figure)(const struct status *status, const struct status_resource *resource);
};

extern const struct sort_row sort_rows[]; /* by enum sort_column; to a word that is NULL */

/* NULL: no such word. */
const struct sort_row *sort_find(const char *word);

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

/* All resources and templates: below each template its instances, by their names; with `sort`, the
 * resources in that order, equal ones in that of the answer, and then the templates. The caller
 * frees the list of n_resources + n_templates; it points into the answer. */
const struct status_resource **status_rows(
    const struct status *status, const struct sort_row *sort);
