/* model.h - what Berth promises, in the simplest terms: lists and O(n) walks. It shares no code
 * with src/core, only the names of kinds and outcomes.
 *
 * Each operation has the trace of what the core did and requires that it is right. Where several
 * outcomes are right (the order of grants by independent queues; select = random), it adopts the
 * core's if that is one of them. */
#pragma once

#include "core/core.h"
#include "runs.h"

enum {
    MODEL_WANTS = 9, /* resources of one lease: three that are named, and their levels */
    MODEL_LEVELS = 2,
    MODEL_UNITS = 12, /* slots 0 ... 11, or items i0 ... i11 */
    MODEL_NAME = 8,
    MODEL_RULES = 24,
    MODEL_RESOURCES = 48,
    MODEL_TEMPLATES = 2,
    MODEL_LEASES = 64,
    MODEL_CLIENTS = 10,
    LOWEST_PRIORITY = -1, /* of those that are drawn */
    MODEL_PRIORITIES = 4, /* from there on */
    MODEL_UIDS = 4, /* 0 ... 3; 0 is root, who owns what operators make */
    MODEL_EVENTS = 4 * MODEL_LEASES,
};

/* Instead of a client's number: for a lease without a client, and for one whose client is expected
 * back. */
enum { CLIENT_DETACHED = -2, CLIENT_ABSENT = -3 };

/* One definition. */
struct rules {
    char name[MODEL_NAME];
    enum kind kind;
    enum queue_order order;
    enum selection selection;
    uint32_t limit;
    uint8_t items[MODEL_UNITS];
    uint32_t n_items;
    nanoseconds cooldown, keep;
    struct rate rate;
    uint32_t burst;
    uint32_t max_waiters, max_units_per_user, max_overtakes, max_instances;
    int32_t max_priority;
    bool identity_shared, fair_by_share;
    nanoseconds max_hold, kill_after;
    enum on_lost on_lost;
    struct {
        char name[MODEL_NAME];
        uint32_t count;
    } levels[MODEL_LEVELS];
    size_t n_levels;
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
        bool is_all;
        bool is_level; /* its client has not named it */
    } wants[MODEL_WANTS];
    size_t n_wants;
    nanoseconds wait;
    int32_t priority;
    uint32_t holder; /* 0 = none */
    enum replace replace;
    uint32_t share; /* 0 = none */
    uint64_t parent;
    uint32_t once; /* 0 = none; unique to this ask */
    enum binding binding;
    bool is_programs; /* BOUND_PROCESS: and never signalled */
    nanoseconds ttl;
    bool has_kill_after, has_on_lost;
    nanoseconds kill_after;
    enum on_lost on_lost;
};

/* What a client says about a forgotten lease that it held. */
struct model_said {
    uint8_t units[MODEL_WANTS][MODEL_UNITS];
    uint64_t tokens[MODEL_WANTS]; /* proven tokens, or 0 for each */
};

/* ---- what the core did ---- */

struct grant {
    struct {
        uint64_t token;
        uint32_t n;
        uint8_t units[MODEL_UNITS]; /* in the order given */
    } claims[MODEL_WANTS];
};

struct trace_event {
    enum effect_kind kind;
    enum outcome why;
    uint64_t lease; /* id; 0 = none */
    int client; /* the client that gets it; -1: none */
    int signal;
    struct grant grant; /* EFFECT_GRANTED */
};

struct trace {
    enum outcome outcome;
    const char *at_fault; /* or NULL */
    uint64_t lease; /* the one that the operation asked for, and got or waits for */
    struct grant grant; /* of an acquire or reclaim that was granted */
    struct trace_event events[MODEL_EVENTS];
    size_t n_events, at;
};

/* ---- the model ---- */

struct model_unit {
    bool exists; /* pools; every slot does */
    bool reserved, removed;
    uint64_t holder; /* lease id, or 0 */
    bool holder_has_all;
    bool cooling;
    nanoseconds cooling_until;
    uint64_t cooling_serial;
    uint64_t free_since; /* a number of `moment` */
};

