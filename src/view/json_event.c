#include "view/json_event.h"

#include "view/json_parts.h"
#include "view/json_values.h"

/* Of the lease, or NULL. */
static json_t *lease_of(const struct json_event *event)
{
    return event->holder ? holder_value(event->holder, event->is_pool)
        : event->waiter  ? waiter_value(event->waiter)
        : event->ended   ? past_lease_value(event->ended)
                         : NULL;
}

void json_print_event(const struct json_event *event, struct text *out)
{
    json_begin();
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
