/* past_json.c - what has ended, as JSON, and figures of it. */
#include "view/json.h"

#include <jansson.h>

/* ---- history ---- */

static json_t *claim_value(const struct past_claim *claim)
{
    json_t *object = json_object();
    json_object_set_new(object, "name", text_value(claim->name));
    json_object_set_new(object, "units", words_value(&claim->units));
    json_object_set_new(object, "units_cut", json_boolean(claim->units.is_cut));
    json_object_set_new(object, "wanted", optional_value(&claim->wanted));
    return object;
}

static json_t *claims_value(const struct past_lease *lease)
{
    json_t *array = json_array();
    for (size_t i = 0; i < lease->n_claims; i++) {
        json_array_append_new(array, claim_value(&lease->claims[i]));
    }
    return array;
}

json_t *past_lease_value(const struct past_lease *lease)
{
    const struct optional granted = {lease->held.is_given, past_granted(lease)};
    json_t *object = json_object();
    json_object_set_new(object, "lease", text_value(lease->id));
    json_object_set_new(object, "resources", claims_value(lease));
    json_object_set_new(object, "resources_cut", json_boolean(lease->has_more_claims));
    json_object_set_new(object, "uid", optional_value(&lease->user.uid));
    json_object_set_new(object, "user", user_name_value(&lease->user));
    json_object_set_new(object, "asked_at_ms", number_value(past_asked(lease)));
    json_object_set_new(object, "granted_at_ms", optional_value(&granted));
    json_object_set_new(object, "ended_at_ms", number_value(lease->ended));
    json_object_set_new(object, "unseen", json_boolean(lease->unseen.is_given));
    set_fields(object, past_lease_fields, lease);
    shown_set(object, lease->shown);
    return object;
}

static json_t *action_value(const void *element)
{
    const struct past_action *action = element;
    json_t *object = json_object();
    json_object_set_new(object, "verb", text_value(action->verb));
    json_object_set_new(object, "at_ms", number_value(action->at));
    json_object_set_new(object, "uid", optional_value(&action->user.uid));
    json_object_set_new(object, "user", user_name_value(&action->user));
    set_fields(object, past_action_fields, action);
    return object;
}

static json_t *gap_value(const void *element)
{
    const struct past_gap *gap = element;
    json_t *object = json_object();
    json_object_set_new(object, "from_at_ms", number_value(gap->from));
    json_object_set_new(object, "until_at_ms", number_value(gap->until));
    set_fields(object, past_gap_fields, gap);
    return object;
}

static json_t *source_value(const void *element)
{
    const struct past_source *source = element;
    json_t *object = json_object();
    json_object_set_new(object, "database", text_value(source->database));
    json_object_set_new(object, "since_at_ms", optional_value(&source->since));
    json_object_set_new(object, "more", json_boolean(source->has_more));
    return object;
}

typedef json_t *value_function(const void *element);

static json_t *array_of(const void *list, size_t n, size_t size, value_function *value)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++) {
        json_array_append_new(array, value((const char *)list + i * size));
    }
    return array;
}

static json_t *lease_value(const void *lease)
{
    return past_lease_value(lease);
}

static void set_gaps_and_sources(json_t *object, const struct past *past)
{
    json_object_set_new(object, "gaps",
        array_of(past->gaps, past->n_gaps, sizeof past->gaps[0], gap_value));
    json_object_set_new(object, "sources",
        array_of(past->sources, past->n_sources, sizeof past->sources[0], source_value));
}

void past_json_print(const struct past *past, struct text *out)
{
    json_t *object = json_object();
    json_object_set_new(object, "version", json_integer(1));
    json_object_set_new(object, "now_at_ms", number_value(past->now));
    json_object_set_new(object, "since_at_ms", optional_value(&past->sources[0].since));
    json_object_set_new(object, "leases",
        array_of(past->leases, past->n, sizeof past->leases[0], lease_value));
    json_object_set_new(object, "actions",
        array_of(past->actions, past->n_actions, sizeof past->actions[0], action_value));
    set_gaps_and_sources(object, past);
    json_finish(object, out);
}

/* ---- stats ---- */

static json_t *spread_value(const struct spread *spread)
{
    if (spread->n == 0) {
        return json_null();
    }
    json_t *object = json_object();
    json_object_set_new(object, "median", number_value(spread_percentile(spread, 50)));
    json_object_set_new(object, "p95", number_value(spread_percentile(spread, 95)));
    json_object_set_new(object, "longest", number_value(spread->longest));
    json_object_set_new(object, "sum", number_value(spread->sum));
    return object;
}

/* `part` is what their part of the whole is called. */
static void set_figures(json_t *object, const struct stats_row *row, const char *part)
{
    const struct figures *figures = &row->figures;
    const struct optional *permille = &row->permille;
    json_object_set_new(object, "leases", number_value(figures->n_leases));
    json_object_set_new(object, "refused", number_value(figures->n_refused));
    json_object_set_new(object, "waiting", number_value(figures->n_waiting));
    json_object_set_new(object, "waited_ms", spread_value(&figures->waits));
    json_object_set_new(object, "held_ms", spread_value(&figures->holds));
    json_object_set_new(object, "unit_ms", optional_value(&figures->unit_time));
    json_object_set_new(object, part,
        permille->is_given ? json_real((double)permille->number / 1000) : json_null());
}

static json_t *users_value(const struct stats_row users[], size_t n, const char *part)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *object = json_object();
        json_object_set_new(object, "uid", optional_value(&users[i].user.uid));
        json_object_set_new(object, "user", user_name_value(&users[i].user));
        set_figures(object, &users[i], part);
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *stats_resource_value(const struct stats_resource *resource)
{
    json_t *object = json_object();
    json_object_set_new(object, "name", text_value(resource->all.name));
    set_figures(object, &resource->all, "use");
    json_object_set_new(object, "users", users_value(resource->users, resource->n_users, "use"));
    return object;
}

void stats_json_print(
    const struct stats *stats, const struct past *past, struct text *out)
{
    json_t *resources = json_array(), *object = json_object();
    for (size_t i = 0; i < stats->n_resources; i++) {
        json_array_append_new(resources, stats_resource_value(&stats->resources[i]));
    }
    json_object_set_new(object, "version", json_integer(1));
    json_object_set_new(object, "from_at_ms", number_value(stats->from));
    json_object_set_new(object, "to_at_ms", number_value(stats->to));
    json_object_set_new(object, "resources", resources);
    json_object_set_new(object, "users", users_value(stats->users, stats->n_users, "share"));
    set_gaps_and_sources(object, past);
    json_finish(object, out);
}
