/* answers_internal.h - the one world of a run of answers.c. */
#pragma once

#include "../unit/core_remember.h"
#include "core/fleet.h"
#include "random.h"
#include "runs.h"

enum { N_CLIENTS = 6, MAX_LEASES = 48, N_DATABASES = 2, MAX_CLAIMED = 3 };

#define SECOND NANOSECONDS_PER_SECOND

/* What the world outside knows of a lease. */
struct known {
    uint64_t id; /* 0: not used */
    bool is_there; /* its database was asked, or has it from before */
    bool is_killed; /* SIGKILL has been asked for, perhaps by an earlier core */
    nanoseconds dead_by; /* once its stop has begun, its deadline: SIGKILL by then; or 0 */
    nanoseconds told; /* a program: it has its units until then, or 0 */
    struct saved_lease *record;
};

struct world {
    struct core *core;
    struct effects effects;
    struct client clients[N_CLIENTS];
    bool is_connected[N_CLIENTS];
    struct known known[2 * MAX_LEASES];
    struct random random;
    nanoseconds now;
    nanoseconds good_until[N_DATABASES];
    uint64_t granting; /* the lease that a database is granting just now */
};

extern struct world world;

/* NULL if there is none; for id 0: an unused one. */
struct known *known_find(uint64_t id);
struct known *known_add(const struct lease *lease);
/* A random one; NULL if there is none. */
struct lease *some_lease(void);

/* Carries out the effects of an operation. */
void take_effects(void);
/* The same, then checks all that must be true. */
void check(void);
