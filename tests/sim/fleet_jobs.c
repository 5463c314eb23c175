/* fleet_jobs.c - a host's jobs, and their wrappers, which know until when their leases are good and
 * end their jobs without the daemon. */
#include "fleet_internal.h"

#include <string.h>

struct job *jobs_find(struct host *host, uint64_t id)
{
    for (size_t i = 0; i < MAX_JOBS; i++) {
        if (host->jobs[i].id == id) {
            return &host->jobs[i];
        }
    }
    return NULL;
}

size_t jobs_used(const struct host *host)
{
    size_t n = 0;
    for (size_t i = 0; i < MAX_JOBS; i++) {
        n += host->jobs[i].id != 0;
    }
    return n;
}

static nanoseconds random_wait(struct fleet *fleet)
{
    uint32_t kind = random_below(&fleet->random, 10);
    return kind == 0 ? 0 : kind == 1 ? chance(fleet, SECOND, 30 * SECOND) : NEVER;
}

static uint32_t random_n_wants(struct fleet *fleet)
{
    return PICK(&fleet->random, 1, 1, 1, 1, 1, 1, 2, 2, 3, 4);
}

/* Which resources, as bits. */
static uint32_t choose_wants(struct fleet *fleet, struct acquire_request *ask)
{
    uint32_t names = 0, first = random_below(&fleet->random, N_NAMES);
    ask->n_wants = random_n_wants(fleet);
    for (uint32_t i = 0; i < ask->n_wants; i++) {
        uint32_t number = (first + i) % N_NAMES;
        if (resource_is_rare(number) && random_percent(&fleet->random, 90)) {
            number = (first + (uint32_t)ask->n_wants) % N_NAMES;
        }
        bool has_many = resource_max_units(number) > 1 && random_percent(&fleet->random, 20);
        bool wants_all =
            !has_many && !resource_has_quota(number) && random_percent(&fleet->random, 8);
        ask->wants[i] = (struct requested_resource){
            .name = resource_names[number], .count = has_many ? 2 : 1, .is_all = wants_all};
        names |= UINT32_C(1) << number;
    }
    return names;
}

/* Some ask from within one of their jobs. */
static uint64_t random_parent(struct fleet *fleet, const struct host *host, uint32_t uid)
{
    uint64_t found = 0;
    uint32_t n = 0;
    for (size_t i = 0; i < MAX_JOBS; i++) {
        const struct job *job = &host->jobs[i];
        bool may = job->id != 0 && job->is_alive && job->uid == uid;
        found = may && random_below(&fleet->random, ++n) == 0 ? job->id : found;
    }
    return random_percent(&fleet->random, fleet->percent_nested) ? found : 0;
}

/* It gives back what it has only after they have ended. */
static bool has_below(const struct host *host, const struct job *job)
{
    bool has = false;
    for (size_t i = 0; i < MAX_JOBS; i++) {
        const struct job *below = &host->jobs[i];
        has |= below->id != 0 && below->above == job->id && (below->is_waiting || below->is_alive);
    }
    return has;
}

/* Whose places a request with that identity takes. */
static uint8_t random_replace(struct fleet *fleet, uint32_t holder)
{
    if (holder == 0) {
        return REPLACE_NOTHING;
    }
    return (uint8_t)PICK(&fleet->random, REPLACE_NOTHING, REPLACE_WAITING, REPLACE_RUNNING);
}

/* Nobody kills a program: it ends itself when its lease is to be stopped (job_is_stopped()). */
static void be_a_program(struct acquire_request *ask, const struct host *host)
{
    ask->binding = BOUND_PROCESS;
    ask->process = (struct process){.pid = 2, .started = host->n_asked + 1};
    ask->attributes.signal = 0;
}

static const char *const shares[] = {NULL, "x", "y"};
enum { N_SHARES = sizeof shares / sizeof shares[0], ANY_TURN = 1000000 };

/* A request has the rank of the first by name that has turns, which may be a level. Of one user's,
 * other words may go before it. */
