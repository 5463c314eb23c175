/* effects.h - what an operation of the core wants done outside the core.
 *
 * Operations append; the glue carries the effects out after the operation has returned and then
 * calls effects_clear(), which also frees the leases that ended. So nothing outside ever runs
 * inside the core, and a test can assert the whole list. */
#pragma once

#include "core/types.h"

struct client;
struct lease;
struct news;

enum effect_kind {
    EFFECT_GRANTED, /* a waiting lease is held now */
    EFFECT_DENIED, /* a waiting lease is over, `why` */
    EFFECT_LOST, /* a held lease is over although its client did not ask, `why` */
    EFFECT_STOP, /* the client is to stop the job of a held lease, `why` */
    EFFECT_WATCH, /* the caller must call core_process_exited() when the process is gone */
    EFFECT_UNWATCH, /* end the watch: the client is back, and reports itself */
    EFFECT_SIGNAL, /* send `signal` to the lease's process; `why`: with whose rights */
    EFFECT_ASK, /* fleet scope: ask the lease's database for it (fleet.h); the lease may have
                   ended, and EFFECT_GIVE_BACK follows */
    EFFECT_GIVE_BACK, /* fleet scope: the database is to forget the lease, which may have ended */
    EFFECT_PLACE, /* fleet scope: the lease's place in line is known, or has changed */
    EFFECT_DRAINED, /* draining, and the last held lease is over; no lease is named */
};

struct effect {
    enum effect_kind kind;
    enum outcome why;
    int signal;
    struct lease *lease; /* good until effects_clear() */
    struct client *client; /* the lease's, now or last; NULL without a lease, or if it is away */
    char *reason; /* an operator's words, owned; or NULL */
    char *resource; /* of the lease's, the one that is denied; owned; NULL: not known */
};

struct effects {
    struct effect *list;
    size_t n, size;
    struct lease *ended; /* linked by next_ended; freed by effects_clear() */
    struct lease *changed; /* linked by next_changed: their records are out of date. They may
                              have ended as well. */
    struct news *news; /* where such a change is told as well; NULL: nowhere */
};

#define EFFECTS_INIT {0}

void effects_deinit(struct effects *effects); /* asserts that effects_clear() was called */
void effects_append(struct effects *effects, enum effect_kind kind, struct lease *lease,
    struct client *client, enum outcome why);
/* The same with an operator's words, which it takes over; or NULL. */
void effects_append_saying(struct effects *effects, enum effect_kind kind, struct lease *lease,
    struct client *client, enum outcome why, char *reason);
/* Takes out the effects of that kind on the lease from index `from` on: the caller reports them in
 * another way. */
void effects_withdraw(struct effects *effects, size_t from, enum effect_kind kind,
    const struct lease *lease);
/* From index `from` on, the lease is denied for this one of its resources; copied. */
void effects_name_resource(
    struct effects *effects, size_t from, const struct lease *lease, const char *resource);
void effects_change(struct effects *effects, struct lease *lease);
/* The caller has written down effects->changed. */
void effects_clear_changed(struct effects *effects);
void effects_clear(struct effects *effects);
