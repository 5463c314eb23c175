/* host_figures.h - the figures of this host in the first line of `status`. Pure. */
#ifndef BERTH_STATUS_HOST_FIGURES_H
#define BERTH_STATUS_HOST_FIGURES_H

#include "core/core.h"
#include "wire/status_keys.h"

struct status host_figures_of(struct core *core, nanoseconds now);
/* But for the time. */
bool host_figures_are_equal(const struct status *a, const struct status *b);
/* The line begins with that word. */
void host_figures_write(struct text *out, const char *word, const struct status *figures);

#endif
