/* idle_wait.h - clients that wait until nothing is held of some resources, or until a lease is over
 * (`wait`). Each is looked at only when the one that it waits for next has changed. */
#pragma once

#include "base/table.h"

#include <stddef.h>
#include <stdint.h>

struct core;
struct idle_wait;
struct lease;

/* Embedded in a connection. */
struct idle_waiter {
    struct idle_wait *wait; /* or NULL */
};

/* Those of one server, by the name that each waits for next. */
struct idle_waits {
    struct table by_name;
    struct core *core;
    void (*notify)(struct idle_waiter *waiter); /* the wait is over */
};

/* How many of these resources, all of host scope, are held. */
size_t idle_wait_count(struct core *core, const char *const names[], size_t n);

/* Calls notify() once nothing is held of these resources: at once, if that is so now. Takes the
 * place of an earlier wait. */
void idle_wait_for_names(
    struct idle_waits *waits, struct idle_waiter *waiter, const char *const names[], size_t n);
/* The same for the end of a lease. */
void idle_wait_for_lease(struct idle_waits *waits, struct idle_waiter *waiter, uint64_t id);

/* The lease has ended: calls notify() for those whose wait is over. */
void idle_wait_lease_ended(struct idle_waits *waits, const struct lease *lease);
/* Calls notify() for those that waited only for the end of a closed grace, if that has come. For
 * the end of a turn in which any wait. */
void idle_wait_look_again(struct idle_waits *waits);
/* Ends its wait, if it has one, without notify(). */
void idle_wait_end(struct idle_waits *waits, struct idle_waiter *waiter);
