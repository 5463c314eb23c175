/* drive_compare.c - the core's state against the model's. */
#include "drive_internal.h"

#include "../unit/core_remember.h"
#include "core/meter.h"
#include "core/queue.h"
#include "tests/core_check.h"

#include <stdio.h>
#include <string.h>

static void compare_units(const struct resource *resource, const struct model_resource *expected)
{
    uint32_t seen = 0;
    for (uint32_t i = 0; i < resource->n_units; i++) {
        const struct unit *unit = resource->units[i];
        uint32_t number = unit_number(unit);
        REQUIRE(number < MODEL_UNITS && !(seen & UINT32_C(1) << number), "%s: unit %u twice",
            resource->name, number);
        seen |= UINT32_C(1) << number;
        const struct model_unit *theirs = &expected->units[number];
        uint64_t holder = unit->state == UNIT_HELD ? unit->claim->lease->id : 0;
        REQUIRE(holder == theirs->holder, "%s: unit %u is held by %ju instead of %ju",
            resource->name, number, holder, theirs->holder);
        REQUIRE((unit->state == UNIT_COOLING) == theirs->cooling, "%s: unit %u cools or not",
            resource->name, number);
        REQUIRE(unit->reserved == theirs->reserved, "%s: unit %u is reserved or not",
            resource->name, number);
        REQUIRE(unit->removed == theirs->removed, "%s: unit %u is removed or not", resource->name,
            number);
    }
    for (uint32_t i = 0; i < MODEL_UNITS; i++) {
        const struct model_unit *theirs = &expected->units[i];
        bool must_be = theirs->exists || theirs->holder || theirs->cooling || theirs->reserved;
        REQUIRE(!must_be || seen & UINT32_C(1) << i, "%s: unit %u is missing", resource->name, i);
    }
}

/* `n` stand before it, aside or not. */
static void compare_place(const struct model_lease *lease, const struct resource *resource,
    const struct sorted_set_node *node, uint32_t n)
{
    const struct place *place =
        (const struct place *)(const void *)((const char *)node - offsetof(struct place, node));
    const struct claim *claim = place->claim;
    REQUIRE(claim->lease->id == lease->id && claim->resource == resource,
        "%s: lease %ju stands where %ju should", resource->name, claim->lease->id, lease->id);
    REQUIRE(claim_position(claim) == n + 1, "%s: %ju has place %u instead of %u", resource->name,
        lease->id, claim_position(claim), n + 1);
    size_t i = (size_t)(claim - claim->lease->claims);
    REQUIRE(place->overtaken == lease->claims[i].overtaken, "%s: %ju overtaken %u times, not %u",
        resource->name, lease->id, place->overtaken, lease->claims[i].overtaken);
}

static enum standing standing_of(struct model_lease *lease, const struct model_claim *claim)
{
    bool is_station = lease->station >= 0 && &lease->claims[lease->station] == claim;
    return model_keeps(lease, claim) ? STANDS_KEEPING : is_station ? STANDS_IN_QUEUE : STANDS_ASIDE;
}

/* The queue, the keepers, and all others: each in order. */
static void compare_queues(const struct simulation *simulation, const struct resource *resource,
    const struct model_resource *expected)
{
    static const char *const words[N_STANDINGS] = {"aside", "in the queue", "keeping"};
    const struct model *model = simulation->model;
    const struct sorted_set_node *nodes[N_STANDINGS] = {
        [STANDS_ASIDE] = sorted_set_first(&resource->aside),
        [STANDS_IN_QUEUE] = sorted_set_first(&resource->queue),
        [STANDS_KEEPING] = sorted_set_first(&resource->kept)};
    uint32_t n = 0;
    for (size_t i = 0; i < model->n_waiters; i++) {
        struct model_lease *lease = model->waiters[i];
        const struct model_claim *claim = model_claim_on(lease, expected);
        if (claim) {
            enum standing standing = standing_of(lease, claim);
            const struct sorted_set_node **nodep = &nodes[standing];
            REQUIRE(*nodep, "%s: lease %ju is not %s", resource->name, lease->id, words[standing]);
            compare_place(lease, resource, *nodep, n++);
            *nodep = sorted_set_next(*nodep);
        }
    }
    REQUIRE(
        !nodes[0] && !nodes[1] && !nodes[2], "%s: somebody waits who should not", resource->name);
}

/* Items that were removed while held do not count towards the limit. */
static uint32_t n_under_limit(const struct resource *resource)
{
    uint32_t n = resource_in_use(resource);
    for (uint32_t i = 0; i < resource->n_units; i++) {
        n -= resource->units[i]->removed;
    }
    return n;
}

