/* session_fixture.h - a core and a session with one database that the test itself plays, tersely.
 *
 * There is one world in each test. The clock stands still at 1000 s until wait_for() moves it.
 * Leases have names, one letter or word; in calls and answers "$A" stands for the id of lease A. */
#pragma once

#include "core/fleet.h"
#include "fleet/session.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void world_begin(void);
/* Ends all leases and frees everything. */
void world_end(void);
/* A new session in place of this one, with the same core. */
void world_session(void);
#define SESSION_SUITE(name) TestSuite(name, .init = world_begin, .fini = world_end)
/* Its tests begin after go_up(). */
void world_up(void);
#define SESSION_SUITE_UP(name) TestSuite(name, .init = world_up, .fini = world_end)

#define EXPECT(text, expected) cr_assert_str_eq(text, expected)
#define HAPPENS(expected) cr_assert_str_eq(happened(), expected)
#define CALL(expected) cr_assert_str_eq(next_call(), expected)
#define CALL_ANSWERED(expected, reply)                                                             \
    do {                                                                                           \
        CALL(expected);                                                                            \
        answer(reply);                                                                             \
    } while (0)
#define AFTER(comes, expected)                                                                     \
    do {                                                                                           \
        comes;                                                                                     \
        HAPPENS(expected);                                                                         \
    } while (0)
/* What comes, and what happens by it. */
#define MESSAGE(text, expected) AFTER(message(text), expected)
#define ANSWER(reply, expected) AFTER(answer(reply), expected)
#define ANSWER_NEXT(reply, expected) AFTER(answer_next(reply), expected)
#define NO_CALL() cr_assert_str_eq(next_call(), "nothing")
#define CALL_BEGINS(expected) cr_assert_eq(strncmp(next_call(), expected, strlen(expected)), 0)
#define NOTICE(expected) cr_assert_str_eq(notice(), expected)

extern struct session *session;
extern struct core *core;
extern nanoseconds now;
extern struct layouts world_layouts; /* of the next session; "2-2" */

/* ---- time ---- */

/* Seconds; session_tick() is called then. */
void wait_for(double seconds);
/* "never", or in how many seconds. */
const char *next_deadline(void);
const char *good_for(void);
/* As it is now; good until the next call. */
const struct session_view *view(void);

/* ---- the link ---- */

void connect_link(void);
void break_link(const char *why);
/* It breaks, and is there again at once. */
void reconnect(void);
/* What session_wants_reset() says, "" for NULL. */
const char *reset_wanted(void);

/* "SCRIPT ARGUMENT..." without those that every call begins with (which are checked); an argument
 * that is empty or has spaces is in quotes; INFO texts are "i". "nothing" if there is none. Texts
 * are good for a few further calls. */
const char *next_call(void);
/* What the last call said about how far the database has got. */
extern char last_reached[48];
/* What it must say: the number of the last answer, and this one of an event. */
const char *reached(uint64_t event);
/* Calls of other hosts, which get the next numbers. */
void others_call(uint64_t n);
/* Answers the oldest unanswered call with what resp_of() makes of "[ text ]"; "-ERR text" is an
 * error. */
void answer(const char *text);
/* The next call, whatever it is, and then answer(). */
void answer_next(const char *text);
/* Answers the one `n` after that. */
void answer_later(size_t n, const char *text);
/* For which data it was. */
extern unsigned last_layout;
void message(const char *text);
/* A message says that there is news up to that number, and these rows are: "NUMBER WHAT VERSION
 * JSON"... */
void hear(unsigned newest, const char *rows);

/* The hello up to the leases: nothing is news, all definitions are known. */
void begin_hello(const char *rest);
/* Connects and says hello, with nothing to list; t0 is now. All definitions are "stored". */
void go_up(void);
/* The same; then `hello define` and `hello news` are unanswered. */
void go_up_and_send_two_calls(void);
/* The whole hello, without asserting what is listed; every lease stays as listed. The answer to
 * `begin` is "ok", the incarnation that was asked for, and this: "TTL NEWEST NEW". */
void say_hello(const char *rest);

/* ---- leases ---- */

/* "s:2 p" and: now (does not want to wait), holder=x, reason=x, priority=n. Resources: semaphores
 * "s" (limit 3) and "warn" (3, no job is stopped), lock "l", pool "p" (a, b), template "t/" + star.
 */
void ask(const char *lease, const char *text);
/* The same, and its call is in flight. */
void ask_and_send(const char *lease, const char *text);
/* The same and the answer: one unit is granted, "TOKEN SLOT"; or it waits. happened() omits
 * this. */
void hold(const char *lease, const char *resource, const char *token_and_slot);
void wait_in_line(const char *lease, const char *resource, const char *ticket);
void end(const char *lease);
/* The database is to remember how. */
void end_saying(const char *lease, const char *ending);
void drain(bool draining);
struct lease *lease(const char *name);
/* "A granted s=0,1; A denied down; A lost lost; A stop lost; A place 3", since the last time. */
const char *happened(void);
const char *notice(void);
/* The next result: "OUTCOME ABOUT rows"; "none". */
const char *result(void);
/* Changes the text of all definitions. */
void redefine(uint32_t limit, uint32_t max_waiters, uint64_t generation);
/* The file has cluster = yes. */
void say_cluster(void);
void say_sentinels(char *one, char *other);
const struct definition *definition(const char *name);

/* As it is written down; a new session, with that and the same leases. */
void restart(void);
/* The same: with another url in the file; with these Sentinels there; the state directory alone;
 * the journal alone. */
void restart_other_host(void);
void restart_with_sentinels(char *one, char *other);
void restart_without_journal(void);
void restart_without_state(void);
