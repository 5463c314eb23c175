/* lease.h - one lease, from the request to its end, and the client who asks. */
#pragma once

#include "base/actor.h"
#include "base/nested.h"
#include "base/sorted_set.h"
#include "base/table.h"
#include "core/account.h"
#include "core/lease_attributes.h"
#include "core/types.h"

#include <sys/queue.h>

struct claim;
struct lease;
struct resource;
struct tenure;
struct unit;
struct usage;

LIST_HEAD(lease_list, lease);

/* A client: in the daemon, one connection. Embedded in the caller's struct. */
struct client {
    uint32_t uid;
    bool is_nobody; /* the core's own client, for leases without one */
    uint64_t number; /* larger than that of each earlier client; 0 for an uncounted one */
    struct charge charge; /* one connection of that uid */
    struct lease_list leases; /* held and waiting */
};

enum lease_state {
    LEASE_WAITING,
    LEASE_HELD,
    LEASE_ENDED, /* until effects_clear() */
};

/* What keeps a held lease alive. */
enum binding {
    BOUND_CONNECTION, /* its client's connection */
    BOUND_PROCESS, /* until both the connection and the process are gone */
    BOUND_TIME, /* its ttl, since the grant or the last renewal */
};

struct requested_resource {
    const char *name;
    uint32_t count;
    uint8_t asked; /* the core's, of one with shares: its place in the request */
    bool is_all; /* one unit (count 1), and nobody else has any */
    bool is_shared; /* one unit of a lock that others may share */
    bool is_level; /* nobody has named it: core_add_levels() did. These are behind the others */
    const struct definition *definition; /* what governs the name; core_acquire() finds it itself */
    struct resource *resource; /* as core_find_want() has just found it; or NULL */

    /* The core's, of the last .n_shared ones: */
    struct claim *of; /* as in struct claim */
    uint64_t sharer; /* .of->lease, also while that is not there */
};

/* What somebody asks for. */
struct acquire_request {
    struct requested_resource wants[MAX_RESOURCES_PER_LEASE];
    size_t n_wants;
    size_t n_shared; /* the last of these share a claim of another lease (share.c) */
    enum nested nested; /* in place of the resources' rules */
    nanoseconds wait; /* a span; 0 = not at all, NEVER = for ever */
    struct lease_attributes attributes; /* copied; the caller has asked core_find_once() */
    int32_t pid; /* for status */
    enum binding binding;
    struct process process; /* BOUND_PROCESS: alive, and one that the client may signal */
    struct process wrapper; /* BOUND_PROCESS: likewise; pid 0: none */
    nanoseconds ttl; /* BOUND_TIME; a span > 0; of a program's lease: 0 is none */
    bool has_kill_after, has_on_lost; /* in .attributes; else the resources' */
};

/* A lease's part of one resource. Or its *share*, which has no units and counts nowhere: it uses
 * the first .count units of another lease's claim. */
struct claim {
    struct lease *lease;
    struct resource *resource;
    struct usage *usage; /* what the lease's uid has of the resource */
    struct table_node by_identity; /* if its lease has one (.holder) */
    struct unit *units; /* held: `count` of them, linked by unit.next_of_claim */
    union {
        struct sorted_set_node node; /* held: in resource.holders */
        struct { /* once it has ended */
            nanoseconds cooldown; /* how long its units rest; 0: they do not */
            nanoseconds owed_until; /* so long its record is all that has the resource's rate; 0 */
        };
    };
    union {
        TAILQ_ENTRY(claim) tally_link; /* in a list of its resource's tally: lease.is_listed */
        LIST_ENTRY(claim) share_link; /* of a share: in .of->lease->shares, if that is there */
    };
    uint64_t token; /* of a held lease */
    struct claim *of; /* of a share: the claim; NULL: that did not come back with it */
    uint64_t sharer; /* of a share: the lease of that claim; else 0 */
    uint32_t count;
    uint8_t asked; /* its place in the request */
    bool is_all; /* of count 1: while it is held, nobody else has a unit there */
    bool is_level; /* its client has not named it, and is not told its units (levels.c) */
};

/* Which of its resource's sets a place is in. */
enum standing {
    STANDS_ASIDE, /* .aside: the lease stands nowhere, or in another queue */
    STANDS_IN_QUEUE, /* .queue: the lease waits here */
    STANDS_KEEPING, /* .kept: it has enough here, and waits for the rest elsewhere */
    N_STANDINGS
};

/* A claim's place in line, while its lease waits. */
struct place {
    struct claim *claim;
    struct sorted_set_node node; /* in the set that .standing names */
    struct sorted_set_node kept_node; /* STANDS_KEEPING: in usage.kept */
    uint32_t overtaken; /* how often first-fit let somebody pass */
    uint8_t standing; /* enum standing; only place_put() writes it */
};