/* Guarantee 1, without the model: never over the limit, except where that was lowered. */
static void check_limit(const struct simulation *simulation, const struct resource *resource)
{
    uint32_t in_use = n_under_limit(resource), before = 0;
    for (size_t i = 0; i < simulation->n_before; i++) {
        if (strcmp(simulation->before[i].name, resource->name) == 0) {
            before = simulation->before[i].in_use;
        }
    }
    bool may = in_use <= resource_limit(resource) || in_use <= before || simulation->brings_proof;
    REQUIRE(may, "%s: %u of %u are held", resource->name, in_use, resource_limit(resource));
}

static void compare_resource(const struct simulation *simulation, const struct resource *resource,
    const struct model_resource *expected)
{
    check_limit(simulation, resource);
    REQUIRE(strcmp(resource->name, expected->name) == 0, "resource %s stands where %s should",
        resource->name, expected->name);
    REQUIRE(resource->is_defined == expected->defined, "%s: is it defined?", resource->name);
    REQUIRE(resource->pause.is_on == expected->paused, "%s: is it paused itself?", resource->name);
    REQUIRE(resource->is_exempt == expected->exempt, "%s: is it an exception?", resource->name);
    REQUIRE(resource_is_paused(resource) == model_is_paused(expected), "%s: is it paused?",
        resource->name);
    REQUIRE(resource_limit(resource) == model_limit(expected), "%s: limit %u instead of %u",
        resource->name, resource_limit(resource), model_limit(expected));
    REQUIRE(resource_in_use(resource) == model_in_use(expected), "%s: %u in use instead of %u",
        resource->name, resource_in_use(resource), model_in_use(expected));
    REQUIRE(resource_free_units(resource) == model_free_units(expected),
        "%s: %u free instead of %u", resource->name, resource_free_units(resource),
        model_free_units(expected));
    REQUIRE(!resource->meter || resource_rate(resource).paid_at == expected->paid_at,
        "%s: the rate has made up for all at %jd instead of %jd", resource->name,
        (intmax_t)resource_rate(resource).paid_at, (intmax_t)expected->paid_at);
    REQUIRE(resource_is_blocked(resource) == model_is_blocked(expected), "%s: is it blocked?",
        resource->name);
    compare_units(resource, expected);
    compare_queues(simulation, resource, expected);
}

static void compare_resources(struct simulation *simulation)
{
    struct core_cursor cursor;
    struct resource *resource;
    size_t n = 0;
    core_cursor_init(simulation->core, &cursor);
    while ((resource = core_cursor_next(simulation->core, &cursor))) {
        REQUIRE(n < simulation->model->n_resources, "%s should be gone", resource->name);
        compare_resource(simulation, resource, simulation->model->resources[n++]);
    }
    core_cursor_deinit(simulation->core, &cursor);
    REQUIRE(n == simulation->model->n_resources, "%s is missing",
        simulation->model->resources[n]->name);
    core_cursor_init(simulation->core, &cursor);
    for (n = 0; (resource = core_cursor_next(simulation->core, &cursor)); n++) {
        strcpy(simulation->before[n].name, resource->name);
        simulation->before[n].in_use = resource_in_use(resource);
    }
    simulation->n_before = n;
    core_cursor_deinit(simulation->core, &cursor);
}

/* That of a name that is no template's now is not changed. */
static void compare_templates(struct simulation *simulation)
{
    for (size_t i = 0; i < simulation->model->n_templates; i++) {
        const struct model_template *expected = &simulation->model->templates[i];
        const struct template *template = core_find_template(simulation->core, expected->name);
        bool is_limited = template && template->runtime_limit != UNBOUNDED;
        int64_t limit = is_limited ? (int64_t) template->runtime_limit : -1;
        REQUIRE((template && template->pause.is_on) == expected->paused, "%s: is it paused?",
            expected->name);
        REQUIRE(limit == expected->limit, "%s: limit %jd instead of %jd", expected->name,
            (intmax_t)limit, (intmax_t)expected->limit);
    }
}

static void compare_identity(struct simulation *simulation, const struct model_lease *expected,
    const struct model_claim *claim)
{
    char holder[MODEL_NAME];
    struct resource *resource = core_find_resource(simulation->core, claim->resource->name);
    snprintf(holder, sizeof holder, "h%u", expected->holder % 1000);
    const struct lease *found =
        core_find_identity(simulation->core, resource, expected->uid, holder);
    /* Two, if both were held before. */
    bool is_one = found && strcmp(found->attributes.holder, holder) == 0;
    bool may_be_anybodys = claim->resource->rules.identity_shared;
    REQUIRE(is_one && (found->uid == expected->uid || may_be_anybodys), "%s: %s of %u is not found",
        resource->name, holder, expected->uid);
}

