#include "view/json.h"

#include "view/json_parts.h"
#include "view/json_values.h"

/* ---- units ---- */

static json_t *units_value(const struct words *units, bool is_pool)
{
    if (is_pool) {
        return words_value(units);
    }
    json_t *array = json_array();
    for (size_t i = 0; i < units->n; i++) {
        uint64_t first, last;
        if (!slots_parse(units->list[i], &first, &last)) {
            continue;
        }
        for (; first <= last; first++) {
            json_array_append_new(array, number_value(first));
        }
    }
    return array;
}

static void add_item(json_t *array, json_t *name, const char *state, const char *reason)
{
    json_t *item = json_object();
    json_object_set_new(item, "name", name);
    json_object_set_new(item, "state", json_string(state));
    json_object_set_new(item, "reason", text_value(reason));
    json_array_append_new(array, item);
}

static bool is_held(const struct status_resource *resource, const char *item)
{
    for (size_t i = 0; i < resource->holders.n; i++) {
        if (words_contain(&resource->holders.list[i].units, item)) {
            return true;
        }
    }
    return false;
}

static const char *item_state(const struct status_resource *resource, const char *item)
{
    if (words_contain(&resource->draining, item)) {
        return "draining";
    }
    if (words_contain(&resource->reserved, item)) {
        return "reserved";
    }
    return is_held(resource, item) ? "held" : "idle";
}

/* Those of `words` that are in none of the `before` lists. */
static void add_items(json_t *array, const struct status_resource *resource,
    const struct words *words, const struct words *const before[2])
{
    for (size_t i = 0; i < words->n; i++) {
        const char *item = words->list[i];
        if ((before[0] && words_contain(before[0], item)) ||
            (before[1] && words_contain(before[1], item))) {
            continue;
        }
        add_item(array, text_value(item), item_state(resource, item),
            status_reserve_reason(resource, item));
    }
}

static json_t *pool_items_value(const struct status_resource *resource)
{
    const struct words *items = &resource->items, *reserved = &resource->reserved;
    json_t *array = json_array();
    add_items(array, resource, items, (const struct words *[2]){NULL, NULL});
    add_items(array, resource, reserved, (const struct words *[2]){items, NULL});
    add_items(array, resource, &resource->draining, (const struct words *[2]){items, reserved});
    return array;
}

static json_t *slot_items_value(const struct status_resource *resource)
{
    json_t *array = json_array();
    for (size_t i = 0; i < resource->reserved.n; i++) {
        uint64_t slot, last;
        if (!slots_parse(resource->reserved.list[i], &slot, &last)) {
            continue;
        }
        for (; slot <= last; slot++) {
            struct text word = TEXT_INIT;
            text_add_format(&word, "%llu", (unsigned long long)slot);
            add_item(
                array, number_value(slot), "reserved", status_reserve_reason(resource, word.bytes));
            text_deinit(&word);
        }
    }
    return array;
}

/* ---- leases ---- */

static void set_who(json_t *object, const struct status_lease *lease)
{
    json_object_set_new(object, "pid", number_value(lease->pid));
    json_object_set_new(object, "uid", number_value(lease->uid));
    json_object_set_new(object, "user", text_value(lease->user));
    json_object_set_new(object, "host", text_value(lease->host));
    shown_set(object, lease->shown);
    json_object_set_new(object, "holder", text_value(lease->holder));
}

json_t *holder_value(const struct status_lease *lease, bool is_pool)
{
    json_t *object = json_object();
    json_object_set_new(object, "lease", text_value(lease->id));
    json_object_set_new(object, "units", units_value(&lease->units, is_pool));
    json_object_set_new(object, "units_cut", json_boolean(lease->units.is_cut));
    json_object_set_new(object, "token", digits_value(lease->token));
    set_who(object, lease);
    json_object_set_new(object, "age_ms", number_value(lease->age));
    json_object_set_new(object, "bound", text_value(lease->bound));
    json_object_set_new(object, "away", json_boolean(lease->away));
    json_object_set_new(object, "unread", json_boolean(lease->unread));
    json_object_set_new(object, "left_ms", optional_value(&lease->left));
    json_object_set_new(object, "stopping", text_value(lease->stopping));
    return object;
}

