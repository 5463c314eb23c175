/* core_fixture.h - a core to talk to tersely, for the tests of src/core.
 *
 * There is one world in each test (Criterion runs each in its own process). Every operation answers
 * with a text that gives its outcome and its whole list of effects:
 *   "OUTCOME [RESOURCE]; LEASE granted UNITS; LEASE denied WHY; LEASE lost WHY; LEASE stop WHY (an
 *    operator's words);
 *    LEASE watch; LEASE signal NUMBER; LEASE ask; LEASE give-back; LEASE place N; drained"
 * An effect whose client is not there ends in "unheard". Texts are good for a few further calls.
 * After each operation core_check() runs, the record that a journal would have from the changes
 * alone is compared with the leases, and all processes that must be watched are. */
#pragma once

#include "core/core.h"

#include <criterion/criterion.h>

/* The suite's .init and .fini. The end lets all clients go, all processes end and all time run out,
 * and requires that all units are free then. */
void world_begin(void);
void world_end(void);
#define WORLD_SUITE(name) TestSuite(name, .init = world_begin, .fini = world_end)

#define EXPECT(operation, text) cr_assert_str_eq(operation, text)

/* Start or reload: the whole configuration. Each word is one definition, "KIND NAME
 * [KEY=VALUE]...": define("semaphore s limit=3", "lock d", "pool g items=a,b select=first", "user
 * waiters=3"); Durations are in seconds. "user" sets the bounds per uid. */
#define define(...) define_all((const char *const[]){__VA_ARGS__, NULL})
const char *define_all(const char *const lines[]);

/* Clients are made when first named, with the uid for their letters: "ann" and "ann2" are two
 * connections of one user. */
const char *connect_client(const char *who);
const char *client_gone(const char *who);
uint32_t uid_of(const char *who);

/* "s:2 g t:all wait=5 priority=3 holder=x replace=waiting parent=A
 * once=w"; without wait= for ever. Bound to the
 * connection, or by pid=7 (which was started at 70) or ttl=5; signal=2 kill-after=3 on-lost=term.
 * The lease is called `lease` from then on. A grant is answered "ok s=0,1 g=a". */
const char *acquire(const char *who, const char *lease, const char *text);
const char *end_lease(const char *who, const char *lease);

/* ---- core_steps.c: tests told as lists ---- */

/* What a test begins with: definitions, then steps. A step is an operation in words, and after
 * " -> " its answer where that is not "ok":
 *   "ann has A: s:2 pid=7"   gets the first units: for tests that have given nothing back yet
 *   "bob waits B: s wait=5", "ann asks C: s" of a database
 *   "ann acquires D: s wait=0 -> would-wait s"
 *   "ann ends A", "ann goes -> ok; A watch", "exit A" for process_gone()
 *   "granted C: 17 s:0:5", "change: limit s 3", "at 5" for tick(), "reload: lock d; lock e"
 * The others are in core_steps.c. */
#define given(...) given_all((const char *const[]){__VA_ARGS__, NULL})
void given_all(const char *const lines[]);

/* A row of a table of tests, in a world of its own. */
struct story {
    const char *about;
    const char *steps[24];
};

#define tell(stories) tell_all(stories, sizeof(stories) / sizeof *(stories))
void tell_all(const struct story stories[], size_t n);

/* ---- core_lost.c: what leases are bound to, stopping, another run ---- */

/* ann has the lock d as A, and bob waits. The margin is 1 s: a client that is there gets 3.5 s, a
 * process alone 3 s. */
#define ONE_HOLDER(keys, ask) "lock d kill-after=3 " keys, "ann has A: d " ask, "bob waits B: d"

