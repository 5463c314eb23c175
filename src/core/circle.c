#include "core/circle.h"

#include "base/memory.h"
#include "core/internal.h"
#include "core/place.h"
#include "core/usage.h"

#include <stdlib.h>

enum {
    MAX_REQUESTS = 256, /* if more nested ones wait, none is denied */
    MAX_LOOKED_AT = 20000, /* of all waiters, and ancestors of nested ones, in one search */
};

/* ---- who runs under whom ---- */

/* The ancestors of a lease, the nearest first. */
struct line {
    struct core *core;
    const struct lease *of;
    struct lease *at; /* the present one; NULL: it has ended */
    bool is_of_one_user; /* else other users' too: only where nobody but the asker is concerned, as
                            anybody can name another's lease */
    int n;
};

static void line_next(struct line *line)
{
    const struct lease *below = line->at ? line->at : line->of;
    bool is_near = ++line->n <= MAX_ANCESTORS;
    struct lease *above = is_near ? core_lease_held_up(line->core, below) : NULL;
    bool counts = above && (!line->is_of_one_user || above->uid == line->of->uid);
    line->at = counts ? above : NULL;
}

static struct line line_of(struct core *core, const struct lease *lease, bool is_of_one_user)
{
    struct line line = {.core = core, .of = lease, .is_of_one_user = is_of_one_user};
    line_next(&line);
    return line;
}

/* ---- what is inside: held by ancestors of those that wait for each other ---- */

static void count_inside(const struct lease *ancestor, bool is_inside)
{
    for (size_t i = 0; i < ancestor->n_claims; i++) {
        const struct claim *claim = &ancestor->claims[i];
        uint32_t units = claim_kept(claim);
        claim->resource->n_inside += is_inside ? units : 0 - units;
        claim->usage->n_inside += is_inside ? claim->count : 0 - claim->count;
        if (is_inside) {
            claim->resource->unseen = sorted_set_first(&claim->resource->queue);
        }
    }
}

static size_t put_inside(struct line line, bool is_inside)
{
    for (; line.at; line_next(&line)) {
        bool changes = is_inside ? line.at->n_inside++ == 0 : --line.at->n_inside == 0;
        if (changes) {
            count_inside(line.at, is_inside);
        }
    }
    return (size_t)line.n;
}

static bool leaves_room(uint32_t max, uint32_t inside, uint32_t count)
{
    return inside == 0 || (inside <= max && count <= max - inside);
}

/* Even when everything outside has come back. A limit that an operator has lowered may rise. */
static bool never_has_units(const struct claim *claim)
{
    return !leaves_room(
        resource_max(claim->resource), claim->resource->n_inside, claim_kept(claim));
}

static bool never_fits_quota(const struct claim *claim)
{
    return !leaves_room(
        claim->resource->definition->max_units_per_user, claim->usage->n_inside, claim->count);
}

/* One who holds, and is not being stopped, has the identity that its lease waits for. */
static bool never_has_identity(const struct core *core, const struct claim *claim)
{
    const struct claim *ahead = claim_identity_ahead(core, claim);
    return ahead && ahead->lease->n_inside > 0 && ahead->lease->stopping == OUTCOME_OK;
}

const struct claim *circle_of_one(struct core *core, const struct lease *lease)
{
    const struct claim *found = NULL;
    if (lease->attributes.parent != 0) {
        struct line line = line_of(core, lease, false);
        put_inside(line, true);
        for (size_t i = 0; !found && i < lease->n_claims; i++) {
            const struct claim *claim = &lease->claims[i];
            bool never = never_has_units(claim) || never_fits_quota(claim) ||
                never_has_identity(core, claim);
            found = never ? claim : NULL;
        }
        put_inside(line, false);
    }
    return found;
}

/* ---- the search ---- */

struct search {
    struct core *core;
    struct lease *requests[MAX_REQUESTS]; /* nested ones that nothing serves, as far as known */
    size_t n;
    size_t n_in_circle; /* the first of them */
    size_t n_looked_at;
};

/* Such a waiter is set aside when it is its turn: it is in nobody's way. */
static bool steps_aside(const struct lease *lease)
{
    bool steps = false;
    for (size_t i = 0; i < lease->n_claims; i++) {
        steps |= never_fits_quota(&lease->claims[i]);
    }
    return steps;
}

/* Never passed by others, and never served. */
static bool blocks(const struct place *place)
{
    const struct definition *definition = place->claim->resource->definition;
    bool may_be_passed =
        definition->order == ORDER_FIRST_FIT && place->overtaken < definition->max_overtakes;
    return !may_be_passed && never_has_units(place->claim);
}

/* The first waiter before the claim that will never go and that the claim may not pass; NULL: none.
 * Whom the search has found to block nobody blocks nobody later either, since less and less is
 * inside; a quota may let go of the others. */