static uint64_t turn_of(
    struct fleet *fleet, const struct lease *lease, uint32_t uid, uint32_t share)
{
    uint32_t first = N_NAMES;
    bool by_words = false, by_words_first = false;
    for (size_t i = 0; i < lease->n_claims; i++) {
        uint32_t number = resource_number(lease->claims[i].resource->name);
        bool is_before =
            first == N_NAMES || strcmp(resource_names[number], resource_names[first]) < 0;
        if (resource_has_turns(number, &by_words) && is_before) {
            first = number;
            by_words_first = by_words;
        }
    }
    uint32_t flow = by_words_first && share != 0 ? N_USERS + share : uid;
    uint32_t priority = lease->attributes.priority > 0;
    return first == N_NAMES                       ? 0
        : by_words_first || !fleet->has_words ? 1 + priority + 2 * (flow + 16 * first)
                                              : ANY_TURN;
}

void jobs_ask(struct fleet *fleet, struct host *host)
{
    static const char *const holders[] = {NULL, "x", "y", "z"};
    struct job *job = jobs_find(host, 0);
    struct acquire_request ask = {.wait = random_wait(fleet), .attributes.signal = SIGNAL_TERM};
    struct lease *lease;
    const char *at_fault;
    uint32_t uid = 1 + random_below(&fleet->random, N_USERS);
    uint32_t names = choose_wants(fleet, &ask);
    uint32_t holder = PICK(&fleet->random, 0, 0, 0, 0, 0, 0, 1, 2, 3);
    uint32_t share = fleet->has_words ? random_below(&fleet->random, N_SHARES) : 0;
    ask.attributes.holder = holders[holder];
    ask.attributes.replace = random_replace(fleet, holder);
    ask.attributes.share = shares[share];
    ask.attributes.priority = random_percent(&fleet->random, 10) ? 5 : 0;
    ask.attributes.parent = random_parent(fleet, host, uid);
    if (uid == 1) {
        be_a_program(&ask, host);
    }
    enum outcome outcome = core_acquire(host->core, &host->clients[uid - 1], &ask,
        host_now(fleet, host), &host->effects, &lease, &at_fault);
    if (outcome != OUTCOME_PENDING) {
        if (outcome != OUTCOME_DRAINING && outcome != OUTCOME_GRACE && outcome != OUTCOME_HELD) {
            fail("%s: an acquire ends with outcome %d", host->name, (int)outcome);
        }
        return;
    }
    bool is_long = random_percent(&fleet->random, fleet->percent_long);
    *job = (struct job){.id = lease->id,
        .above = ask.attributes.parent,
        .uid = uid,
        .holder = holder,
        .turn = turn_of(fleet, lease, uid, share),
        .names = names,
        .is_waiting = true,
        .was_moved = ask.attributes.replace != REPLACE_NOTHING,
        .length = chance(fleet, 20 * MILLISECOND, is_long ? 60 * SECOND : 2 * SECOND),
        .budget = lease_stop_budget(lease),
        .asked = ++host->n_asked};
}

/* Waiting leases of one host whose turn is the same have tickets in the order of their requests,
 * but for those that the database has turned away: their answer may be lost, and then they are
 * asked for again. */
static void check_order(struct host *host, const struct lease *granted)
{
    const struct job *mine = jobs_find(host, granted->id);
    if (mine->turn == ANY_TURN) {
        return;
    }
    for (size_t i = 0; i < MAX_JOBS; i++) {
        const struct job *other = &host->jobs[i];
        const struct lease *lease =
            other->id != 0 && other->is_waiting ? core_find_lease(host->core, other->id) : NULL;
        bool is_in_order = !mine->was_turned_away && !mine->was_moved;
        is_in_order &= !other->was_turned_away && !other->was_moved && other->turn == mine->turn;
        if (lease && lease->ticket != 0 && is_in_order &&
            (lease->ticket < granted->ticket) != (other->asked < mine->asked)) {
            fail("%s: tickets are not in the order of the requests: %ju has %ju, %ju %ju",
                host->name, (uintmax_t)granted->id, (uintmax_t)granted->ticket,
                (uintmax_t)other->id, (uintmax_t)lease->ticket);
        }
    }
}

