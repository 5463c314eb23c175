/* core_look.c - the fixture's views of the world; see core_fixture.h. They change nothing. */
#include "core_text.h"
#include "core_world.h"

#include "core/queue.h"

#include <string.h>

const char *state(const char *name)
{
    const struct resource *resource = core_find_resource(world.core, name);
    if (!resource) {
        return "gone";
    }
    struct text text = text_new();
    say(&text, "%u/%u free=%u waiting=%u+%u", resource_in_use(resource), resource_limit(resource),
        resource_available(resource), sorted_set_size(&resource->queue),
        sorted_set_size(&resource->aside));
    if (sorted_set_size(&resource->kept) > 0) {
        say(&text, " kept=%u", resource_kept(resource));
    }
    cr_assert_eq(resource_waiting(resource),
        sorted_set_size(&resource->queue) + sorted_set_size(&resource->aside) +
            sorted_set_size(&resource->kept));
    return text.bytes;
}

static void say_places(struct text *text, const struct sorted_set *order)
{
    for (struct sorted_set_node *node = sorted_set_first(order); node;
         node = sorted_set_next(node)) {
        const struct place *place =
            (const struct place *)(const void *)((const char *)node - offsetof(struct place, node));
        say(text, "%s ", lease_name(place->claim->lease));
    }
}

const char *lines(const char *name)
{
    const struct resource *resource = core_find_resource(world.core, name);
    cr_assert_not_null(resource);
    struct text text = text_new();
    const struct claim *claim = resource_first_holder(resource);
    for (; claim; claim = claim_next_holder(claim)) {
        say(&text, "%s ", lease_name(claim->lease));
    }
    say(&text, "| ");
    say_places(&text, &resource->queue);
    say(&text, "| ");
    say_places(&text, &resource->aside);
    if (sorted_set_size(&resource->kept) > 0) {
        say(&text, "| ");
        say_places(&text, &resource->kept);
    }
    text.bytes[text.n - 1] = '\0';
    return text.bytes;
}

const char *resources(void)
{
    struct core_cursor cursor;
    struct text text = text_new();
    core_cursor_init(world.core, &cursor);
    struct resource *resource;
    size_t n = 0;
    while ((resource = core_cursor_next(world.core, &cursor))) {
        say(&text, "%s%s", n++ > 0 ? " " : "", resource->name);
    }
    core_cursor_deinit(world.core, &cursor);
    return text.bytes;
}

const char *lease_state(const char *name)
{
    const struct lease *lease = lease_of(name);
    if (!lease) {
        return "gone";
    }
    if (lease->state == LEASE_WAITING) {
        return "waiting";
    }
    struct text text = text_new();
    say(&text, "granted");
    say_units(&text, lease);
    return text.bytes;
}

uint64_t token_of(const char *lease, const char *resource)
{
    const struct lease *found = lease_of(lease);
    cr_assert(found && found->state == LEASE_HELD);
    for (size_t i = 0; i < found->n_claims; i++) {
        if (strcmp(found->claims[i].resource->name, resource) == 0) {
            return found->claims[i].token;
        }
    }
    cr_assert_fail("%s does not hold %s", lease, resource);
    abort();
}

const char *stop_rules(const char *lease)
{
    static const char *const words[] = {
        [ON_LOST_WARN] = "warn", [ON_LOST_TERM] = "term", [ON_LOST_KILL] = "kill"};
    const struct lease *found = living(lease);
    struct text text = text_new();
    say(&text, "%s %g", words[found->attributes.on_lost],
        (double)found->attributes.kill_after / 1e9);
    return text.bytes;
}

const char *good_until(const char *lease)
{
    const struct lease *found = lease_of(lease);
    cr_assert(found && found->state == LEASE_HELD, "%s is not held", lease);
    struct text text = text_new();
    say_instant(&text, lease_until(found));
    if (lease_until(found) != NEVER) {
        say(&text, " gone by ");
        say_instant(&text, lease_gone_by(found));
    }
    return text.bytes;
}

struct core *the_core(void)
{
    return world.core;
}