/* What operators have changed for all instances, those to come included. */
struct model_template {
    char name[MODEL_NAME];
    bool paused;
    int64_t limit; /* -1 = the file's */
};

struct model_resource {
    char name[MODEL_NAME];
    char counts_as[MODEL_NAME]; /* the name of a model_counts; "": nowhere */
    struct rules rules; /* the last that it had */
    bool defined, is_instance;
    int charged_uid; /* the uid that pays for the instance, or -1 */
    const struct model_template *template; /* of a defined instance; or NULL */
    bool paused;
    bool exempt; /* from the pause of its template */
    int64_t runtime_limit; /* its own; -1 = the template's or the file's */
    struct model_unit units[MODEL_UNITS];
    uint8_t order[MODEL_UNITS]; /* pools: items in their order */
    uint32_t n_order;
    /* fair: the largest rank granted while others of that priority wait; 0: not known */
    uint64_t clocks[MODEL_PRIORITIES];
    /* fair: 1 + the word that was granted last, while others of that user wait; 0: not known */
    uint32_t last_words[MODEL_UIDS][MODEL_PRIORITIES];
    const struct model *model;
    nanoseconds charged_at, paid_at; /* with a rate: as of struct meter */
    nanoseconds rate_due; /* when somebody there is to be looked at again; or NEVER */
};

/* What a resource with a rate has granted, as long as that was the same. */
enum { MODEL_GRANTS = 200 };
struct model_grants {
    char name[MODEL_NAME];
    struct rules rules;
    struct {
        nanoseconds at;
        uint32_t units;
    } list[MODEL_GRANTS];
    size_t n;
};

struct model_claim {
    struct model_resource *resource;
    uint32_t count, overtaken;
    bool is_all, is_level;
    uint8_t units[MODEL_UNITS];
    uint64_t token;
};

struct model_lease {
    uint64_t id;
    int client;
    uint64_t linked; /* a number of `moment`: since when it has been that client's */
    uint32_t uid, holder, once, share;
    enum replace replace;
    int32_t priority;
    uint64_t moved; /* its ticket: by its rank or an operator, or of the one whose place it has; 0:
                       its id, or it is held */
    uint64_t number; /* when it asked or was moved, or who had its place did; 0: as its ticket */
    bool is_first; /* moved before all, not behind those of its priority */
    uint64_t parent;
    bool held, aside, blocked;
    bool is_new; /* while it is asked for */
    bool has_waited;
    nanoseconds asked_at;
    int station; /* the claim that it stands for; -1: none */
    uint8_t road[MODEL_WANTS]; /* claims: first the kept ones, then the others in order */
    size_t n_kept;
    uint32_t n_let_go; /* by its patience */
    nanoseconds keep_until;
    nanoseconds until; /* of the wait */
    uint64_t until_serial;
    struct model_claim claims[MODEL_WANTS];
    size_t n_claims;

    enum binding binding;
    bool is_programs;
    bool is_alive; /* its process */
    bool is_reported; /* the core knows that it is dead */
    bool ended_unreleased; /* it ends, and nobody has given it back */
    bool is_watched;
    nanoseconds ttl, granted_at;
    nanoseconds kill_after;
    enum on_lost on_lost;
    nanoseconds due; /* the end of its time, or the next signal; NEVER if none */
    uint64_t due_serial;
    nanoseconds hold_until;
    enum outcome stopping; /* OUTCOME_OK: it is not being stopped */
    bool is_killed;
};

/* A lease of an earlier core: of its resources only the names are left. */
struct model_past {
    struct model_lease lease;
    struct {
        char name[MODEL_NAME];
        bool is_pool;
    } on[MODEL_WANTS];
};

/* What has happened to the leases of one definition, since ever. */
struct model_counts {
    char name[MODEL_NAME];
    uint64_t granted[2]; /* at once, after waiting */
    uint64_t denied[N_OUTCOMES], ended[N_OUTCOMES];
    uint64_t reclaimed;
    uint64_t unit_microseconds;
    uint64_t waited, held; /* sums, in microseconds */
    uint64_t waits[16], holds[16]; /* by the bucket of their length */
};

