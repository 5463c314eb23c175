/* fair.h - `order = fair`: self-clocked fair queueing (Golestani 1994). A request that begins to
 * wait gets a *rank* as its ticket: that of its flow's last one there, or the largest that was
 * granted there, if that is more, and its count. So each flow that always waits gets as many units
 * as each other. Each priority is by itself. doc/ordering.md has the rule and its proof.
 *
 * A lease has its rank from one resource: the first by name whose order is fair. Ranks are in the
 * space of tickets: where it also waits for others, it stands among their requests. */
#pragma once

#include "core/core.h"

/* Those who share turns on one resource: one user's requests, or those with one word, of one
 * priority. Lives while one of them waits. */
struct flow {
    struct table_node by_key; /* in resource.flows */
    struct sorted_set waiters; /* struct waiting by ticket */
    uint32_t uid; /* of one without a word; else 0 */
    int32_t priority;
    uint32_t n_words; /* of .waiters, those with a word */
    bool has_granted; /* since it began to wait, to */
    char *last_word; /* of whom; NULL: to one without a word; owned */
    bool has_swapped; /* tickets of some of the waiters */
    char word[]; /* "": it is a user's */
};

/* The lease begins to wait, and has no places yet: its ticket is set, unless it has stood before.
 * It has left its places. */
void fair_enter(struct core *core, struct lease *lease);
void fair_leave(struct lease *lease);
/* Likewise. */
void fair_set_ticket(struct lease *lease, uint64_t ticket);
/* The ticket of a lease that begins to wait, or is moved behind those that do; `number` is that of
 * the request or the move: later ones have larger ones. If it waits, its rank counts as its
 * flow's. */
uint64_t fair_next_ticket(struct core *core, struct lease *lease, uint64_t number);
/* That of a lease which takes the place of an older one: its rank costs what it wants itself. */
uint64_t fair_ticket_after(struct lease *lease, struct lease *older);
/* The waiting lease gets its units, and others may wait behind it. */
void fair_is_granted(struct core *core, const struct lease *lease);
/* The lease could be granted. Its user's words take turns, in their order from the last that was
 * granted: a waiter who wants the same may have its place, which fair_swap() gives to it. */
struct lease *fair_turn(struct lease *lease);
void fair_swap(struct core *core, struct lease *lease, struct lease *other);
/* Call for all waiters of a resource whose `order` or `fair-by` has changed: they keep their
 * tickets. */
void fair_rejoin(struct lease *lease);

/* Where a request of that user without a word, of priority 0, would stand. */
struct sorted_set_node fair_new_place(
    const struct resource *resource, uint32_t uid, uint32_t count, bool is_all);
/* How many requests of that user, or with that word where words count, stand before the place. */
uint32_t fair_n_own(const struct resource *resource, uint32_t uid, const char *word,
    const struct sorted_set_node *place);