/* The connection's reading end: its leases are treated as if it had gone. */
const char *half_close(const char *who);
/* The process that it is bound to has gone. */
const char *process_gone(const char *lease);
const char *bind_to(const char *who, const char *lease, uint32_t pid);
/* pid 1 stands for the connection's own. */
const char *bind_to_connection(const char *who, const char *lease);
const char *move_first(const char *lease);
const char *move_last(const char *lease);
const char *revoke(const char *lease);
const char *revoke_saying(const char *lease, const char *reason);
const char *withdraw(const char *lease); /* by its own user */
const char *drop(const char *lease);
/* 0 keeps the length. */
const char *renew(const char *lease, double ttl);
struct process process_of(uint32_t pid);

/* The core dies with all its clients; the records stay. The new one has no definitions yet. Its
 * numbers go on above all earlier ones or, with `from_one`, begin at 1. */
void crash(bool from_one);
void begin_grace(bool closed, double until);
/* Its record is lost. */
void lose_record(const char *lease);
/* Restores all records, holders in the order of their grants, then waiters by age: "A B C D=kind
 * E=rests; effects" */
const char *restore_all(void);
/* crash(), define(), a grace of 10 s that is not closed, restore_all(). */
#define restart(...) restart_with((const char *const[]){__VA_ARGS__, NULL})
const char *restart_with(const char *const lines[]);
/* The same without the records of "A,B", and so with a closed grace. */
#define restart_without(leases, ...)                                                               \
    restart_without_records(leases, (const char *const[]){__VA_ARGS__, NULL})
const char *restart_without_records(const char *leases, const char *const lines[]);
/* After the last of them. */
const char *restored(void);
/* A made-up record: "ann id=7 s:2:0,1:17 g:1:b:18 pid=7 until=5" is held, with units and token in
 * the third and fourth part; "bob s:2 g until=5" waits. Keys as for acquire, but for id=, until=,
 * granted= and stopping=. */
const char *restore(const char *lease, const char *text);

/* "ok s=0,1", "waiting" or a refusal. */
const char *reclaim(const char *who, const char *lease);
/* "s:2:0,1 g:1:b holder=x": held, and with proven tokens "s:2:0,1:17 g:1:b:18"; "s:2 g wait=5":
 * waiting. */
const char *reclaim_unknown(const char *who, const char *lease, const char *text);
/* The acquire that made the lease comes again; answered as reclaim() is. */
const char *repeat(const char *who, const char *lease);
/* Of a request that has just begun to wait: whose job is to be stopped; or "none". */
const char *replaced_holder(const char *lease);
/* The lease's name, or "none". */
const char *find_once(const char *who, const char *once);
/* "never", or seconds: the end of the grace. */
const char *grace_until(void);

/* ---- core_fleet.c: what a database says; the key database=1 makes a resource belong to it ---- */

/* "17 s:0,1:5 g:b:6": the ticket, then a resource, its units and the token. "ok", or "no": it
 * cannot be true. */
const char *granted(const char *lease, const char *text);
const char *waits(const char *lease, uint64_t ticket, uint32_t position);
const char *moved(const char *lease, uint64_t ticket, uint32_t position);
const char *refused(const char *lease, const char *why);
const char *lost(const char *lease);
const char *good(uint8_t database, double until);
/* "ticket 5 place 2" */
const char *place(const char *lease);
/* "7 for 13.5": when the job must be asked to end, and how long that takes. */
const char *stop_at(const char *lease);
/* "A B | C D": all of a database, in order; held ones first. */
const char *leases_of(uint8_t database);

/* ---- operator and time ---- */

/* "limit s 3", "add g a", "remove g a", "reserve s 0 [REASON]", "pause s [REASON [WHO[/LOGIN]]]",
 * "resume s", "reset s" */
const char *change(const char *text);
/* The same by an admin of the resource, who pays for instances; NULL: by one of the daemon. */
const char *change_as(const char *payer, const char *text);
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

/* "kill 10": on_lost and kill_after in force. */
const char *stop_rules(const char *lease);
/* "never", or "5 gone by 18.3333" */
const char *good_until(const char *lease);

struct lease *lease_of(const char *lease);
uint64_t token_of(const char *lease, const char *resource);
struct core *the_core(void);