/* A lease or a wait that is over. */
struct model_ended {
    uint64_t id;
    uint32_t uid;
    enum outcome why;
    bool held;
    bool deserted; /* nobody gave it back */
    bool unseen; /* there was no core */
    nanoseconds asked_at, granted_at, ended_at;
    struct {
        char name[MODEL_NAME];
        uint32_t count;
        uint8_t units[MODEL_UNITS];
        nanoseconds cooldown; /* that its units are given */
    } claims[MODEL_WANTS];
    size_t n_claims;
};

struct model {
    nanoseconds now;
    nanoseconds rate_now; /* during a tick: when that was due */
    nanoseconds rates_unknown_at; /* or NEVER */
    struct model_grants grants[MODEL_RESOURCES];
    size_t n_grants;
    struct trace *trace; /* of the present operation */
    struct model_ended *ended; /* the first n_ended_seen have been compared */
    size_t n_ended, n_ended_seen, ended_size;
    struct model_counts counts[MODEL_RESOURCES];
    size_t n_counts;
    struct rules_file file;
    struct model_resource *resources[MODEL_RESOURCES]; /* in the core's order */
    size_t n_resources;
    struct model_template templates[MODEL_TEMPLATES];
    size_t n_templates;
    struct model_lease *leases[MODEL_LEASES]; /* oldest first */
    size_t n_leases;
    struct model_lease *waiters[MODEL_LEASES]; /* in order */
    size_t n_waiters;
    int client_uids[MODEL_CLIENTS]; /* -1: not connected */
    uint64_t client_since[MODEL_CLIENTS]; /* a number of `moment` */
    struct {
        char name[MODEL_NAME];
        uint64_t last;
    } tokens[MODEL_RESOURCES];
    size_t n_tokens;
    uint64_t token_floor; /* the largest ever remembered */
    uint64_t first_id, last_id;
    uint64_t last_ticket; /* no number is smaller while anybody waits */
    struct model_past past[MODEL_LEASES]; /* after a restart: not made again (yet) */
    size_t n_past;
    bool closed;
    nanoseconds grace_until;
    uint64_t moment; /* counts events in their order */
    uint64_t asked; /* the lease that the operation asks for; 0: none */
    bool names_fault; /* its refusal names a resource */
    bool draining, drain_reported;
};

struct model *model_new(struct trace *trace);
struct model *model_free(struct model *model);

void model_client(struct model *model, int client, uint32_t uid);
/* `half`: only its leases go. */
void model_client_gone(struct model *model, int client, bool half);
void model_acquire(struct model *model, int client, const struct model_ask *ask);
void model_end(struct model *model, uint64_t lease, int by);
void model_change(
    struct model *model, const char *name, const struct change *change, uint32_t number);
void model_drain(struct model *model, bool draining);
void model_tick(struct model *model);
void model_define(struct model *model, const struct rules_file *file);

/* model_rate.c */
/* How many units the rate lets go; UNBOUNDED if there is none. */
uint32_t model_going(const struct model_resource *resource);
bool model_owes(const struct model_resource *resource);
/* The resource is new; is gone; had other rules before; grants the claim. */
void model_rate_begin(struct model *model, struct model_resource *resource);
void model_rate_forget(struct model *model, const struct model_resource *resource);
void model_rate_redefine(
    struct model *model, struct model_resource *resource, const struct rules *before);
void model_rate_charge(struct model *model, const struct model_claim *claim);
void model_begin_rates(struct model *model, nanoseconds unknown_at);
/* Until when something is owed; 0. */
nanoseconds model_rate_restore(struct model *model, const struct saved_claim *claim);
void model_rates_look(struct model *model);
nanoseconds model_rate_due(const struct model *model);

/* model_stop.c */
void model_process_gone(struct model *model, uint64_t lease);
void model_revoke(struct model *model, uint64_t lease);
void model_withdraw(struct model *model, uint64_t lease);
void model_drop(struct model *model, uint64_t lease);
void model_renew(struct model *model, uint64_t lease, nanoseconds ttl);
/* When a held lease begins to be taken away; NEVER if that is not limited, or a job is being
 * stopped. */
