#include "view/json.h"

#include "base/memory.h"
#include "view/printable.h"
#include "view/users.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* ---- values ---- */

static void *allocate(size_t size)
{
    return memory_resize(NULL, size, 1);
}

/* From then on no constructor of jansson can fail. */
static __attribute__((constructor)) void choose_memory(void)
{
    json_set_alloc_funcs(allocate, free);
}

json_t *text_value(const char *string)
{
    if (!string) {
        return json_null();
    }
    struct text valid = TEXT_INIT;
    text_add_valid(&valid, string);
    json_t *value = json_stringn(valid.bytes, valid.length);
    text_deinit(&valid);
    return value;
}

json_t *number_value(uint64_t number)
{
    return json_integer((json_int_t)number); /* at most INT64_MAX, as parsed */
}

json_t *optional_value(const struct optional *optional)
{
    return optional->is_given ? number_value(optional->number) : json_null();
}

static json_t *instant_value(const struct instant *instant)
{
    return instant->is_given ? json_integer(instant->at) : json_null();
}

json_t *words_value(const struct words *words)
{
    json_t *array = json_array();
    for (size_t i = 0; i < words->n; i++) {
        json_array_append_new(array, text_value(words->list[i]));
    }
    return array;
}

json_t *user_name_value(const struct shown_user *user)
{
    return user->uid.is_given ? text_value(user_name(user->uid.number)) : json_null();
}

/* jansson leaves DEL unescaped; it can only occur inside a string. */
static void add_without_del(struct text *out, const char *json)
{
    for (const char *del; (del = strchr(json, 0x7f)) != NULL; json = del + 1) {
        text_add_bytes(out, json, (size_t)(del - json));
        text_add(out, "\\u007f");
    }
    text_add(out, json);
}

void json_add(json_t *value, struct text *out)
{
    enum { FLAGS = JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(6) | JSON_ENCODE_ANY };
    char *json = json_dumps(value, FLAGS);
    add_without_del(out, json);
    free(json);
    json_decref(value);
}

void json_finish(json_t *object, struct text *out)
{
    json_add(object, out);
    text_add(out, "\n");
}

void shown_set(json_t *object, const char *const shown[N_SHOWN])
{
    for (size_t i = 0; i < N_SHOWN; i++) {
        if (shown_rows[i].title) {
            json_object_set_new(object, shown_rows[i].word, text_value(shown[i]));
        }
    }
}

/* ---- keys ---- */

static void set_suffixed(json_t *object, const char *key, const char *suffix, json_t *value)
{
    struct text name = TEXT_INIT;
    text_add_format(&name, "%s%s", key, suffix);
    json_object_set_new(object, name.bytes, value);
    text_deinit(&name);
}

/* NULL: units, which depend on the resource. */
static json_t *member_value(enum field_type type, const void *member)
{
    switch (type) {
    case FIELD_TEXT:
        return text_value(*(const char *const *)member);
    case FIELD_NUMBER:
    case FIELD_COUNT:
    case FIELD_SPAN:
        return number_value(*(const uint64_t *)member);
    case FIELD_TOKEN: /* a string: it may be larger than INT64_MAX */
        return json_sprintf("%llu", (unsigned long long)*(const uint64_t *)member);
    case FIELD_OPTIONAL:
    case FIELD_OPTIONAL_SPAN:
        return optional_value(member);
    case FIELD_USER:
        return optional_value(&((const struct shown_user *)member)->uid);
    case FIELD_INSTANT:
        return instant_value(member);
    case FIELD_SIGNED:
        return json_integer(*(const int64_t *)member);
    case FIELD_FLAG:
    case FIELD_SWITCH:
        return json_boolean(*(const bool *)member);
    case FIELD_WORDS:
        return words_value(member);
    case FIELD_UNITS:
        break;
    }
    return NULL;
}

static void set_key(json_t *object, const struct field *field, const char *record)
{
    const void *member = record + field->offset;
    bool is_span = field->type == FIELD_SPAN || field->type == FIELD_OPTIONAL_SPAN;
    bool is_user = field->type == FIELD_USER;
    json_t *value = member_value(field->type, member);
    if (value) {
        set_suffixed(object, field->key, is_span ? "_ms" : is_user ? "_uid" : "", value);
    }
    if (is_user) {
        set_suffixed(object, field->key, "_user", user_name_value(member));
    }
}

void set_fields(json_t *object, const struct field *fields, const void *record)
{
    for (const struct field *field = fields; field->key; field++) {
        if (field->whom != FOR_FOLLOWERS) {
            set_key(object, field, record);
        }
    }
}

/* `key` is what its name is called. */
static json_t *record_value(
    enum status_line line, const char *key, const char *name, const void *record)
{
    json_t *object = json_object();
    json_object_set_new(object, key, text_value(name));
    set_fields(object, status_fields(line), record);
    return object;
}

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

static const char *item_state(const struct status_resource *resource, const char *item)
{
    if (words_contain(&resource->draining, item)) {
        return "draining";
    }
    if (words_contain(&resource->reserved, item)) {
        return "reserved";
    }
    return status_item_is_held(resource, item) ? "held" : "idle";
}

