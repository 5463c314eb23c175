/* redefined.h - which resources a reload makes, changes or takes away: for the log alone. */
#ifndef BERTH_DAEMON_REDEFINED_H
#define BERTH_DAEMON_REDEFINED_H

#include "core/core.h"

struct redefined {
    const char **names; /* the list is ours; the names belong to the definitions */
    size_t n;
};

#define REDEFINED_INIT                                                                             \
    {                                                                                              \
        0                                                                                          \
    }

/* What of `definitions`, which are about to be defined, is new or other than now. */
void redefined_compare(struct redefined *redefined, struct core *core,
    const struct definition definitions[], size_t n);
/* When that is done: what of those `before` is not there any more. */
void redefined_add_gone(
    struct redefined *redefined, struct core *core, const struct definition before[], size_t n);
/* While both are there. */
void redefined_log(const struct redefined *redefined);
void redefined_deinit(struct redefined *redefined);

#endif