nanoseconds model_until(const struct model_lease *lease);
void model_bind(struct model *model, uint64_t lease, int by, enum binding binding);

/* model_restart.c. Everything is over except what was remembered: all leases are `past` now, and
 * there are no resources. Numbers begin at `first`, or go on (0). */
void model_restart(struct model *model, uint64_t first);
void model_begin_grace(struct model *model, bool closed, nanoseconds until);
/* One of the past leases. */
void model_restore(struct model *model, uint64_t id, const struct saved_lease *saved);
/* Units of a lease that had ended. Returns until when they rest; 0: none rests. */
nanoseconds model_restore_rest(struct model *model, const struct saved_lease *saved);
void model_forget_past(struct model *model, uint64_t lease);
struct model_past *model_find_past(struct model *model, uint64_t lease);
void model_reclaim(struct model *model, uint64_t lease, int client);
/* The acquire that made it comes again. */
void model_repeat(struct model *model, uint64_t lease, int client);
/* NULL: it waited. */
void model_reclaim_unknown(struct model *model, int client, const struct model_ask *ask,
    uint64_t lease, const struct model_said *said);

/* ---- counting (model_count.c) ---- */

/* Before each operation. */
void model_begin(struct model *model, nanoseconds now);
/* NULL: that name has never been defined. */
struct model_counts *model_find_counts(struct model *model, const char *name);
/* Under which of these the counts of a resource of this name are kept. */
const char *model_counts_name(struct model *model, const char *name);
void model_count_definitions(struct model *model);
void model_count_grant(struct model *model, const struct model_lease *lease);
void model_count_end(struct model *model, const struct model_lease *lease, enum outcome why);
void model_count_reclaim(struct model *model, const struct model_lease *lease);
/* For each resource that it names and that is defined. */
void model_count_refused(struct model *model, const struct model_ask *ask, enum outcome why);
/* A past lease is not made again. */
void model_count_gone(struct model *model, const struct model_past *past, enum outcome why);

/* model_history.c: the same for the history */
void model_history_end(struct model *model, const struct model_lease *lease, enum outcome why);
void model_history_gone(
    struct model *model, const struct model_past *past, enum outcome why, bool unseen);

/* ---- looking (model_resource.c, model_queue.c) ---- */

nanoseconds model_next_deadline(const struct model *model);
struct model_lease *model_find_lease(const struct model *model, uint64_t id);
struct model_resource *model_find_resource(const struct model *model, const char *name);
size_t model_n_held(const struct model *model);
nanoseconds model_grace_until(const struct model *model);

/* ---- between the model's files ---- */

/* model.c */
void model_require_outcome(const struct model *model, enum outcome outcome, const char *at_fault);
/* Called after the operation, for a lease that could not be granted at its beginning. */
void model_require_waiting_or_granted(const struct model *model, uint64_t lease);
/* Finds a live resource, or makes one and charges the uid `payer`; -1 is an operator. */
/* By operators, itself. */
bool model_is_changed(const struct model_resource *resource);
bool model_may_pay(const struct model *model, int uid);
enum outcome model_get_resource(
    struct model *model, const char *name, int payer, struct model_resource **resourcep);

/* Finds the resources of `lease`, which is in no list yet, and refuses requests that can never be
 * met. With a proof it may have its instances and identities, whoever has some now. */
enum outcome model_resolve(struct model *model, const struct model_ask *ask, bool has_proof,
    struct model_lease *lease, const char **at_faultp);
/* The one that has been that client's for the shortest time; NULL: none. */
struct model_lease *model_last_linked(
    const struct model *model, int client, bool may_wait, bool may_hold);
/* The terms that its client gave. */
struct model_lease model_lease_of(
    const struct model *model, int client, const struct model_ask *ask, uint64_t id);
/* It cannot be granted now. `lease` already counts as a waiter. */
enum outcome model_may_wait(const struct model *model, const struct model_lease *lease,
    const struct model_ask *ask, const char **at_faultp);