/* What only a waiting lease has. */
struct waiting {
    struct lease *lease;
    struct sorted_set_node timer; /* in the core's wait timers, if the wait is limited */
    struct sorted_set_node agenda_node; /* in core.agenda, while it is to be looked at */
    struct charge charge; /* ACCOUNT_WAITERS */
    struct road *road; /* of a lease on several resources; else NULL */
    struct lane *lane; /* if a resource bounds its users' units; else NULL */
    struct sorted_set_node lane_node; /* in .lane_set, one of the lane's sets, or NULL */
    struct sorted_set *lane_set;
    struct resource *fair; /* on which it has its rank: core/fair.h */
    struct flow *flow; /* there; NULL: none */
    struct sorted_set_node flow_node; /* in .flow->waiters, if there is one */
    uint64_t number; /* its id as a rule: in whose order those with one word go (core/fair.c) */
    TAILQ_ENTRY(waiting) nested_link; /* in core.nested, if it is there: circle_enter() */
    bool aside; /* in no queue, for a reason outside the queues */
    struct place places[]; /* in the order of lease.claims */
};

/* Until when a held lease is good; while it is being stopped, when the next signal is due. Only
 * where that is limited. */
struct lease_timer {
    struct lease *lease;
    struct sorted_set_node timer; /* in the core's term timers */
    nanoseconds hold_until; /* max-hold; NEVER if there is none */
    nanoseconds good_until; /* stopped since its database has no good word for it: it was good until
                               then, for all hosts; NEVER */
};

/* Who takes a lease away. */
struct taken {
    struct actor by;
    char *reason; /* their words; owned; or NULL */
};

/* A lease's place in the tenure of its database. */
struct tenant {
    struct lease *lease;
    struct tenure *tenure;
    TAILQ_ENTRY(tenant) link; /* in tenure.waiting or .held */
    struct sorted_set_node budget_node; /* held and not being stopped: by its stop budget */
};

struct lease {
    uint64_t id; /* in host scope also the ticket, unless it has one of its own */
    struct client *client; /* whose list has it; NULL once ended */
    union {
        struct { /* while it lives */
            LIST_ENTRY(lease) link; /* in client->leases */
            struct table_node by_id;
            struct table_node by_once; /* if its terms have .once */
        };
        struct { /* once it has ended */
            struct lease *next_ended; /* effects.ended */
            nanoseconds ended_at;
            uint16_t hiding; /* bit 1 << claim.asked: its resource hides it (viewer.h) */
            bool shows_arguments; /* all resources do */
            uint8_t ended_why; /* enum outcome, as it is counted; OUTCOME_OK: that is not counted */
            bool has_said_end; /* fleet scope: .ending was made, though it may be NULL again */
            char *ending; /* fleet scope: how it ended, for its database; owned; or NULL */
        };
    };
    struct charge charge; /* ACCOUNT_LEASES */
    struct waiting *waiting; /* LEASE_WAITING, else NULL */
    struct lease *next_changed; /* effects.changed */
    struct lease_timer *lease_timer; /* or NULL */
    LIST_HEAD(, claim) shares; /* of other leases, of its claims */
    struct taken *taken; /* somebody takes it away, or has; owned; or NULL */
    nanoseconds asked_at, granted_at;
    struct lease_attributes attributes; /* as they are in force; owned */
    nanoseconds ttl; /* BOUND_TIME, or a program's; else 0 */
    struct process process; /* BOUND_PROCESS */
    struct process wrapper; /* BOUND_PROCESS: also keeps it; pid 0: none */
    uint32_t uid;
    int32_t pid; /* as status shows it */
    uint8_t state; /* enum lease_state; only lease_set_state() writes it */
    uint8_t n_claims; /* its own */
    uint8_t n_shares; /* these follow in .claims */
    uint8_t n_levels; /* of all these: the last ones asked */
    uint8_t binding; /* enum binding */
    uint8_t stopping; /* enum outcome: why; OUTCOME_OK: it is not being stopped */
    uint8_t database; /* 0: host scope */
    uint16_t n_inside; /* only while circle.c searches: how many of the requests run under it */
    bool is_changed; /* in effects.changed */
    bool is_listed; /* its claims are in their tallies' lists, by its state */
    bool has_waited; /* its client was told that it waits, or an earlier berthd knew it */
    bool is_ending; /* over for its client: its units wait for its shares */
    bool is_killed; /* being stopped: SIGKILL has been asked for */
    bool is_watched; /* EFFECT_WATCH has been asked for, and no EFFECT_UNWATCH since */
    bool main_is_gone; /* the job's process is gone, and the wrapper keeps the lease since */
    bool process_is_gone; /* the last process that kept the lease is gone */
    bool is_asked; /* fleet scope: EFFECT_ASK was given, and no EFFECT_GIVE_BACK since */
    bool is_undelivered; /* fleet scope: granted while detached: no job runs under it yet */
    bool is_preempted; /* only while it is decided whether this lease ends: see adopt_is_possible()
                        */
    bool wants_now; /* it does not want to wait; only while waiting (for an answer) */
    bool is_away; /* its client is stopped; only while waiting: core_set_away() */
    bool is_opaque; /* written by a later version: .kept is all there is to write, and only its
                       end can change it */
    bool
        ended_unreleased; /* once ended: nobody has given it back, its client or its job was gone */
    uint32_t position; /* fleet scope: place in line, as last heard; 0: not known */

