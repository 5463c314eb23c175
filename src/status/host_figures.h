/* host_figures.h - the figures of this host in the first line of `status`. Pure. */
#ifndef BERTH_STATUS_HOST_FIGURES_H
#define BERTH_STATUS_HOST_FIGURES_H

#include "base/text.h"
#include "core/core.h"

struct host_figures {
    bool is_draining, grants_nothing;
    uint64_t held, waiting;
    nanoseconds grace_until; /* NEVER: there is no grace */
    const char *closed_why; /* core_closed_why() */
};

struct host_figures host_figures_of(struct core *core);
bool host_figures_are_equal(const struct host_figures *a, const struct host_figures *b);
/* The line begins with that word. */
void host_figures_write(
    struct text *out, const char *word, const struct host_figures *figures, nanoseconds now);

#endif
