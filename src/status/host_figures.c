#include "status/host_figures.h"

#include "wire/status_keys.h"

struct host_figures host_figures_of(struct core *core)
{
    return (struct host_figures){
        .is_draining = core_is_draining(core),
        .grants_nothing = core_is_draining(core) || core_is_closed(core),
        .held = core_n_held(core),
        .waiting = core_n_waiting(core),
        .grace_until = core_grace_until(core),
        .closed_why = core_closed_why(core),
    };
}

bool host_figures_are_equal(const struct host_figures *a, const struct host_figures *b)
{
    return a->is_draining == b->is_draining && a->grants_nothing == b->grants_nothing &&
        a->held == b->held && a->waiting == b->waiting && a->grace_until == b->grace_until;
}

void host_figures_write(
    struct text *out, const char *word, const struct host_figures *figures, nanoseconds now)
{
    const bool has_grace = figures->grace_until != NEVER;
    const struct status line = {
        .draining = figures->is_draining,
        .held = figures->held,
        .waiting = figures->waiting,
        .granting.is_given = figures->grants_nothing,
        .grace = {has_grace, has_grace ? milliseconds(figures->grace_until - now) : 0},
        .closed = figures->closed_why,
    };
    text_add(out, word);
    fields_add(out, status_fields(LINE_FIGURES), LINE_FIGURES, 1 << FOR_ANYBODY, &line);
    text_add(out, "\n");
}
