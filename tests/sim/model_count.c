/* model_count.c - what has happened to leases, counted by the definition that governed each
 * resource. */
#include "model.h"

#include <string.h>

/* Which bucket: how many of these bounds, in milliseconds, it exceeds. */
static size_t bucket_of(uint64_t length)
{
    static const uint64_t bounds[] = {
        10, 100, 1000, 5000, 15000, 60000, 300000, 900000, 3600000, 14400000, 43200000, 86400000};
    size_t n = 0;
    for (size_t i = 0; i < sizeof bounds / sizeof bounds[0]; i++) {
        n += length > bounds[i] * 1000;
    }
    return n;
}

struct model_counts *model_find_counts(struct model *model, const char *name)
{
    for (size_t i = 0; i < model->n_counts; i++) {
        if (strcmp(model->counts[i].name, name) == 0) {
            return &model->counts[i];
        }
    }
    return NULL;
}

const char *model_counts_name(struct model *model, const char *name)
{
    static char pattern[MODEL_NAME];
    const char *slash = strrchr(name, '/');
    if (model_find_counts(model, name)) {
        return name;
    }
    strcpy(pattern, name);
    if (slash) {
        strcpy(pattern + (slash - name) + 1, "*");
    }
    return slash && model_find_counts(model, pattern) ? pattern : "";
}

void model_count_definitions(struct model *model)
{
    for (size_t i = 0; i < model->file.n; i++) {
        const char *name = model->file.list[i].name;
        if (!model_find_counts(model, name)) {
            REQUIRE(model->n_counts < MODEL_RESOURCES, "too many names for the model");
            strcpy(model->counts[model->n_counts++].name, name);
        }
    }
}

static struct model_counts *counts_of(struct model *model, const struct model_resource *resource)
{
    static struct model_counts nowhere;
    struct model_counts *counts = model_find_counts(model, resource->counts_as);
    return counts ? counts : &nowhere;
}

/* Units are held until now. */
void model_begin(struct model *model, nanoseconds now)
{
    REQUIRE(now >= model->now, "the clock goes back");
    model->asked = 0;
    model->names_fault = false;
    uint64_t span = microseconds(now) - microseconds(model->now);
    for (size_t i = 0; i < model->n_leases; i++) {
        const struct model_lease *lease = model->leases[i];
        for (size_t k = 0; lease->held && k < lease->n_claims; k++) {
            const struct model_claim *claim = &lease->claims[k];
            counts_of(model, claim->resource)->unit_microseconds += claim->count * span;
        }
    }
    model->now = now;
}

void model_count_grant(struct model *model, const struct model_lease *lease)
{
    uint64_t waited = microseconds(model->now - lease->asked_at);
    for (size_t i = 0; i < lease->n_claims; i++) {
        struct model_counts *counts = counts_of(model, lease->claims[i].resource);
        counts->granted[lease->has_waited]++;
        counts->waited += waited;
        counts->waits[bucket_of(waited)]++;
    }
}

static enum outcome word_of(enum outcome why)
{
    return why == OUTCOME_WITHDRAWN ? OUTCOME_REVOKED : why;
}

static void count_held(
    struct model_counts *counts, const struct model_lease *lease, enum outcome why, nanoseconds now)
{
    uint64_t held = microseconds(now - lease->granted_at);
    counts->ended[word_of(why)]++;
    counts->held += held;
    counts->holds[bucket_of(held)]++;
}

/* A lease that is being stopped ends for that reason, whoever gives it back. */
void model_count_end(struct model *model, const struct model_lease *lease, enum outcome why)
{
    bool is_stopped = why == OUTCOME_RELEASED && lease->stopping != OUTCOME_OK;
    for (size_t i = 0; why != OUTCOME_OK && i < lease->n_claims; i++) {
        struct model_counts *counts = counts_of(model, lease->claims[i].resource);
        if (lease->held) {
            count_held(counts, lease, is_stopped ? lease->stopping : why, model->now);
        } else {
            counts->denied[why]++;
        }
    }
}

void model_count_reclaim(struct model *model, const struct model_lease *lease)
{
    for (size_t i = 0; i < lease->n_claims; i++) {
        counts_of(model, lease->claims[i].resource)->reclaimed++;
    }
}

/* "" if nothing with that name is defined. */
static const char *definition_of(struct model *model, const char *name)
{
    const struct model_resource *resource = model_find_resource(model, name);
    const struct rules *rules =
        resource && !resource->defined ? NULL : file_find(&model->file, name);
    return rules ? rules->name : "";
}

void model_count_refused(struct model *model, const struct model_ask *ask, enum outcome why)
{
    for (size_t i = 0; i < ask->n_wants; i++) {
        struct model_counts *counts =
            model_find_counts(model, definition_of(model, ask->wants[i].name));
        if (counts) {
            counts->denied[why]++;
        }
    }
}

void model_count_gone(struct model *model, const struct model_past *past, enum outcome why)
{
    for (size_t i = 0; i < past->lease.n_claims; i++) {
        const char *name = definition_of(model, past->on[i].name);
        struct model_counts *counts =
            model_find_counts(model, name[0] ? name : model_counts_name(model, past->on[i].name));
        if (counts && past->lease.held) {
            count_held(counts, &past->lease, why, model->now);
        } else if (counts) {
            counts->denied[why]++;
        }
    }
}
