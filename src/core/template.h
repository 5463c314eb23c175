/* template.h - a definition "x/" + star, and what operators have changed for all its instances,
 * those to come included. A change to one instance comes before it. */
#pragma once

#include "core/resource.h"

struct template {
    struct table_node by_name;
    TAILQ_ENTRY(template) link; /* in the order of the file */
    const struct definition *definition;
    uint32_t n_instances; /* alive */
    uint32_t runtime_limit; /* of each instance; UNBOUNDED: the definition's */
    struct pause pause;
};

TAILQ_HEAD(template_list, template);

/* The limit of each instance that has none of its own; of a pool, its items. */
static inline uint32_t template_limit(const struct template *template)
{
    return template->runtime_limit != UNBOUNDED ? template->runtime_limit
                                                : definition_limit(template->definition);
}

static inline bool template_is_changed(const struct template *template)
{
    return template->pause.is_on || template->runtime_limit != UNBOUNDED;
}
