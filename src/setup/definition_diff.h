/* definition_diff.h - which resources a reload adds, changes or removes: for the log alone. */
#ifndef BERTH_SETUP_DEFINITION_DIFF_H
#define BERTH_SETUP_DEFINITION_DIFF_H

#include "core/core.h"

struct definition_diff {
    const char **names; /* we own the list; the names belong to the definitions */
    size_t n;
};

#define DEFINITION_DIFF_INIT                                                                       \
    {                                                                                              \
        0                                                                                          \
    }

/* Finds what is new or changed in `definitions`, which are about to be defined. */
void definition_diff_compare(struct definition_diff *diff, struct core *core,
    const struct definition definitions[], size_t n);
/* After that is done: adds resources of `before` that are gone. */
void definition_diff_add_gone(
    struct definition_diff *diff, struct core *core, const struct definition before[], size_t n);
/* While both sets exist. */
void definition_diff_log(const struct definition_diff *diff);
void definition_diff_deinit(struct definition_diff *diff);

#endif
