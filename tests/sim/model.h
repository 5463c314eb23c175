/* model.h - what Berth promises, as simply as it can be said: lists and O(n) walks. It shares no
 * code with src/core, only the names of kinds and outcomes.
 *
 * Each operation is given the trace of what the core did and requires that it is what had to come
 * of it. Where several outcomes are right (the order of grants by queues that have nothing to do
 * with each other; select = random), the core's is taken over if it is one of them. */
#ifndef BERTH_TESTS_SIM_MODEL_H
#define BERTH_TESTS_SIM_MODEL_H

#include "core/core.h"

enum {
    MODEL_WANTS = 3, /* resources of one lease */
    MODEL_UNITS = 12, /* slots 0 ... 11, or items i0 ... i11 */
    MODEL_NAME = 8,
    MODEL_RULES = 24,
    MODEL_RESOURCES = 48,
    MODEL_LEASES = 64,
    MODEL_CLIENTS = 10,
    MODEL_UIDS = 4, /* 0 ... 3; 0 is root, who owns what operators make */
    MODEL_EVENTS = 2 * MODEL_LEASES,
};

/* One definition. */
struct rules {
    char name[MODEL_NAME];
    enum kind kind;
    enum queue_order order;
    enum selection selection;
    uint32_t limit;
    uint8_t items[MODEL_UNITS];
    uint32_t n_items;
    nanoseconds cooldown;
    uint32_t max_waiters, max_units_per_user, max_overtakes, max_instances;
    int32_t max_priority;
    bool identity_shared;
};

struct rules_file {
    struct rules list[MODEL_RULES];
    size_t n;
    struct user_bounds bounds;
};

struct model_ask {
    struct {
        char name[MODEL_NAME];
        uint32_t count;
    } wants[MODEL_WANTS];
    size_t n_wants;
    nanoseconds wait;
    int32_t priority;
    uint32_t holder; /* 0 = none */
    uint64_t parent;
};

/* ---- what the core did ---- */

struct grant {
    struct {
        uint64_t token;
        uint32_t n;
        uint8_t units[MODEL_UNITS]; /* in the order given */
    } claims[MODEL_WANTS];
};

struct event {
    enum effect_kind kind;
    enum outcome why;
    uint64_t lease; /* id; 0 = none */
    struct grant grant; /* EFFECT_GRANTED */
};

struct trace {
    enum outcome outcome;
    const char *about; /* or NULL */
    uint64_t lease; /* of a successful acquire */
    struct grant grant; /* of an acquire that was granted */
    struct event events[MODEL_EVENTS];
    size_t n_events, at;
};

/* ---- the model ---- */

struct model_unit {
    bool exists; /* pools; every slot does */
    bool reserved, removed;
    uint64_t holder; /* lease id, or 0 */
    bool cooling;
    nanoseconds cooling_until;
    uint64_t cooling_serial;
    uint64_t free_since; /* a number of `moment` */
};

struct model_resource {
    char name[MODEL_NAME];
    struct rules rules; /* the last that it had */
    bool defined, is_instance;
    int charged_uid; /* who made the instance, or -1 */
    bool paused;
    int64_t runtime_limit; /* -1 = the file's */
    struct model_unit units[MODEL_UNITS];
    uint8_t order[MODEL_UNITS]; /* pools: items in their order */
    uint32_t n_order;
};

struct model_claim {
    struct model_resource *resource;
    uint32_t count, overtaken;
    uint8_t units[MODEL_UNITS];
    uint64_t token;
};

struct model_lease {
    uint64_t id; /* 0: this place is empty */
    int client;
    uint32_t uid, holder;
    int32_t priority;
    uint64_t parent;
    bool held, aside, blocked;
    nanoseconds until;
    struct model_claim claims[MODEL_WANTS];
    size_t n_claims;
};

struct model {
    struct rules_file file;
    struct model_resource *resources[MODEL_RESOURCES]; /* in the core's order */
    size_t n_resources;
    struct model_lease *leases[MODEL_LEASES]; /* oldest first */
    size_t n_leases;
    struct model_lease *waiters[MODEL_LEASES]; /* in order */
    size_t n_waiters;
    int client_uids[MODEL_CLIENTS]; /* -1: not connected */
    struct {
        char name[MODEL_NAME];
        uint64_t last;
    } tokens[MODEL_RESOURCES];
    size_t n_tokens;
    uint64_t last_id;
    uint64_t moment; /* counts what happens one after the other */
    bool draining, drain_reported;
};

