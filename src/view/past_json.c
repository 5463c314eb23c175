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

void past_json_print(const struct past *past, struct text *out)
{
    json_t *leases = json_array(), *object = json_object();
    for (size_t i = 0; i < past->n; i++) {
        json_array_append_new(leases, past_lease_value(&past->leases[i]));
    }
    json_object_set_new(object, "version", json_integer(1));
    json_object_set_new(object, "now_at_ms", number_value(past->now));
    json_object_set_new(object, "since_at_ms", optional_value(&past->since));
    json_object_set_new(object, "leases", leases);
    json_finish(object, out);
}

/* ---- stats ---- */

static json_t *percentiles_value(const struct percentiles *spread)
{
    if (spread->n == 0) {
        return json_null();
    }
    json_t *object = json_object();
    json_object_set_new(object, "median", number_value(spread->median));
    json_object_set_new(object, "p95", number_value(spread->percentile_95));
    json_object_set_new(object, "longest", number_value(spread->longest));
    json_object_set_new(object, "sum", number_value(spread->sum));
    return object;
}

/* `part` is what their part of the whole is called. */
static void set_figures(json_t *object, const struct figures *figures, const char *part)
{
    const struct optional *permille = &figures->permille;
    json_object_set_new(object, "leases", number_value(figures->n_leases));
    json_object_set_new(object, "refused", number_value(figures->n_refused));
    json_object_set_new(object, "waiting", number_value(figures->n_waiting));
    json_object_set_new(object, "waited_ms", percentiles_value(&figures->waits));
    json_object_set_new(object, "held_ms", percentiles_value(&figures->holds));
    json_object_set_new(object, "unit_ms", optional_value(&figures->unit_time));
    json_object_set_new(object, part,
        permille->is_given ? json_real((double)permille->number / 1000) : json_null());
}

static json_t *users_value(const struct stats_user users[], size_t n, const char *part)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *object = json_object();
        json_object_set_new(object, "uid", optional_value(&users[i].user.uid));
        json_object_set_new(object, "user", user_name_value(&users[i].user));
        set_figures(object, &users[i].figures, part);
        json_array_append_new(array, object);
    }
    return array;
}

static json_t *stats_resource_value(const struct stats_resource *resource)
{
    json_t *object = json_object();
    json_object_set_new(object, "name", text_value(resource->name));
    set_figures(object, &resource->figures, "use");
    json_object_set_new(object, "users", users_value(resource->users, resource->n_users, "use"));
    return object;
}

void stats_json_print(const struct stats *stats, struct text *out)
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
    json_finish(object, out);
}