/* What only one of the two may have at a time; NULL: nothing. */
static const char *shared_by(const struct job *a, const struct job *b)
{
    for (uint32_t i = 0; i < N_NAMES; i++) {
        if (a->units[i] & b->units[i]) {
            return resource_names[i];
        }
    }
    bool is_same = a->holder != 0 && a->holder == b->holder && a->uid == b->uid;
    return is_same && (a->names & b->names) != 0 ? "an identity" : NULL;
}

/* Two that were granted when nobody could know of both: one is stopped once somebody does. */
static bool is_excused(const struct fleet *fleet, const struct job *a, const struct job *b)
{
    bool is_settled =
        !fleet->server.is_blind && fleet->now > fleet->server.noticed_at + slow(fleet->ttl);
    return (a->is_blind || b->is_blind) && !is_settled;
}

static void check_alone(struct fleet *fleet, const struct host *host, const struct job *job)
{
    for (uint32_t i = 0; i < fleet->n_hosts; i++) {
        for (uint32_t k = 0; k < MAX_JOBS; k++) {
            const struct job *other = &fleet->hosts[i].jobs[k];
            const char *what = other != job && other->is_alive ? shared_by(job, other) : NULL;
            if (what && !is_excused(fleet, job, other)) {
                fail("a unit of %s has two jobs, on %s and %s", what, host->name,
                    fleet->hosts[i].name);
            }
        }
    }
}

void jobs_check(struct fleet *fleet)
{
    for (uint32_t i = 0; i < fleet->n_hosts; i++) {
        for (uint32_t k = 0; k < MAX_JOBS; k++) {
            if (fleet->hosts[i].jobs[k].is_alive) {
                check_alone(fleet, &fleet->hosts[i], &fleet->hosts[i].jobs[k]);
            }
        }
    }
}

/* The session's clock may have moved on with the server's, and a server that has lost its data does
 * not know which units rest. A database counts whole milliseconds. */
static void check_rest(struct fleet *fleet, const struct host *host, uint32_t number)
{
    nanoseconds since = fleet->ended_at[number];
    bool was_disturbed = fleet->server.clock_set_at >= since || fleet->server.data_lost_at >= since;
    if (resource_rests(number) && since != 0 && !was_disturbed &&
        fleet->now + MILLISECOND <= since + COOLDOWN / 13 * 12) { /* at the fastest clock */
        fail("%s: %s has not rested", host->name, resource_names[number]);
    }
}

/* A server whose clock was set back and that has lost its data may not know how large tokens were,
 * if no host is left that does. */
static void check_token(
    struct fleet *fleet, const struct host *host, uint32_t number, uint32_t unit, uint64_t token)
{
    uint64_t *largest = &fleet->tokens[number][unit];
    if (token <= *largest && !server_was_blind(fleet, token)) {
        fail("%s: token %ju of %s %u comes after %ju", host->name, (uintmax_t)token,
            resource_names[number], unit, (uintmax_t)*largest);
    }
    *largest = token > *largest ? token : *largest;
}

static void take_units(
    struct fleet *fleet, const struct host *host, struct job *job, const struct claim *claim)
{
    uint32_t number = resource_number(claim->resource->name);
    check_rest(fleet, host, number);
    for (const struct unit *unit = claim->units; unit; unit = unit->next_of_claim) {
        uint32_t i = unit_number(unit);
        if (i >= resource_max_units(number)) {
            fail("%s: unit %u of %s is above its limit", host->name, i, claim->resource->name);
        }
        check_token(fleet, host, number, i, claim->token);
        job->is_blind |= server_was_blind(fleet, claim->token);
        trace(fleet, "%s: unit %u of %s, token %ju", host->name, i, resource_names[number],
            (uintmax_t)claim->token);
        job->units[number] |= claim->is_all ? UINT32_MAX : UINT32_C(1) << i;
    }
}