/* model_stop.c */
void model_link(struct model *model, struct model_lease *lease, int client);
void model_set_due(struct model *model, struct model_lease *lease, nanoseconds at);
/* A lease has been granted now. */
void model_begin_term(struct model *model, struct model_lease *lease);
void model_watch(struct model *model, struct model_lease *lease);
void model_unwatch(struct model *model, struct model_lease *lease);
/* A held lease's client has gone. */
void model_lose_client(struct model *model, struct model_lease *lease);
void model_term_is_due(struct model *model, struct model_lease *lease);
void model_grace_is_over(struct model *model);

/* model_resource.c: resources and units */
bool rules_are_template(const struct rules *rules);
bool rules_are_pool(const struct rules *rules);
/* Whether operators may set that limit. */
bool rules_may_have_limit(const struct rules *rules, uint32_t limit);
/* An exact name beats the template above it. NULL: unknown. */
/* A request takes units of levels, too. */
void model_add_levels(const struct model *model, struct model_ask *ask);
const struct rules *file_find(const struct rules_file *file, const char *name);
struct model_resource *model_resource_make(
    struct model *model, const char *name, const struct rules *rules);
void model_resource_reset_items(struct model *model, struct model_resource *resource);
void model_resource_order_items(struct model_resource *resource);
uint32_t model_limit(const struct model_resource *resource);
uint32_t model_in_use(const struct model_resource *resource);
uint32_t model_cooling(const struct model_resource *resource);
uint32_t model_free_units(const struct model_resource *resource);
uint32_t model_available(const struct model_resource *resource);
bool model_is_untaken(const struct model_resource *resource);
/* Whether a lease has all of it. */
bool model_is_all_held(const struct model_resource *resource);
bool model_can_give(const struct model_resource *resource, uint32_t count, bool is_all);
uint32_t model_max(const struct model_resource *resource);
uint32_t model_waiting(const struct model *model, const struct model_resource *resource);
bool model_is_blocked(const struct model_resource *resource);
bool model_unit_is_free(const struct model_resource *resource, uint32_t unit);
void model_unit_give_back(struct model *model, struct model_resource *resource, uint32_t unit);
void model_unit_remove(struct model_resource *resource, uint32_t unit);
void model_unit_reserve(
    struct model *model, struct model_resource *resource, uint32_t unit, bool reserved);
void model_forget_idle(struct model *model);
/* Tokens only grow. */
void model_require_token(struct model *model, const char *name, uint64_t token);
/* Requires that the units are the right ones, then takes them. */
void model_claim_take_units(struct model *model, struct model_lease *lease,
    struct model_claim *claim, const uint8_t *units, uint32_t n, uint64_t token);

/* model_template.c */
struct model_template *model_template_named(struct model *model, const char *name);
/* By itself, or with its template. */
bool model_is_paused(const struct model_resource *resource);
void model_drop_what_is_moot(struct model_resource *resource);
enum outcome model_change_template(
    struct model *model, const struct rules *rules, enum change_kind kind, uint32_t number);
/* At a reload, before the resources. */
void model_define_templates(struct model *model, const struct rules_file *file);

/* model_keep.c: requests for several resources */
void model_road_begin(struct model_lease *lease);
/* Is the claim's count kept for it? */
bool model_keeps(const struct model_lease *lease, const struct model_claim *claim);
/* What it leaves to nobody else: of all, more than there can be. */
bool model_stands_at(const struct model_lease *lease, const struct model_resource *resource);
/* Units that are kept there for those before it. */
uint32_t model_kept_for_older(const struct model *model, const struct model_lease *lease,
    const struct model_resource *resource);
uint32_t model_kept_of(const struct model_claim *claim);
bool model_lacks_nothing(const struct model *model, const struct model_lease *lease);
/* Whether it fits beside what its user has, and what is kept for that user's older requests. */
bool model_fits(const struct model *model, const struct model_lease *lease);
void model_set_aside(struct model_lease *lease);
void model_patience_ends(struct model_lease *lease);
/* For a request that is not aside and cannot be granted: whether its turn, or a loss, has moved
 * it. */
bool model_step(const struct model *model, struct model_lease *lease);

/* For a request that has the place of one that has gone as far as `before`. */
void model_go_on_from(
    const struct model *model, struct model_lease *lease, struct model_lease *before);