json_t *waiter_value(const struct status_lease *lease)
{
    json_t *object = json_object();
    json_object_set_new(object, "lease", text_value(lease->id));
    json_object_set_new(object, "position", number_value(lease->position));
    json_object_set_new(object, "wants", number_value(lease->wants));
    set_who(object, lease);
    json_object_set_new(object, "priority", json_integer(lease->priority));
    json_object_set_new(object, "blocked", text_value(lease->blocked));
    json_object_set_new(object, "blocker", text_value(lease->blocker));
    json_object_set_new(object, "kept", number_value(lease->kept));
    json_object_set_new(object, "age_ms", number_value(lease->age));
    json_object_set_new(object, "away", json_boolean(lease->away));
    return object;
}

/* ---- resources ---- */

static void set_items(json_t *object, const struct status_resource *resource)
{
    bool is_pool = status_is_pool(resource);
    json_object_set_new(
        object, "items", is_pool ? pool_items_value(resource) : slot_items_value(resource));
    json_object_set_new(object, "items_cut",
        json_boolean(
            resource->items.is_cut || resource->reserved.is_cut || resource->draining.is_cut));
}

static void set_leases(json_t *object, const struct status_resource *resource)
{
    json_t *holders = json_array(), *waiters = json_array();
    for (size_t i = 0; i < resource->holders.n; i++) {
        json_array_append_new(
            holders, holder_value(&resource->holders.list[i], status_is_pool(resource)));
    }
    for (size_t i = 0; i < resource->waiters.n; i++) {
        json_array_append_new(waiters, waiter_value(&resource->waiters.list[i]));
    }
    json_object_set_new(object, "holders", holders);
    json_object_set_new(object, "waiters", waiters);
}

static void set_pauser(
    json_t *object, const struct shown_user *by, const struct shown_user *login)
{
    set_user(object, "paused_by_uid", "paused_by_user", by);
    set_user(object, "paused_by_login_uid", "paused_by_login_user", login);
}

static json_t *resource_value(
    const struct status *status, const struct status_resource *resource)
{
    json_t *object = json_object();
    json_object_set_new(object, "name", text_value(resource->name));
    json_object_set_new(object, "kind", text_value(resource->kind));
    json_object_set_new(object, "scope", text_value(resource->scope));
    json_object_set_new(object, "database", text_value(resource->database));
    json_object_set_new(object, "database_state", text_value(resource->database_state));
    json_object_set_new(object, "limit", number_value(resource->limit));
    json_object_set_new(object, "in_use", number_value(resource->in_use));
    json_object_set_new(object, "free", number_value(resource->free));
    json_object_set_new(object, "grantable", number_value(status_grantable(status, resource)));
    json_object_set_new(object, "cooling", number_value(resource->cooling));
    json_object_set_new(object, "kept", number_value(resource->kept));
    json_object_set_new(object, "kept_for", optional_value(&resource->keeper));
    json_object_set_new(object, "waiting", number_value(resource->waiting));
    json_object_set_new(object, "paused", json_boolean(resource->paused));
    json_object_set_new(object, "pause_reason", text_value(resource->reason));
    set_pauser(object, &resource->paused_by, &resource->paused_by_login);
    json_object_set_new(object, "changed", words_value(&resource->changed));
    json_object_set_new(object, "template", text_value(resource->template));
    json_object_set_new(object, "removed", json_boolean(resource->removed));
    set_items(object, resource);
    set_leases(object, resource);
    return object;
}

/* Of words with commas between. */
static json_t *list_value(const char *words)
{
    json_t *list = json_array();
    for (const char *word = words; word && *word; word += *word == ',') {
        size_t n = strcspn(word, ",");
        json_array_append_new(list, json_stringn(word, n));
        word += n;
    }
    return list;
}

static json_t *database_value(const struct status_database *database)
{
    json_t *object = json_object();
    json_object_set_new(object, "name", text_value(database->name));
    json_object_set_new(object, "state", text_value(database->state));
    json_object_set_new(object, "why", text_value(database->why));
    json_object_set_new(object, "server", text_value(database->server));
    json_object_set_new(object, "redis_version", text_value(database->version));
    json_object_set_new(object, "warning", text_value(database->warning));
    json_object_set_new(object, "lacks", list_value(database->lacks));
    json_object_set_new(object, "ttl_ms", number_value(database->ttl));
    json_object_set_new(object, "grace_ms", optional_value(&database->grace));
    json_object_set_new(object, "new", json_boolean(database->is_new));
    json_object_set_new(object, "good_ms", optional_value(&database->good));
    json_object_set_new(object, "incarnation", number_value(database->incarnation));
    json_object_set_new(object, "differing", number_value(database->differing));
    json_object_set_new(object, "calls", number_value(database->calls));
    json_object_set_new(object, "sessions", optional_value(&database->sessions));
    json_object_set_new(object, "calls_per_1000_s", optional_value(&database->rate));
    json_object_set_new(object, "busy_us_per_s", optional_value(&database->busy));
    json_object_set_new(object, "cpu_us_per_s", optional_value(&database->cpu));
    json_object_set_new(object, "layout", optional_value(&database->layout));
    return object;
}