/* Looks up by `once`, as long as the lease lives. */
static void compare_once(struct simulation *simulation, const struct model_lease *expected)
{
    char text[16];
    const struct lease *found = expected->once == 0
        ? NULL
        : core_find_once(simulation->core, expected->uid, once_text(text, expected->once));
    uint64_t id = found ? found->id : 0;
    REQUIRE(id == (expected->once != 0 ? expected->id : 0), "by the once of %ju lease %ju is found",
        expected->id, id);
}

static void compare_lease(struct simulation *simulation, const struct model_lease *expected)
{
    const struct lease *lease = core_find_lease(simulation->core, expected->id);
    REQUIRE(lease, "lease %ju is gone", expected->id);
    REQUIRE((lease->state == LEASE_HELD) == expected->held, "lease %ju: held or waiting?",
        expected->id);
    REQUIRE(
        lease_is_detached(lease) == (expected->client < 0), "lease %ju: is it away?", expected->id);
    REQUIRE(expected->client < 0 || lease->client == &simulation->clients[expected->client],
        "lease %ju has another client", expected->id);
    REQUIRE(!expected->held || lease_until(lease) == model_until(expected),
        "lease %ju is good until %jd", expected->id, (intmax_t)lease_until(lease));
    REQUIRE(lease->stopping == expected->stopping, "lease %ju: is it stopped?", expected->id);
    REQUIRE(lease->attributes.kill_after == expected->kill_after &&
            lease->attributes.on_lost == expected->on_lost,
        "lease %ju is stopped in another way", expected->id);
    compare_once(simulation, expected);
    for (size_t k = 0; expected->holder != 0 && k < expected->n_claims; k++) {
        if (!expected->claims[k].is_level) {
            compare_identity(simulation, expected, &expected->claims[k]);
        }
    }
}

static void compare_leases(struct simulation *simulation)
{
    const struct model *model = simulation->model;
    for (size_t i = 0; i < model->n_leases; i++) {
        compare_lease(simulation, model->leases[i]);
    }
    size_t n_held = model_n_held(model);
    REQUIRE(core_n_held(simulation->core) == n_held, "%zu leases held instead of %zu",
        core_n_held(simulation->core), n_held);
    REQUIRE(core_n_waiting(simulation->core) == model->n_waiters, "%zu leases wait, not %zu",
        core_n_waiting(simulation->core), model->n_waiters);
}

void compare_all(struct simulation *simulation)
{
    const struct model *model = simulation->model;
    core_check(simulation->core);
    compare_resources(simulation);
    compare_templates(simulation);
    compare_leases(simulation);
    counts_compare(simulation);
    nanoseconds next = core_next_deadline(simulation->core);
    REQUIRE(next == model_next_deadline(model), "the next deadline is %jd, not %jd", (intmax_t)next,
        (intmax_t)model_next_deadline(model));
    REQUIRE(core_grace_until(simulation->core) == model_grace_until(model), "another grace");
    REQUIRE(core_is_closed(simulation->core) == model->closed, "is it closed?");
}

void compare_records(struct simulation *simulation)
{
    size_t n = 0;
    for (size_t i = 0; i < N_RECORDS; i++) {
        n += simulation->records[i].saved && simulation->records[i].cooldown_until == 0;
    }
    REQUIRE(n == simulation->model->n_leases, "%zu records of %zu leases", n,
        simulation->model->n_leases);
    for (size_t i = 0; i < simulation->model->n_leases; i++) {
        const struct lease *lease = find_lease(simulation, simulation->model->leases[i]->id);
        REQUIRE(lease->record != 0, "lease %ju is not written down", lease->id);
        struct saved_lease *now = remember(lease);
        const char *difference =
            saved_lease_difference(simulation->records[lease->record - 1].saved, now);
        REQUIRE(!difference, "lease %ju: %s is not written down", lease->id, difference);
        forget(now);
    }
}

void require_all_free(const struct simulation *simulation)
{
    struct core_cursor cursor;
    struct resource *resource;
    core_cursor_init(simulation->core, &cursor);
    while ((resource = core_cursor_next(simulation->core, &cursor))) {
        REQUIRE(resource_in_use(resource) == 0 && resource_waiting(resource) == 0,
            "%s is not free at the end", resource->name);
        REQUIRE(resource->usages.n == (resource->idle_usage ? 1 : 0), "%s knows users at the end",
            resource->name);
        REQUIRE(resource->is_defined, "%s is still there", resource->name);
    }
    core_cursor_deinit(simulation->core, &cursor);
    REQUIRE(core_n_held(simulation->core) == 0 && core_n_waiting(simulation->core) == 0,
        "leases without clients");
}
