/* fleet_model_internal.h - one call of the simulated database's, for the model's own files alone.
 */
#ifndef BERTH_TESTS_SIM_FLEET_MODEL_INTERNAL_H
#define BERTH_TESTS_SIM_FLEET_MODEL_INTERNAL_H

#include "fleet_model.h"

enum { HEAD = 4 }; /* words that every call begins with */

struct call {
    struct model_server *server;
    struct model *data;
    size_t argc;
    const char *const *argv;
    struct text *reply;
    size_t n;
    uint32_t me; /* session; N_MODEL_SESSIONS: not known */
};

/* ---- fleet_model.c ---- */

__attribute__((format(printf, 2, 3))) void say(struct call *call, const char *format, ...);
/* The word, and the times. */
void answer(struct call *call, const char *word);
uint64_t number(const char *text);
uint32_t find_session(const struct model *data, const char *name);
void emit(struct call *call, uint32_t session, const char *text);
void forget_events(struct model *data, uint32_t session, uint64_t up_to);
struct model_lease *find_lease(struct model *data, uint32_t session, const char *id);
struct model_lease *add(struct model *data, const struct model_lease *lease);
void drop(struct model *data, struct model_lease *lease);
bool wants(const struct model_lease *lease, uint32_t resource);
bool is_before(const struct model_lease *a, const struct model_lease *b);
/* Nobody who waits for one of its resources is before it. */
bool is_first(const struct model *data, const struct model_lease *lease);
bool take_units(struct call *call, struct model_lease *lease);
void write_claims(struct text *out, const struct model_lease *lease);
/* Grants all that can be granted, in order. */
void settle(struct call *call);

/* ---- fleet_model_calls.c ---- */

void begin(struct call *call);
void hello(struct call *call);
void acquire(struct call *call);
void release(struct call *call);
void renew(struct call *call);

#endif