static json_t *databases_value(const struct status *status)
{
    json_t *databases = json_array();
    for (size_t i = 0; i < status->n_databases; i++) {
        json_array_append_new(databases, database_value(&status->databases[i]));
    }
    return databases;
}

/* ---- templates ---- */

static json_t *template_value(const struct status_template *template)
{
    json_t *object = json_object();
    json_object_set_new(object, "name", text_value(template->name));
    json_object_set_new(object, "kind", text_value(template->kind));
    json_object_set_new(object, "scope", text_value(template->scope));
    json_object_set_new(object, "database", text_value(template->database));
    json_object_set_new(object, "database_state", text_value(template->database_state));
    json_object_set_new(object, "limit", number_value(template->limit));
    json_object_set_new(object, "instances", number_value(template->instances));
    json_object_set_new(object, "paused", json_boolean(template->paused));
    json_object_set_new(object, "pause_reason", text_value(template->reason));
    set_pauser(object, &template->paused_by, &template->paused_by_login);
    json_object_set_new(object, "changed", words_value(&template->changed));
    return object;
}

void json_print(const struct status *status, struct text *out)
{
    json_begin();
    json_t *resources = json_array();
    for (size_t i = 0; i < status->n_resources; i++) {
        json_array_append_new(resources, resource_value(status, &status->resources[i]));
    }
    json_t *templates = json_array();
    for (size_t i = 0; i < status->n_templates; i++) {
        json_array_append_new(templates, template_value(&status->templates[i]));
    }
    json_t *object = json_object();
    json_object_set_new(object, "version", json_integer(1));
    json_object_set_new(object, "draining", json_boolean(status->draining));
    json_object_set_new(object, "grace_ms", optional_value(&status->grace));
    json_object_set_new(object, "closed", text_value(status->closed));
    json_object_set_new(object, "resources", resources);
    json_object_set_new(object, "templates", templates);
    json_object_set_new(object, "databases", databases_value(status));
    json_finish(object, out);
}

/* ---- hosts ---- */

static json_t *host_value(const struct status_host *host)
{
    json_t *object = json_object();
    json_object_set_new(object, "host", text_value(host->name));
    json_object_set_new(object, "database", text_value(host->database));
    json_object_set_new(object, "heard_ms", number_value(host->heard));
    json_object_set_new(object, "held", number_value(host->held));
    json_object_set_new(object, "waiting", number_value(host->waiting));
    json_object_set_new(object, "version", text_value(host->version));
    json_object_set_new(object, "layout_from", optional_value(&host->layout_from));
    json_object_set_new(object, "layout_to", optional_value(&host->layout_to));
    json_object_set_new(object, "ttl_ms", optional_value(&host->ttl));
    json_object_set_new(object, "failover_lag_ms", optional_value(&host->failover_lag));
    json_object_set_new(object, "session", text_value(host->session));
    return object;
}

static json_t *hosts_value(const struct status *status)
{
    json_t *hosts = json_array();
    for (size_t i = 0; i < status->n_hosts; i++) {
        json_array_append_new(hosts, host_value(&status->hosts[i]));
    }
    return hosts;
}

void json_print_hosts(const struct status *status, struct text *out)
{
    json_begin();
    json_t *object = json_object();
    json_object_set_new(object, "version", json_integer(1));
    json_object_set_new(object, "hosts", hosts_value(status));
    json_object_set_new(object, "databases", databases_value(status));
    json_finish(object, out);
}

/* ---- elements ---- */

void json_add_string(const char *string, struct text *out)
{
    json_begin();
    json_add(text_value(string), out);
}

void json_add_resource(
    const struct status *status, const struct status_resource *resource, struct text *out)
{
    json_begin();
    json_add(resource_value(status, resource), out);
}

void json_add_template(const struct status_template *template, struct text *out)
{
    json_begin();
    json_add(template_value(template), out);
}

void json_add_databases(const struct status *status, struct text *out)
{
    json_begin();
    json_add(databases_value(status), out);
}

void json_add_hosts(const struct status *status, struct text *out)
{
    json_begin();
    json_add(hosts_value(status), out);
}
