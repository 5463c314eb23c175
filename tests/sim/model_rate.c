/* model_rate.c - what the model knows of rates, and what any window has had. */
#include "model.h"

#include <string.h>

/* Between two units, rounded up. */
static nanoseconds step_of(const struct rules *rules)
{
    return (rules->rate.window + rules->rate.units - 1) / rules->rate.units;
}

static bool has_rate(const struct model_resource *resource)
{
    return resource->rules.rate.units > 0;
}

bool model_owes(const struct model_resource *resource)
{
    return has_rate(resource) && resource->paid_at > resource->model->rate_now;
}

/* From when on so many may be granted. */
static nanoseconds goes_at(const struct model_resource *resource, uint32_t units)
{
    nanoseconds before = (nanoseconds)resource->rules.burst - units;
    return units > resource->rules.burst
        ? NEVER
        : resource->paid_at - before * step_of(&resource->rules);
}

uint32_t model_going(const struct model_resource *resource)
{
    uint32_t n = has_rate(resource) ? resource->rules.burst : UNBOUNDED;
    while (has_rate(resource) && n > 0 && goes_at(resource, n) > resource->model->rate_now) {
        n--;
    }
    return n;
}

/* ---- the rule, whoever counts ---- */

static struct model_grants *grants_of(struct model *model, const struct model_resource *resource)
{
    size_t i = 0;
    while (i < model->n_grants && strcmp(model->grants[i].name, resource->name) != 0) {
        i++;
    }
    if (i == model->n_grants) {
        strcpy(model->grants[model->n_grants++].name, resource->name);
        model->grants[i].n = 0;
    }
    return &model->grants[i];
}

/* In each window that ends now. */
static void check_windows(const struct model_grants *grants, const struct rules *rules)
{
    uint32_t sum = 0;
    nanoseconds now = grants->list[grants->n - 1].at;
    for (size_t i = grants->n; i-- > 0;) {
        nanoseconds span = now - grants->list[i].at;
        sum += grants->list[i].units;
        REQUIRE(sum <= rules->burst + span / step_of(rules), "%s: %u units in %jd ns", grants->name,
            sum, (intmax_t)span);
    }
}

static bool have_one_rate(const struct rules *a, const struct rules *b)
{
    return a->rate.units == b->rate.units && a->rate.window == b->rate.window &&
        a->burst == b->burst;
}

static void count_grant(struct model *model, const struct model_claim *claim)
{
    struct model_grants *grants = grants_of(model, claim->resource);
    const struct rules *rules = &claim->resource->rules;
    grants->n = have_one_rate(&grants->rules, rules) ? grants->n : 0; /* since a restart */
    grants->rules = *rules;
    if (grants->n == MODEL_GRANTS) {
        grants->n -= MODEL_GRANTS / 2;
        memmove(grants->list, grants->list + MODEL_GRANTS / 2,
            grants->n * sizeof grants->list[0]);
    }
    grants->list[grants->n].at = model->now;
    grants->list[grants->n++].units = claim->count;
    check_windows(grants, rules);
}

/* ---- what happens ---- */

void model_rate_begin(struct model *model, struct model_resource *resource)
{
    resource->rate_due = NEVER;
    if (has_rate(resource) && model->rates_unknown_at != NEVER) {
        resource->charged_at = model->rates_unknown_at;
        resource->paid_at =
            model->rates_unknown_at + resource->rules.burst * step_of(&resource->rules);
    }
}

void model_rate_forget(struct model *model, const struct model_resource *resource)
{
    grants_of(model, resource)->n = 0;
}

void model_begin_rates(struct model *model, nanoseconds unknown_at)
{
    model->rates_unknown_at = unknown_at;
    for (size_t i = 0; i < model->n_resources; i++) {
        model->resources[i]->paid_at = 0;
        model_rate_begin(model, model->resources[i]);
    }
}

/* Units that are owed stay so many. */
static nanoseconds paid_at(const struct rules *rules, nanoseconds charged_at,
    nanoseconds paid_at_before, nanoseconds step_before)
{
    nanoseconds step = step_of(rules), owed = paid_at_before - charged_at;
    owed = step == step_before ? owed : (owed + step_before - 1) / step_before * step;
    nanoseconds most = rules->burst * step;
    return charged_at + (owed < most ? owed : most);
}

void model_rate_redefine(
    struct model *model, struct model_resource *resource, const struct rules *before)
{
    if (!have_one_rate(before, &resource->rules)) {
        model_rate_forget(model, resource);
    }
    if (has_rate(resource) && before->rate.units > 0) {
        if (resource->paid_at > model->now) {
            resource->paid_at = paid_at(
                &resource->rules, resource->charged_at, resource->paid_at, step_of(before));
        }
    } else {
        resource->paid_at = 0;
        model_rate_begin(model, resource);
    }
}

void model_rate_charge(struct model *model, const struct model_claim *claim)
{
    struct model_resource *resource = claim->resource;
    if (has_rate(resource)) {
        count_grant(model, claim);
        resource->charged_at = model->now;
        resource->paid_at =
            later(resource->paid_at, model->now) + claim->count * step_of(&resource->rules);
    }
}

nanoseconds model_rate_restore(struct model *model, const struct saved_claim *claim)
{
    struct model_resource *resource;
    const struct saved_rate *saved = &claim->rate;
    const struct rules *rules = file_find(&model->file, claim->name);
    nanoseconds until = saved->step != 0 && rules && rules->rate.units > 0
        ? paid_at(rules, saved->charged_at, saved->paid_at, saved->step)
        : 0;
    if (until <= model->now ||
        model_get_resource(model, claim->name, -1, &resource) != OUTCOME_OK) {
        return 0;
    }
    if (until >= resource->paid_at) {
        resource->charged_at = saved->charged_at;
        resource->paid_at = until;
    }
    return until;
}

/* ---- when somebody is to be looked at again ---- */

static nanoseconds look_at(const struct model *model, const struct model_resource *resource)
{
    nanoseconds due = NEVER;
    size_t n_seen = 0;
    size_t n_may_be_seen = resource->rules.order == ORDER_FIRST_FIT ? FIRST_FIT_WINDOW : 1;
    for (size_t i = 0; i < model->n_waiters && n_seen < n_may_be_seen; i++) {
        struct model_lease *lease = model->waiters[i];
        if (!model_stands_at(lease, resource)) {
            continue;
        }
        const struct model_claim *claim = &lease->claims[lease->station];
        uint32_t kept = model_kept_for_older(model, lease, resource);
        nanoseconds at = claim->is_all && kept > 0 ? NEVER : goes_at(resource, kept + claim->count);
        due = at > model->rate_now && at < due ? at : due;
        n_seen = claim->overtaken >= resource->rules.max_overtakes ? n_may_be_seen : n_seen + 1;
    }
    bool is_idle = model_in_use(resource) == 0 && model_waiting(model, resource) == 0;
    bool is_to_go = resource->is_instance && is_idle && resource->paid_at > model->rate_now;
    return is_to_go ? resource->paid_at : due;
}

void model_rates_look(struct model *model)
{
    for (size_t i = 0; i < model->n_resources; i++) {
        struct model_resource *resource = model->resources[i];
        resource->rate_due = has_rate(resource) ? look_at(model, resource) : NEVER;
    }
}

nanoseconds model_rate_due(const struct model *model)
{
    nanoseconds due = NEVER;
    for (size_t i = 0; i < model->n_resources; i++) {
        due = earlier(due, model->resources[i]->rate_due);
    }
    return due;
}
