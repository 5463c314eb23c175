/* fleet_model.h - what the scripts do, in a few hundred lines of C without a server: for the
 * simulation of a fleet. It is plain data, so that a copy of it is a backup. Semaphores alone, no
 * cooldown, no identities; times are ms. */
#ifndef BERTH_TESTS_SIM_FLEET_MODEL_H
#define BERTH_TESTS_SIM_FLEET_MODEL_H

#include "store/scripts.h"
#include "wire/textbuf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    N_MODEL_SESSIONS = 4,
    N_MODEL_RESOURCES = 4,
    N_MODEL_LEASES = 512,
    N_MODEL_EVENTS = 600,
    N_MODEL_CLAIMS = 3,
    EVENT_BYTES = 160,
};

struct model_claim {
    uint32_t resource, count;
    uint64_t token;
    uint32_t units; /* a bit for each */
};

struct model_lease {
    char id[16];
    uint32_t session;
    bool is_held;
    int32_t priority;
    uint64_t ticket, incarnation;
    size_t n_claims;
    struct model_claim claims[N_MODEL_CLAIMS];
};

struct model_event {
    uint32_t session;
    uint64_t number;
    char text[EVENT_BYTES];
};

struct model_session {
    char name[20];
    bool is_known;
    uint64_t incarnation, epoch, n_events;
    int64_t expiry; /* of the database's clock */
};

struct model {
    bool exists;
    uint64_t run;
    int64_t ttl, lag, clock, last, grace; /* grace: 0 if there is none */
    uint64_t number, ticket, epoch, sequence;
    struct model_session sessions[N_MODEL_SESSIONS];
    struct model_lease leases[N_MODEL_LEASES];
    size_t n_leases;
    struct model_event events[N_MODEL_EVENTS];
    size_t n_events;
};

/* Of the server, whatever becomes of its data. */
struct model_server {
    struct model data;
    uint64_t run; /* of the server that has it */
    uint32_t limits[N_MODEL_RESOURCES]; /* of "r0", "r1", ... */
    bool refuses_writes; /* all but renewals and releases are an error */
    void (*publish)(void *context, uint32_t session, const char *text); /* UINT32_MAX: to all */
    void *context;
};

/* One script, at `now`: the reply as strings that each end with a NUL, *np of them. An error is one
 * that begins with "-". `argv` has no keys. */
void model_call(struct model_server *server, enum script script, size_t argc,
    const char *const argv[], int64_t now, struct text *reply, size_t *np);

#endif