static const struct claim *claim_in_the_way(struct search *search, const struct claim *claim)
{
    struct resource *resource = claim->resource;
    struct sorted_set_node *node = resource->unseen, *again = NULL;
    const struct claim *found = NULL;
    if (resource->n_inside == 0) {
        return NULL;
    }
    while (!found && node && search->n_looked_at <= MAX_LOOKED_AT &&
        sorted_set_node_is_before(node, &claim_place(claim)->node)) {
        const struct place *place = place_of_node(node);
        bool is_blocking = blocks(place);
        search->n_looked_at++;
        again = !again && is_blocking ? node : again;
        found = is_blocking && !steps_aside(place->claim->lease) ? place->claim : NULL;
        node = sorted_set_next(node);
    }
    resource->unseen = again ? again : node;
    return found;
}

static bool never_goes(struct search *search, const struct claim *claim)
{
    return never_has_units(claim) || never_fits_quota(claim) || claim_in_the_way(search, claim);
}

/* One who waits, and is never granted all that it wants, has the identity that its lease waits
 * for. */
static bool waits_for_one_that_waits(struct search *search, const struct claim *claim)
{
    const struct claim *ahead = claim_identity_ahead(search->core, claim);
    bool never = false;
    if (ahead && ahead->lease->state == LEASE_WAITING) {
        for (size_t i = 0; !never && i < ahead->lease->n_claims; i++) {
            never = never_goes(search, &ahead->lease->claims[i]);
        }
    }
    return never;
}

static bool is_never_granted(struct search *search, const struct claim *claim)
{
    return never_goes(search, claim) || never_has_identity(search->core, claim) ||
        waits_for_one_that_waits(search, claim);
}

static const struct claim *claim_never_granted(struct search *search, const struct lease *lease)
{
    size_t i = 0;
    while (i < lease->n_claims && !is_never_granted(search, &lease->claims[i])) {
        i++;
    }
    return i < lease->n_claims ? &lease->claims[i] : NULL;
}

static void search_remove(struct search *search, size_t i)
{
    put_inside(line_of(search->core, search->requests[i], true), false);
    search->requests[i] = search->requests[--search->n];
}

static void search_begin(struct search *search, struct core *core)
{
    const struct waiting *waiting;
    search->core = core;
    search->n = search->n_looked_at = 0;
    TAILQ_FOREACH (waiting, &core->nested, nested_link) {
        if (search->n == MAX_REQUESTS) {
            search->n_looked_at = MAX_LOOKED_AT + 1;
            return;
        }
        search->requests[search->n++] = waiting->lease;
        search->n_looked_at += put_inside(line_of(core, waiting->lease, true), true);
    }
}

static void search_end(struct search *search)
{
    while (search->n > 0) {
        search_remove(search, search->n - 1);
    }
}

/* Leaves those that wait for each other. If that takes too long, none. */
static void search_reduce(struct search *search)
{
    size_t n;
    do {
        n = search->n;
        for (size_t i = search->n; i-- > 0;) {
            bool is_stuck = claim_never_granted(search, search->requests[i]);
            if (!is_stuck || search->n_looked_at > MAX_LOOKED_AT) {
                search_remove(search, i);
            }
        }
    } while (search->n < n);
}

/* That ancestor of the request which holds some of the resource. */
static const struct lease *holder_above(
    struct search *search, const struct lease *request, const struct claim *wanted)
{
    struct line line = line_of(search->core, request, true);
    while (line.at && !lease_own_claim(line.at, wanted->resource)) {
        line_next(&line);
    }
    search->n_looked_at += (size_t)line.n;
    return line.at;
}

/* Whether one of them waits for what the request's ancestors hold: another one, or itself behind
 * somebody who does. */
static bool is_waited_for(struct search *search, const struct lease *request)
{
    bool is = false;
    for (size_t k = 0; !is && k < search->n_in_circle; k++) {
        const struct lease *other = search->requests[k];
        for (size_t i = 0; !is && i < other->n_claims; i++) {
            const struct claim *claim = &other->claims[i];
            bool may_be = other != request || claim_in_the_way(search, claim);
            is = may_be && is_never_granted(search, claim) && holder_above(search, request, claim);
        }
    }
    return is;
}

/* Puts those behind the others who wait for a circle and are in none: to deny them would help
 * nobody. */
static void search_find_circle(struct search *search)
{
    size_t n;
    search->n_looked_at = 0; /* the search has not taken too long */
    search->n_in_circle = search->n;
    do {
        n = search->n_in_circle;
        for (size_t i = n; i-- > 0;) {
            struct lease *request = search->requests[i];
            if (search->n_looked_at <= MAX_LOOKED_AT && !is_waited_for(search, request)) {
                search->requests[i] = search->requests[--search->n_in_circle];
                search->requests[search->n_in_circle] = request;
            }
        }
    } while (search->n_in_circle < n);
    search->n_in_circle = search->n_in_circle > 0 ? search->n_in_circle : search->n;
}

