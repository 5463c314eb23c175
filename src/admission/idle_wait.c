#include "admission/idle_wait.h"

#include "base/memory.h"
#include "base/words.h"
#include "core/core.h"

#include <stdlib.h>
#include <string.h>

/* In place of a name: leases that nobody remembers may still come back. */
#define GRACE ""

/* Before a lease's id, in place of a name: no resource's begins so. */
enum { LEASE_SIGN = '=', LEASE_NAME_SIZE = LEASE_ID_SIZE + 1 };

struct idle_wait {
    struct table_node node; /* in waits.by_name */
    struct idle_waiter *waiter;
    const char *next; /* one of .names that is held, or GRACE */
    size_t n_names;
    char *names[]; /* owned */
};

static bool is_held(struct core *core, const char *name)
{
    uint64_t id;
    if (name[0] == LEASE_SIGN) {
        return lease_id_parse(name + 1, &id) && core_find_lease(core, id);
    }
    const struct resource *resource = core_find_resource(core, name);
    return resource && resource_in_use(resource) > 0;
}

size_t idle_wait_count(struct core *core, const char *const names[], size_t n)
{
    size_t n_held = 0;
    for (size_t i = 0; i < n; i++) {
        n_held += is_held(core, names[i]);
    }
    return n_held;
}

/* NULL: there is nothing to wait for any more. */
static const char *next_of(struct core *core, const struct idle_wait *wait)
{
    if (core_is_closed(core)) {
        return GRACE;
    }
    for (size_t i = 0; i < wait->n_names; i++) {
        if (is_held(core, wait->names[i])) {
            return wait->names[i];
        }
    }
    return NULL;
}

/* The wait is in no table. Puts it there, or ends it. */
static void idle_wait_go_on(struct idle_waits *waits, struct idle_wait *wait)
{
    struct idle_waiter *waiter = wait->waiter;
    wait->next = next_of(waits->core, wait);
    if (wait->next) {
        table_insert(&waits->by_name, &wait->node, hash_string(wait->next, 0));
        return;
    }
    idle_wait_end(waits, waiter);
    waits->notify(waiter);
}

void idle_wait_for_names(
    struct idle_waits *waits, struct idle_waiter *waiter, const char *const names[], size_t n)
{
    struct idle_wait *wait = memory_new(sizeof *wait + n * sizeof wait->names[0]);
    wait->n_names = n;
    for (size_t i = 0; i < n; i++) {
        wait->names[i] = memory_string(names[i]);
    }
    idle_wait_end(waits, waiter);
    waiter->wait = wait;
    wait->waiter = waiter;
    idle_wait_go_on(waits, wait);
}

static void lease_name(char out[static LEASE_NAME_SIZE], uint64_t id)
{
    out[0] = LEASE_SIGN;
    lease_id_format(out + 1, id);
}

void idle_wait_for_lease(struct idle_waits *waits, struct idle_waiter *waiter, uint64_t id)
{
    char name[LEASE_NAME_SIZE];
    lease_name(name, id);
    idle_wait_for_names(waits, waiter, (const char *[]){name}, 1);
}

/* Looks at each that waits for `name`, all of which are found first: one that goes on waiting for
 * the same name is not looked at twice. */
static void look_again(struct idle_waits *waits, const char *name)
{
    uint64_t hash = hash_string(name, 0);
    size_t n = 0;
    struct idle_wait **found = NULL;
    for (struct table_node *node = table_find(&waits->by_name, hash); node;
         node = table_find_next(node)) {
        struct idle_wait *wait = container_of(node, struct idle_wait, node);
        if (strcmp(wait->next, name) == 0) {
            found = memory_resize(found, n + 1, sizeof *found);
            found[n++] = wait;
        }
    }
    for (size_t i = 0; i < n; i++) {
        table_remove(&waits->by_name, &found[i]->node);
        found[i]->next = NULL;
        idle_wait_go_on(waits, found[i]);
    }
    free(found);
}

void idle_wait_lease_ended(struct idle_waits *waits, const struct lease *lease)
{
    if (waits->by_name.n == 0) {
        return;
    }
    char own_name[LEASE_NAME_SIZE];
    lease_name(own_name, lease->id);
    look_again(waits, own_name);
    char *names = memory_string(lease_names(lease));
    for (char *name = names, *rest; name; name = rest) {
        rest = word_cut(name);
        if (!is_held(waits->core, name)) {
            look_again(waits, name);
        }
    }
    free(names);
}

void idle_wait_look_again(struct idle_waits *waits)
{
    if (!core_is_closed(waits->core)) {
        look_again(waits, GRACE);
    }
}

void idle_wait_end(struct idle_waits *waits, struct idle_waiter *waiter)
{
    struct idle_wait *wait = waiter->wait;
    if (!wait) {
        return;
    }
    if (wait->next) {
        table_remove(&waits->by_name, &wait->node);
    }
    for (size_t i = 0; i < wait->n_names; i++) {
        free(wait->names[i]);
    }
    free(wait);
    waiter->wait = NULL;
}
