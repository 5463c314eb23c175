/* operation.h - one random step of the simulation, and how it reads. */
#pragma once

#include "model.h"
#include "random.h"

enum operation_kind {
    OPERATION_ACQUIRE,
    OPERATION_END,
    OPERATION_CLIENT,
    OPERATION_GONE,
    OPERATION_TICK,
    OPERATION_CHANGE,
    OPERATION_DRAIN,
    OPERATION_DEFINE,
    OPERATION_DIES, /* the process of a lease */
    OPERATION_REPORTED, /* that it is gone */
    OPERATION_REVOKE,
    OPERATION_WITHDRAW, /* revoked by its own user */
    OPERATION_DROP,
    OPERATION_MOVE,
    OPERATION_RENEW,
    OPERATION_BIND,
    OPERATION_RESTART,
    OPERATION_RECLAIM,
    OPERATION_REPEAT, /* a repeated acquire, by its `once` */
    OPERATION_RECLAIM_UNKNOWN,
};

struct operation {
    enum operation_kind kind;
    nanoseconds now;
    int client; /* the one who acts */
    uint32_t uid; /* with a change: who pays for an instance, 0: nobody */
    struct model_ask ask;
    uint64_t lease; /* the one concerned */
    char name[MODEL_NAME]; /* the one changed */
    enum change_kind change;
    uint32_t number; /* limit, slot or item */
    bool is_first; /* of a move */
    bool is_old; /* the change was made before a restart */
    bool draining;
    bool half; /* of a client that goes: it still reads */
    nanoseconds ttl; /* of a renewal */
    enum binding binding; /* the new one */
    bool was_held; /* of the unknown lease */
    struct model_said said; /* if was_held */
    uint64_t rules_seed; /* of a definition or restart */
    struct {
        bool closed; /* some records may be missing */
        bool id_allocator_lose;
        bool keeps_changes; /* operators' runtime changes are made again */
        uint32_t lost_percent;
        uint64_t seed; /* decides which are missing, and in which order the others are found */
    } restart;
};

/* One that is connected, or not; -1: there is none. */
int some_client(const struct model *model, bool connected, struct random *random);
/* An operation that makes sense in the model's present state, more or less. */
void operation_make(
    struct operation *operation, const struct model *model, nanoseconds now, struct random *random);
/* A configuration; the same seed makes the same one. */
void rules_make(struct rules_file *file, uint64_t seed);
void operation_print(const struct operation *operation);