/* The last one of the circle, in the order of the queues. */
static size_t search_last(const struct search *search)
{
    size_t last = 0;
    for (size_t i = 1; i < search->n_in_circle; i++) {
        const struct waiting *waiting = search->requests[i]->waiting;
        const struct waiting *before = search->requests[last]->waiting;
        last =
            sorted_set_node_is_before(&before->places[0].node, &waiting->places[0].node) ? i : last;
    }
    return last;
}

/* ---- the circle in words ---- */

void circle_clear(struct circle *circle)
{
    while (circle->n_steps > 0) {
        free(circle->steps[--circle->n_steps].resource);
    }
}

/* How the search for words came to a request: the one before it waits for what `holder` has, under
 * which this one runs. */
struct stride {
    const struct claim *claim;
    const struct claim *ahead; /* the waiter before that claim that blocks it; or NULL */
    const struct lease *holder;
    size_t from;
};

struct strides {
    struct stride to[MAX_REQUESTS];
    size_t order[MAX_REQUESTS], n; /* as they were found */
    size_t goal; /* where the circle begins and ends */
    struct stride back; /* .holder: it has been found */
};

static void stride_on(struct search *search, struct strides *strides, size_t from)
{
    const struct lease *request = search->requests[from];
    const struct claim *claim = claim_never_granted(search, request); /* NULL: this takes long */
    bool is_in_the_way = claim && !never_has_units(claim) && !never_fits_quota(claim);
    const struct claim *ahead = is_in_the_way ? claim_in_the_way(search, claim) : NULL;
    for (size_t i = 0; claim && i < search->n_in_circle && !strides->back.holder; i++) {
        bool is_back = i == strides->goal;
        bool is_known = is_back ? from == i && !ahead : strides->to[i].holder != NULL;
        const struct lease *holder =
            is_known ? NULL : holder_above(search, search->requests[i], claim);
        struct stride stride = {claim, ahead, holder, from};
        if (holder && is_back) {
            strides->back = stride;
        } else if (holder) {
            strides->to[i] = stride;
            strides->order[strides->n++] = i;
        }
    }
}

static void add_stride(struct circle *circle, const struct stride *stride)
{
    circle->steps[circle->n_steps++] =
        (struct circle_step){.resource = memory_string(stride->claim->resource->name),
            .ahead = stride->ahead ? stride->ahead->lease->id : 0,
            .holder = stride->holder->id};
}

/* From the goal on, though the strides lead backwards; none if there are too many. */
static void add_strides(struct circle *circle, const struct strides *strides)
{
    const struct stride *way[MAX_CIRCLE_STEPS], *stride = &strides->back;
    size_t n = 0;
    way[n++] = stride;
    while (stride->from != strides->goal && n < MAX_CIRCLE_STEPS) {
        stride = &strides->to[stride->from];
        way[n++] = stride;
    }
    while (n > 0 && stride->from == strides->goal) {
        add_stride(circle, way[--n]);
    }
}

static void search_describe(struct search *search, size_t victim, struct circle *circle)
{
    struct strides *strides = memory_new(sizeof *strides);
    const struct lease *lease = search->requests[victim];
    search->n_looked_at = 0; /* nor will this */
    circle_clear(circle);
    circle->claim = (size_t)(claim_never_granted(search, lease) - lease->claims);
    strides->goal = victim;
    strides->order[strides->n++] = victim;
    for (size_t i = 0; i < strides->n && !strides->back.holder; i++) {
        stride_on(search, strides, strides->order[i]);
    }
    if (strides->back.holder) {
        add_strides(circle, strides);
    }
    free(strides);
}

/* ---- when ---- */

static bool is_nested(const struct lease *lease)
{
    return lease->attributes.parent != 0 && lease->database == 0;
}

void circle_enter(struct core *core, struct lease *lease)
{
    if (is_nested(lease)) {
        TAILQ_INSERT_TAIL(&core->nested, lease->waiting, nested_link);
        circle_look(core);
    }
}

void circle_leave(struct core *core, struct lease *lease)
{
    if (is_nested(lease)) {
        TAILQ_REMOVE(&core->nested, lease->waiting, nested_link);
        if (lease_is_detached(lease)) {
            circle_look(core); /* others may be in a circle, too, and it was to be denied first */
        }
    }
}

void circle_look(struct core *core)
{
    core->may_have_circle = !TAILQ_EMPTY(&core->nested);
}

struct lease *circle_next_victim(struct core *core)
{
    if (!core->may_have_circle) {
        return NULL;
    }
    struct search search;
    search_begin(&search, core);
    search_reduce(&search);
    search_find_circle(&search);
    size_t last = search_last(&search);
    struct lease *victim = search.n > 0 ? search.requests[last] : NULL;
    if (victim && lease_is_detached(victim)) {
        victim = NULL; /* berthd tells it once it is back, if it ever is */
    } else if (victim) {
        search_describe(&search, last, &core->circle);
    }
    search_end(&search);
    core->may_have_circle = victim;
    return victim;
}

const struct circle *core_last_circle(const struct core *core)
{
    return &core->circle;
}