static void check_levels(const struct host *host, const struct lease *lease)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        const struct claim *claim = &lease->claims[i];
        const struct definition *definition = claim->resource->definition;
        for (size_t k = 0; k < definition->n_levels; k++) {
            const struct resource *level =
                core_find_resource(host->core, definition->levels[k].name);
            const struct claim *taken = lease_own_claim((struct lease *)lease, level);
            if (!taken || (taken->count < claim->count * definition->levels[k].count &&
                              !taken->is_all)) {
                fail("%s: a lease on %s goes round %s", host->name, claim->resource->name,
                    definition->levels[k].name);
            }
        }
    }
}

void job_is_granted(struct fleet *fleet, struct host *host, const struct lease *lease)
{
    struct job *job = jobs_find(host, lease->id);
    if (!job || !job->is_waiting) {
        fail("%s: a grant of nobody's lease", host->name);
    }
    check_order(host, lease);
    check_levels(host, lease);
    memset(job->units, 0, sizeof job->units);
    for (size_t i = 0; i < lease->n_claims; i++) {
        take_units(fleet, host, job, &lease->claims[i]);
    }
    job->is_waiting = false;
    job->is_alive = true;
    job->ends_at = fleet->now + job->length;
    job->dies_at = NEVER;
    job->deadline = core_fleet_deadline(host->core, 1);
    check_alone(fleet, host, job);
    fleet->figures[FIGURE_GRANTS]++;
    trace(fleet, "%s: job %ju runs", host->name, (uintmax_t)job->id);
}

void job_dies(struct fleet *fleet, struct job *job)
{
    for (uint32_t i = 0; job->is_alive && i < N_NAMES; i++) {
        if (job->units[i] != 0) {
            fleet->ended_at[i] = fleet->now;
        }
    }
    job->is_over = job->is_alive || job->is_waiting;
    job->is_alive = job->is_waiting = false;
}

/* Sooner or later; at the latest when both its killers have acted. */
void job_is_stopped(struct fleet *fleet, const struct host *host, struct job *job)
{
    nanoseconds now = host_now(fleet, host);
    nanoseconds at = now + chance(fleet, 0, fleet->definitions[0].kill_after);
    if (now >= job->deadline - job->budget && random_percent(&fleet->random, 50)) {
        at = job->deadline > now ? job->deadline : now;
    }
    job->dies_at = at < job->dies_at ? at : job->dies_at;
}

static nanoseconds job_next(const struct host *host, const struct job *job)
{
    nanoseconds stop_at = job->dies_at == NEVER ? job->deadline - job->budget : job->dies_at;
    nanoseconds at = clock_when(&host->clock, stop_at);
    nanoseconds ends_at = has_below(host, job) ? NEVER : job->ends_at;
    return !job->is_alive ? NEVER : ends_at < at ? ends_at : at;
}

nanoseconds jobs_next_deadline(const struct host *host)
{
    nanoseconds deadline = NEVER;
    for (size_t i = 0; i < MAX_JOBS; i++) {
        nanoseconds at = host->jobs[i].id != 0 ? job_next(host, &host->jobs[i]) : NEVER;
        deadline = at < deadline ? at : deadline;
    }
    return deadline;
}

void jobs_tick(struct fleet *fleet, struct host *host)
{
    nanoseconds now = host_now(fleet, host);
    for (size_t i = 0; i < MAX_JOBS; i++) {
        struct job *job = &host->jobs[i];
        if (job->id == 0 || !job->is_alive) {
            continue;
        }
        bool ends = fleet->now >= job->ends_at && !has_below(host, job);
        if (ends || now >= job->dies_at) {
            trace(fleet, "%s: job %ju ends", host->name, (uintmax_t)job->id);
            job_dies(fleet, job);
        } else if (now >= job->deadline - job->budget) {
            job_is_stopped(fleet, host, job);
        }
    }
}
