/* levels.c - adds to a request the levels (`also`) of the resources that it names, and of these
 * levels. */
#include "core/internal.h"

#include <string.h>

/* The request and what it has come to, for whom. */
struct climb {
    struct core *core;
    const struct lease *asker;
    struct acquire_request *ask;
};

/* Its count times the level's, or more than there can be. */
static uint32_t times(uint32_t count, uint32_t by)
{
    uint64_t product = (uint64_t)count * by;
    return product < UNBOUNDED ? (uint32_t)product : UNBOUNDED;
}

static struct requested_resource *find_or_add(struct climb *climb, const char *name)
{
    struct acquire_request *ask = climb->ask;
    size_t i = 0;
    while (i < ask->n_wants && strcmp(ask->wants[i].name, name) != 0) {
        i++;
    }
    if (i == MAX_RESOURCES_PER_LEASE) {
        return NULL;
    }
    if (i == ask->n_wants) {
        ask->wants[ask->n_wants++] = (struct requested_resource){.name = name, .is_level = true};
        core_find_want(climb->core, &ask->wants[i]);
    }
    return &ask->wants[i];
}

/* Adds the levels of a want. A share takes nothing of them: the lease above has what it takes. */
static enum outcome climb_from(
    struct climb *climb, const struct requested_resource *want, const char **at_faultp)
{
    const struct definition *definition = core_find_definition(climb->core, want->name);
    enum outcome outcome = OUTCOME_OK;
    bool is_top = !definition || definition->n_levels == 0 ||
        share_is_found(climb->core, climb->asker, climb->ask, want->name);
    for (size_t i = 0; !is_top && outcome == OUTCOME_OK && i < definition->n_levels; i++) {
        const struct level *level = &definition->levels[i];
        uint32_t count = times(want->count, level->count);
        struct requested_resource *above = find_or_add(climb, level->name);
        if (!above) {
            *at_faultp = level->name;
            return OUTCOME_IMPOSSIBLE;
        }
        if (above->count < count) {
            const struct requested_resource taken = {.name = above->name, .count = count};
            /* All of it is one unit, but takes no less of what is above it. */
            above->count = above->is_all ? above->count : count;
            outcome = climb_from(climb, &taken, at_faultp);
        }
    }
    return outcome;
}

enum outcome core_add_levels(struct core *core, uint64_t id, uint32_t uid,
    struct acquire_request *ask, const char **at_faultp)
{
    *at_faultp = NULL;
    if (!core->has_levels) {
        return OUTCOME_OK;
    }
    const struct lease asker = {.id = id, .uid = uid, .attributes = ask->attributes};
    struct climb climb = {core, &asker, ask};
    enum outcome outcome = OUTCOME_OK;
    size_t n = ask->n_wants;
    for (size_t i = 0; outcome == OUTCOME_OK && i < n; i++) {
        outcome = climb_from(&climb, &ask->wants[i], at_faultp);
    }
    return outcome;
}

enum outcome levels_find(struct core *core, uint64_t id, uint32_t uid,
    const struct acquire_request **askp, struct acquire_request *expanded, const char **at_faultp)
{
    if (!core->has_levels) {
        return OUTCOME_OK;
    }
    *expanded = **askp;
    *askp = expanded;
    return core_add_levels(core, id, uid, expanded, at_faultp);
}
