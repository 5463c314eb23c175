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
    EFFECT_DRAINED, /* draining, and the last held lease is over; no lease */
};

struct effect {
    enum effect_kind kind;
    enum outcome why;
    struct lease *lease; /* good until effects_clear() */
    struct client *client; /* whose lease it is, or was; NULL without a lease */
};

struct effects {
    struct effect *list;
    size_t n, size;
    struct lease *ended; /* freed by effects_clear() */
};

#define EFFECTS_INIT {0}

void effects_deinit(struct effects *effects); /* asserts that it has been cleared */
void effects_append(struct effects *effects, enum effect_kind kind, struct lease *lease,
    struct client *client, enum outcome why);
void effects_clear(struct effects *effects);

#endif
