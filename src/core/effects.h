/* effects.h - what an operation of the core wants done outside of it.
 *
 * Operations append; the glue carries the effects out after the operation has returned and then
 * calls effects_clear(), which also frees the leases that ended. So nothing outside ever runs
 * inside the core, and a test can assert the whole list. */
#ifndef BERTH_CORE_EFFECTS_H
#define BERTH_CORE_EFFECTS_H

#include "core/outcome.h"

#include <stddef.h>

struct client;
struct lease;

enum effect_kind {
    EFFECT_GRANTED, /* a waiting lease is held now */
    EFFECT_DENIED, /* a waiting lease is over, `why` */
    EFFECT_LOST, /* a held lease is over without its client having asked for it, `why` */
    EFFECT_STOP, /* the client is to stop the job of a held lease, `why` */
    EFFECT_WATCH, /* the caller must see to it that core_process_gone() is called */
    EFFECT_UNWATCH, /* no more: its client is back, and tells */
    EFFECT_SIGNAL, /* `signal` to the process that the lease is bound to; `why`: with whose rights */
    EFFECT_ASK, /* fleet scope: the lease's database is to be asked for it (fleet.h); it may have
                   ended, and EFFECT_GIVE_BACK follows */
    EFFECT_GIVE_BACK, /* fleet scope: the database is to forget it; it may have ended */
    EFFECT_PLACE, /* fleet scope: its place in line is known, or another one */
    EFFECT_DRAINED, /* draining, and the last held lease is over; no lease */
};

struct effect {
    enum effect_kind kind;
    enum outcome why;
    int signal;
    struct lease *lease; /* good until effects_clear() */
    struct client *client; /* whose lease it is, or was; NULL without a lease, or if that is away */
};

struct effects {
    struct effect *list;
    size_t n, size;
    struct lease *ended; /* linked by next_ended; freed by effects_clear() */
    struct lease *changed; /* linked by next_changed: what is written down of them is not true any
                              more. May have ended as well. */
};

#define EFFECTS_INIT {0}

void effects_deinit(struct effects *effects); /* asserts that it has been cleared */
void effects_append(struct effects *effects, enum effect_kind kind, struct lease *lease,
    struct client *client, enum outcome why);
/* Takes out the effects of that kind on the lease that stand at `from` or behind: the caller says
 * the same in another way. */
void effects_withdraw(struct effects *effects, size_t from, enum effect_kind kind,
    const struct lease *lease);
void effects_change(struct effects *effects, struct lease *lease);
/* The caller has dealt with effects->changed. */
void effects_clear_changed(struct effects *effects);
void effects_clear(struct effects *effects);

#endif