/* Each once. */
static json_t *pool_items_value(const struct status_resource *resource)
{
    enum { N_LISTS = 3 };
    const struct words *lists[N_LISTS] = {
        &resource->items, &resource->reserved, &resource->draining};
    json_t *array = json_array();
    for (size_t i = 0; i < N_LISTS; i++) {
        for (size_t k = 0; k < lists[i]->n; k++) {
            const char *item = lists[i]->list[k];
            bool is_new = !(i > 0 && words_contain(lists[0], item)) &&
                !(i > 1 && words_contain(lists[1], item));
            if (is_new) {
                add_item(array, text_value(item), item_state(resource, item),
                    status_reserve_reason(resource, item));
            }
        }
    }
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

static json_t *lease_value(const struct status_lease *lease, bool is_pool)
{
    enum status_line line = lease->is_held ? LINE_HOLDER : LINE_WAITER;
    json_t *object = record_value(line, "lease", lease->id, lease);
    json_object_set_new(object, "user", text_value(user_name(lease->uid)));
    shown_set(object, lease->shown);
    if (lease->is_held) {
        json_object_set_new(object, "units", units_value(&lease->units, is_pool));
        json_object_set_new(object, "units_cut", json_boolean(lease->units.is_cut));
    }
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
    for (size_t i = 0; i < resource->leases.n; i++) {
        const struct status_lease *lease = &resource->leases.list[i];
        json_array_append_new(
            lease->is_held ? holders : waiters, lease_value(lease, status_is_pool(resource)));
    }
    json_object_set_new(object, "holders", holders);
    json_object_set_new(object, "waiters", waiters);
}

json_t *resource_value(const struct status *status, const struct status_resource *resource)
{
    json_t *object = record_value(LINE_RESOURCE, "name", resource->name, resource);
    json_object_set_new(object, "grantable", number_value(status_grantable(status, resource)));
    set_items(object, resource);
    set_leases(object, resource);
    return object;
}

json_t *template_value(const struct status_resource *template)
{
    return record_value(LINE_TEMPLATE, "name", template->name, template);
}

/* Of `n` records of `size` bytes; each begins with its name, which is called `key`. */
static json_t *records_value(
    enum status_line line, const char *key, const void *records, size_t n, size_t size)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++) {
        const void *record = (const char *)records + i * size;
        json_array_append_new(
            array, record_value(line, key, *(const char *const *)record, record));
    }
    return array;
}

json_t *databases_value(const struct status *status)
{
    return records_value(LINE_DATABASE, "name", status->databases, status->n_databases,
        sizeof *status->databases);
}

void json_print(const struct status *status, struct text *out)
{
    json_t *resources = json_array();
    for (size_t i = 0; i < status->n_resources; i++) {
        json_array_append_new(resources, resource_value(status, &status->resources[i]));
    }
    json_t *object = json_object();
    json_object_set_new(object, "version", json_integer(1));
    set_fields(object, status_fields(LINE_FIGURES), status);
    json_object_set_new(object, "resources", resources);
    json_object_set_new(object, "templates",
        records_value(LINE_TEMPLATE, "name", status->templates, status->n_templates,
            sizeof *status->templates));
    json_object_set_new(object, "databases", databases_value(status));
    json_finish(object, out);
}

/* ---- hosts ---- */

json_t *hosts_value(const struct status *status)
{
    return records_value(
        LINE_HOST, "host", status->hosts, status->n_hosts, sizeof *status->hosts);
}

json_t *gone_value(const struct status *status)
{
    return records_value(LINE_GONE, "host", status->gone, status->n_gone, sizeof *status->gone);
}

void json_print_hosts(const struct status *status, struct text *out)
{
    json_t *object = json_object();
    json_object_set_new(object, "version", json_integer(1));
    json_object_set_new(object, "now", instant_value(&status->now));
    json_object_set_new(object, "hosts", hosts_value(status));
    json_object_set_new(object, "gone", gone_value(status));
    json_object_set_new(object, "databases", databases_value(status));
    json_finish(object, out);
}

/* ---- a change ---- */

/* Of the lease, or NULL. */
static json_t *lease_of(const struct json_event *event)
{
    return event->lease ? lease_value(event->lease, event->is_pool)
        : event->ended  ? past_lease_value(event->ended)
                        : NULL;
}

void json_print_event(const struct json_event *event, struct text *out)
{
    json_t *object = json_object(), *lease = lease_of(event);
    json_object_set_new(object, "event", text_value(event->event));
    json_object_set_new(object, "time_ms", json_integer(event->time));
    json_object_set_new(object, "now", instant_value(&event->now));
    json_object_set_new(object, "resource", text_value(event->resource));
    json_object_set_new(object, "database", text_value(event->database));
    json_object_set_new(object, "text", text_value(event->text));
    if (lease) {
        json_object_update_missing(object, lease);
        json_decref(lease);
    }
    json_finish(object, out);
}
