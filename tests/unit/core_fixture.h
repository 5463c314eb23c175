/* core_fixture.h - a core to talk to tersely, for the tests of src/core.
 *
 * There is one world in each test (Criterion runs each in a process of its own). Every operation
 * answers with a text that says what came of it, its whole list of effects included:
 *   "OUTCOME [RESOURCE]; LEASE granted UNITS; LEASE denied WHY; LEASE lost WHY; drained"
 * Texts are good for a few further calls. After each operation core_check() is run. */
#ifndef BERTH_TESTS_CORE_FIXTURE_H
#define BERTH_TESTS_CORE_FIXTURE_H

#include "core/core.h"

#include <criterion/criterion.h>

/* The suite's .init and .fini. The end lets all clients go and requires that all units are free. */
void world_begin(void);
void world_end(void);
#define WORLD_SUITE(name) TestSuite(name, .init = world_begin, .fini = world_end)

#define EXPECT(operation, text) cr_assert_str_eq(operation, text)

/* Start or reload: the whole configuration. Each word is one definition, "KIND NAME
 * [KEY=VALUE]...": define("semaphore s limit=3", "lock d", "pool g items=a,b select=first", "user
 * waiters=3"); Durations are in seconds. "user" sets the bounds per uid. */
#define define(...) define_all((const char *const[]){__VA_ARGS__, NULL})
const char *define_all(const char *const lines[]);

/* Clients come into being when first named, with the uid that their letters stand for: "ann" and
 * "ann2" are two connections of one user. */
const char *connect_client(const char *who);
const char *client_gone(const char *who);

/* "s:2 g wait=5 priority=3 holder=x parent=A"; without wait= for ever. The lease is called `lease`
 * from then on. A grant is answered "ok s=0,1 g=a". */
const char *acquire(const char *who, const char *lease, const char *text);
const char *end_lease(const char *who, const char *lease);

/* "limit s 3", "add g a", "remove g a", "reserve s 0 [REASON]", "pause s [REASON]", "resume s",
 * "reset s" */
const char *change(const char *text);
const char *drain(bool draining);

/* Seconds since the world began. */
const char *tick(double seconds);
/* The next deadline in the same unit, "never" if there is none. */
const char *deadline(void);

/* "in_use/limit free waiting=queue+aside", e.g. "2/3 free=1 waiting=1+0"; "gone". */
const char *state(const char *resource);
/* Lease names in order: "A B | C D | E" = holders, queue, aside. */
const char *lines(const char *resource);
/* All resources, in the core's order. */
const char *resources(void);
/* "granted s=1", "waiting", "gone" */
const char *lease_state(const char *lease);

struct lease *lease_of(const char *lease);
uint64_t token_of(const char *lease, const char *resource);
struct core *the_core(void);

#endif