/* Says what is wrong, with the history, and ends the program. In property.c. */
__attribute__((noreturn, format(printf, 1, 2))) void fail(const char *format, ...);
#define REQUIRE(condition, ...) ((condition) ? (void)0 : fail(__VA_ARGS__))

struct model *model_new(void);
struct model *model_free(struct model *model);

void model_client(struct model *model, int client, uint32_t uid, struct trace *trace);
void model_client_gone(struct model *model, int client, nanoseconds now, struct trace *trace);
void model_acquire(struct model *model, int client, const struct model_ask *ask, nanoseconds now,
    struct trace *trace);
void model_end(struct model *model, uint64_t lease, int by, nanoseconds now, struct trace *trace);
void model_change(struct model *model, const char *name, enum change_kind kind, uint32_t number,
    nanoseconds now, struct trace *trace);
void model_drain(struct model *model, bool draining, struct trace *trace);
void model_tick(struct model *model, nanoseconds now, struct trace *trace);
void model_define(
    struct model *model, const struct rules_file *file, nanoseconds now, struct trace *trace);

/* ---- looking (model_resource.c, model_queue.c) ---- */

nanoseconds model_next_deadline(const struct model *model);
struct model_lease *model_find_lease(const struct model *model, uint64_t id);
struct model_resource *model_find_resource(const struct model *model, const char *name);
size_t model_n_held(const struct model *model);

/* ---- between the model's files ---- */

/* model.c */
void model_require_outcome(const struct trace *trace, enum outcome outcome, const char *about);
/* Alive, or made now and charged to the uid `payer`; -1 is an operator. */
enum outcome model_get_resource(
    struct model *model, const char *name, int payer, struct model_resource **resourcep);

/* model_resource.c: resources and units */
bool rules_are_template(const struct rules *rules);
bool rules_are_pool(const struct rules *rules);
/* An exact name beats the template above it. NULL: unknown. */
const struct rules *file_find(const struct rules_file *file, const char *name);
struct model_resource *model_resource_make(
    struct model *model, const char *name, const struct rules *rules);
void model_resource_reset_items(struct model *model, struct model_resource *resource);
void model_resource_order_items(struct model_resource *resource);
uint32_t model_limit(const struct model_resource *resource);
uint32_t model_in_use(const struct model_resource *resource);
uint32_t model_cooling(const struct model_resource *resource);
uint32_t model_available(const struct model_resource *resource);
uint32_t model_most(const struct model_resource *resource);
uint32_t model_waiting(const struct model *model, const struct model_resource *resource);
bool model_is_blocked(const struct model_resource *resource);
bool model_unit_is_free(const struct model_resource *resource, uint32_t unit);
void model_unit_give_back(
    struct model *model, struct model_resource *resource, uint32_t unit, nanoseconds now);
void model_unit_remove(struct model_resource *resource, uint32_t unit);
void model_unit_reserve(
    struct model *model, struct model_resource *resource, uint32_t unit, bool reserved);
void model_forget_idle(struct model *model);
/* Requires that the units are the right ones, then takes them. */
void model_claim_take_units(struct model *model, struct model_lease *lease,
    struct model_claim *claim, const uint8_t *units, uint32_t n, uint64_t token);

/* model_queue.c: who goes next */
struct model_lease *model_lease_make(struct model *model);
void model_lease_enter(struct model *model, struct model_lease *lease);
/* Frees it; held units are given back. */
void model_lease_leave(struct model *model, struct model_lease *lease, nanoseconds now);
void model_lease_grant(struct model *model, struct model_lease *lease, const struct grant *grant);
struct model_claim *model_claim_on(
    struct model_lease *lease, const struct model_resource *resource);
uint32_t model_units_of_user(
    const struct model *model, const struct model_resource *resource, uint32_t uid);
bool model_claim_within_quota(
    const struct model *model, const struct model_lease *lease, const struct model_claim *claim);
/* Who is aside. */
void model_sort(struct model *model);
bool model_may_go(const struct model *model, struct model_lease *lease);
const struct event *model_next_event(struct trace *trace, enum effect_kind kind);
/* Requires that exactly those who can go are granted. */
void model_pump(struct model *model, struct trace *trace);
/* The end of every operation. */
void model_settle(struct model *model, struct trace *trace);

#endif
