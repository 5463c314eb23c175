#include "status/host_figures.h"

struct status host_figures_of(struct core *core, nanoseconds now)
{
    bool grants_nothing = core_is_draining(core) || core_is_closed(core);
    nanoseconds grace_until = core_grace_until(core);
    struct status figures = {
        .now = instant_of(now),
        .draining = core_is_draining(core),
        .held = core_n_held(core),
        .waiting = core_n_waiting(core),
        .granting.is_given = grants_nothing,
        .closed = core_closed_why(core),
    };
    if (grace_until != NEVER) {
        figures.grace_until = instant_of(grace_until);
    }
    return figures;
}

bool host_figures_are_equal(const struct status *a, const struct status *b)
{
    return a->draining == b->draining && a->granting.is_given == b->granting.is_given &&
        a->held == b->held && a->waiting == b->waiting &&
        a->grace_until.is_given == b->grace_until.is_given &&
        a->grace_until.at == b->grace_until.at;
}

void host_figures_write(struct text *out, const char *word, const struct status *figures)
{
    text_add(out, word);
    fields_add(out, status_fields(LINE_FIGURES), 1 << FOR_ANYBODY, figures);
    text_add(out, "\n");
}
