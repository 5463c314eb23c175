/* definition_diff.h - which resources a reload makes, changes or takes away: for the log alone. */
#ifndef BERTH_DAEMON_DEFINITION_DIFF_H
#define BERTH_DAEMON_DEFINITION_DIFF_H

#include "core/core.h"

struct definition_diff {
    const char **names; /* the list is ours; the names belong to the definitions */
    size_t n;
};

#define DEFINITION_DIFF_INIT                                                                             \
    {                                                                                              \
        0                                                                                          \
    }

/* What of `definitions`, which are about to be defined, is new or other than now. */
void definition_diff_compare(struct definition_diff *diff, struct core *core,
    const struct definition definitions[], size_t n);
/* When that is done: what of those `before` is not there any more. */
void definition_diff_add_gone(
    struct definition_diff *diff, struct core *core, const struct definition before[], size_t n);
/* While both are there. */
void definition_diff_log(const struct definition_diff *diff);
void definition_diff_deinit(struct definition_diff *diff);

#endif