    /* The caller's, who sets and frees them; 0 for a new lease. */
    bool is_unwritten; /* its record is out of date */
    bool is_unread; /* an event has granted it, and may not have been read yet; no other followed */
    uint8_t job_end; /* enum history_status: how its job has ended, as its client says */
    uint8_t job_status; /* with that: its exit status, or the signal */
    uint8_t looked_up; /* for .origin: in which state */
    uint16_t look_up_at; /* its place in the queue of those to be looked up, if it is there */
    uint32_t record; /* where the journal has it */
    void *watch;
    void *origin;
    void *entry; /* fleet scope: its session's */

    uint64_t ticket; /* 0: none yet; in host scope only while it waits, if its rank (core/fair.h,
                        base/ticket.h) is not its id */
    struct tenant *tenant; /* fleet scope, once linked; else NULL */
    uint64_t news_serial; /* its newest entry in the news; 0: none */
    char *kept; /* what a later version has written, to be written again; or NULL; owned */

    /* in the order asked, the shares behind the others; lease_names() and the texts of .attributes
     * follow */
    struct claim claims[];
};

static inline size_t lease_n_all(const struct lease *lease)
{
    return (size_t)lease->n_claims + lease->n_shares;
}

/* Those that its client has named: lease_asked() has them first. */
static inline size_t lease_n_named(const struct lease *lease)
{
    return lease_n_all(lease) - lease->n_levels;
}

static inline bool claim_is_share(const struct claim *claim)
{
    return claim->sharer != 0;
}

/* The first of the units that it uses; their number is its count. NULL: it waits, or is a share of
 * a claim that is not there. */
static inline const struct unit *claim_first_unit(const struct claim *claim)
{
    return claim->of ? claim->of->units : claim->units;
}

static inline bool lease_replaces(const struct lease *lease)
{
    return lease->attributes.replace != REPLACE_NOTHING;
}

/* A request that replaces others has its identity only once it is granted. */
static inline bool lease_has_identity(const struct lease *lease)
{
    return lease->state == LEASE_HELD || !lease_replaces(lease);
}

/* Its own claim of the resource; NULL: it has none. */
struct claim *lease_own_claim(struct lease *lease, const struct resource *resource);
/* The i-th that it has asked for. */
const struct claim *lease_asked(const struct lease *lease, size_t i);

/* Those it has named, with a space between them: the resources may be gone once it has ended. */
const char *lease_names(const struct lease *lease);
/* Whether the living lease has no client at present. */
bool lease_is_detached(const struct lease *lease);
/* Moves it to another list: a client's, or the core's .detached or .absent. */
void lease_move(struct lease *lease, struct client *to);
/* The client that gets its effects; NULL if it has none. */
struct client *lease_real_client(const struct lease *lease);

/* Makes a lease that is in no table, list or queue yet, with claims that have no resource.
 * effects_clear() frees it. */
struct lease *lease_new(const struct acquire_request *ask, uint32_t uid, nanoseconds now);
/* It has ended, or has never been linked. */
void taken_free(struct taken *taken); /* accepts NULL */
void lease_free(struct lease *lease);
/* waiting -> held -> ended, or waiting -> ended; anything else aborts. */
void lease_set_state(struct lease *lease, enum lease_state state);

/* Bound to the life of a process that must not be signalled: what it has is taken away when it has
 * had its time, whether it runs or not. */
static inline bool lease_is_programs(const struct lease *lease)
{
    return lease->binding == BOUND_PROCESS && lease->attributes.signal == 0;
}

/* Only such a lease comes back when the journal is lost. */
static inline bool lease_has_proof(const struct lease *lease)
{
    return lease->attributes.signal != 0 || lease->binding == BOUND_PROCESS;
}

/* "process", "program", "connection" or "time". */
static inline const char *lease_bound_word(const struct lease *lease)
{
    static const char *const words[][2] = {
        [BOUND_CONNECTION] = {"connection", "connection"},
        [BOUND_PROCESS] = {"process", [true] = "program"},
        [BOUND_TIME] = {"time", "time"},
    };
    return words[lease->binding][lease->attributes.signal == 0];
}

/* BOUND_PROCESS: the process that the lease ends with. */
static inline const struct process *lease_bound_process(const struct lease *lease)
{
    return lease->main_is_gone ? &lease->wrapper : &lease->process;
}

/* What a claim leaves to nobody else: of all, more than there can be. */
static inline uint32_t claim_kept(const struct claim *claim)
{
    return claim->is_all ? MAX_SLOTS : claim->count;
}

static inline struct place *claim_place(const struct claim *claim)
{
    return &claim->lease->waiting->places[claim - claim->lease->claims];
}