/* model_newest.c: requests that replace others */
bool model_has_identity(const struct model_lease *lease);
/* Who has the identity of a request that waits for it, on that resource; or NULL. */
const struct model_lease *model_identity_ahead(const struct model *model,
    const struct model_lease *lease, const struct model_resource *resource);
/* One whose place it takes; NULL: none. */
struct model_lease *model_older(const struct model *model, const struct model_lease *lease);
/* It waits or is held. */
void model_replace_older(struct model *model, struct model_lease *lease);
/* Whether a newer one lives that has taken the place of the request with that id. */
bool model_is_replaced(
    const struct model *model, uint32_t uid, const struct model_ask *ask, uint64_t id);
/* Whose job is to be stopped for the request; 0: nobody's. */
uint64_t model_replaced_holder(const struct model *model, uint64_t id);
/* It leaves the queue and stands at its place again. */
void model_stand_again(struct model *model, struct model_lease *lease);

/* model_fair.c: order = fair */
/* Which ticket the lease gets that begins to wait, or is moved behind those that do. */
uint64_t model_rank(struct model *model, struct model_lease *lease, uint64_t number);
/* Whose word's turn it is of those who could have the place of a lease that may go. */
struct model_lease *model_fair_turn(struct model *model, struct model_lease *lease);
void model_fair_swap(struct model_lease *lease, struct model_lease *other);
/* Call after waiters have gone, or their rules have changed. */
void model_fair_forget(struct model *model);
/* It is no waiter any more. */
/* Of a request that takes the place of an older one. */
uint64_t model_ticket_after(struct model_lease *lease, struct model_lease *older);
void model_fair_left(struct model *model, const struct model_lease *lease);
/* A waiter gets its units. */
void model_fair_granted(struct model *model, struct model_lease *lease);

/* model_circle.c: requests that wait for each other */
/* Its own ancestors are in its way, whatever all others give back. */
bool model_is_behind_ancestors(
    const struct model *model, const struct model_lease *lease, const struct model_claim *claim);
/* Who is to be denied; NULL: nobody, or somebody who is not back yet. */
struct model_lease *model_last_in_circle(const struct model *model);
/* The first of its resources that it will never have. */
const char *model_circle_name(const struct model *model, struct model_lease *lease);

/* model_queue.c: who goes next */
struct model_lease *model_lease_make(struct model *model);
void model_lease_enter(struct model *model, struct model_lease *lease);
/* An operator moves it, with that number. */
void model_move(struct model *model, uint64_t lease, uint64_t number, bool is_first);
/* Frees it; gives its units back if it held any. `why` is counted; OUTCOME_OK is not. */
void model_lease_leave(struct model *model, struct model_lease *lease, enum outcome why);
/* The same; its client is told. */
void model_lease_end(struct model *model, struct model_lease *lease, enum outcome why);
void model_lease_grant(struct model *model, struct model_lease *lease, const struct grant *grant);
/* From the line to the holders; it has its units. */
void model_lease_hold(struct model *model, struct model_lease *lease);
struct model_claim *model_claim_on(
    struct model_lease *lease, const struct model_resource *resource);
uint32_t model_units_of_user(
    const struct model *model, const struct model_resource *resource, uint32_t uid);
bool model_claim_within_quota(
    const struct model *model, const struct model_lease *lease, const struct model_claim *claim);
/* Sets requests aside for all reasons but a quota, which is checked when it is their turn. */
void model_sort(struct model *model);
/* Whether a client is there to grant to. */
bool model_can_go(const struct model *model, const struct model_lease *lease);
/* Whether a request is granted. */
bool model_may_go(const struct model *model, const struct model_lease *lease);
const struct trace_event *model_next_event(struct model *model, enum effect_kind kind);
/* Requires that the next effect is this one, about this lease, for its client if it has one. */
void model_require_effect(
    struct model *model, enum effect_kind kind, const struct model_lease *lease, enum outcome why);
/* Requires that exactly those that can go are granted. */
void model_pump(struct model *model);
/* Ends every operation. */
void model_settle(struct model *model);
