/* session_internal.h - what the session's own files call of each other. */
#pragma once

#include "fleet/session_struct.h"

/* ---- session_state.c ---- */

/* Each function of session.h that is told the time begins with this. */
void session_at(struct session *session, nanoseconds now, struct effects *effects);
/* Says it to operators. */
__attribute__((format(printf, 2, 3))) void session_say(
    struct session *session, const char *format, ...);
/* The link is of no use. */
__attribute__((format(printf, 2, 3))) void session_reset(
    struct session *session, const char *format, ...);
/* A random span below `span`. */
nanoseconds session_random(struct session *session, nanoseconds span);
/* Good from session->renewed_at on. */
void session_set_good(struct session *session);
void number_raise(uint64_t *numberp, uint64_t to);
/* Notes numbers that the database has given out. */
void session_note_numbers(struct session *session, uint64_t token, uint64_t ticket);
/* The database cannot be asked now, nor soon. */
bool session_is_unreachable(const struct session *session);
/* Lists everything again, once the calls in flight are over. */
void listing_begin(struct session *session);

/* ---- session_calls.c ---- */

/* A call, with what every call of its kind begins with in call.arguments; the caller adds the rest,
 * and returns it to session_next_call(). */
struct inflight_call *inflight_call_new(
    struct session *session, const struct call_row *row, size_t n_entries);
/* Adds an entry, unless there would be more than `max`, or too much work for one call. */
bool inflight_call_takes(struct inflight_call *call, struct entry *entry, size_t max);
void inflight_call_send(
    struct session *session, struct inflight_call *call, struct script_call *out);
/* Their answers are not awaited any more. */
void inflight_calls_forget(struct session *session);
/* Counts those that have waited for long as answered now: before they are forgotten. */
void inflight_calls_note_late(struct session *session);
/* Its script's name. */
const char *inflight_call_word(const struct inflight_call *call);
/* How many of these kinds are. */
size_t n_in_flight(const struct session *session, enum call_kind first, enum call_kind last);

/* The database has so many sessions; in a grace it may have forgotten some. */
void crowd_set_size(struct session *session, uint64_t n, bool is_grace);
/* A renewal or the end of a hello has been answered: call `number` of all. */
void crowd_counts(struct session *session, uint64_t number);
void crowd_begins(struct session *session);
/* How many requests the next call may carry: 0 while enough calls are in flight. */
size_t crowd_room(const struct session *session);
/* A random span, over which all of `n` daemons spread what they are asked to do at once. */
nanoseconds crowd_part(struct session *session, uint64_t n);

call_has_failed hello_has_failed; /* of all its phases */

/* ---- session_listing.c: hello ---- */

struct inflight_call *listing_next_call(struct session *session);
nanoseconds listing_deadline(const struct session *session); /* of one that lists */

/* ---- session_known.c ---- */

void session_known_init(struct session_known_set *set);
void session_known_deinit(struct session_known_set *set);
struct session_known *session_known_find(const struct session_known_set *set, const char *name);
struct session_known *session_known_add(struct session_known_set *set, const char *name);
void session_known_free(struct session_known_set *set, struct session_known *known);
void session_known_set_unsent(
    struct session_known_set *set, struct session_known *known, bool is_unsent);
/* The database may have none of them. */
void session_known_mark_unsent(struct session_known_set *set);
/* Adds NAME VERSION JSON of those that it may lack, of `most` at most: the call tells it. */
void session_known_send(struct session_known_set *set, struct inflight_call *call, int most);

/* ---- session_definitions.c ---- */

struct inflight_call *definitions_next_call(struct session *session);
/* When call `tag` was sent, the database lacked the definition that governs that resource. False:
 * the file lacks it too. Otherwise the definition is sent first, unless it has been since. */
bool definition_is_missing(struct session *session, const char *resource, uint64_t tag);
/* Another daemon has stored one of that name, or has had it forgotten: ours is sent again, and
 * compared. */
void definition_is_news(struct session *session, const char *name);

/* ---- session_entries.c ---- */

struct entry *entry_new(struct session *session, uint64_t id, enum entry_state state);
void entry_free(struct session *session, struct entry *entry);
void entries_deinit(struct session *session);
struct entry *entry_find(const struct session *session, uint64_t id);
void entry_move(struct session *session, struct entry *entry, enum entry_state state);
bool entry_is_in_flight(const struct entry *entry);
/* Whether it is held, or has a ticket. */
bool lease_has_place(const struct lease *lease);
void entry_attach(struct entry *entry, struct lease *lease);
void entry_detach(struct entry *entry);
/* The database may know the lease, and must forget it. */
void entry_end(struct session *session, struct entry *entry);
/* Its lease has ended, and the database may hear how from a call that gives it back. */
bool entry_is_to_be_told(const struct entry *entry);
/* A lease that nobody here has: it is given back. */
void entry_release_orphan(struct session *session, uint64_t id);
void entry_wait_for_renewal(struct session *session, struct entry *entry);
/* Denies and detaches its lease. */
void entry_refuse(struct session *session, struct entry *entry, enum outcome why);
/* The call in flight that named the entry is over: the database now has it. Gives it back if
 * necessary, else returns true. */
bool entry_is_known(struct session *session, struct entry *entry);
/* The call had no effect; the hello that follows does the rest. */
void entry_is_undone(struct session *session, struct entry *entry);
/* Before a hello: sorts the entries into those to list and those that need not be listed. No call
 * that names one is in flight. */
void entries_unlist(struct session *session);
/* The same. Leases without a place in line are refused, as the database cannot be asked; with
 * `waiters`, all that wait are. */
void entries_refuse(struct session *session, bool waiters);

/* ---- session_leases.c ---- */

/* Refuses a request that does not want to wait, but waits in the database; gives it back. */
void entry_refuse_to_wait(struct session *session, struct entry *entry);
/* entry_refuse() because of a resource, if it is one of the lease's: a database says which. */
void entry_refuse_for(
    struct session *session, struct entry *entry, enum outcome why, const char *resource);
/* Denies a waiter whose place a newer request has taken, SESSION/ID. It is given back, as the
 * database knows it until then, with how it ended. */
void lease_is_replaced(struct session *session, struct lease *lease, const char *by);
struct inflight_call *leases_next_call(struct session *session);
/* Before a hello ends: what has ended meanwhile, in one call at a time. NULL: nothing is left, or
 * (*waitsp) such a call is in flight. */
struct inflight_call *leases_next_ended(struct session *session, bool *waitsp);
/* A hello is over; call `tag` was its last. */
void entries_are_listed(struct session *session, uint64_t tag);
/* Those that waited for the renewal sent as call `tag`. */
void entries_renewed(struct session *session, uint64_t tag);

/* The database says that the lease is granted. */
void entry_granted(
    struct session *session, struct entry *entry, uint64_t ticket, const char *claims);
/* The database says that the lease is not there any more. */
void entry_lost(struct session *session, struct entry *entry);

/* ---- session_events.c: renewals, and what they bring ---- */

struct inflight_call *renewal_next_call(struct session *session);
nanoseconds renewal_deadline(const struct session *session);

/* ---- session_admin.c ---- */

struct inflight_call *requests_next_call(struct session *session);
nanoseconds requests_deadline(const struct session *session);
void requests_fail(struct session *session, const char *why);
void requests_deinit(struct session *session);
/* The call had no effect: its request is sent again. */
void request_put_back(struct session *session, struct inflight_call *call);

/* ---- session_news.c: what is stored for all ---- */

/* Everything must be fetched, and what is kept must be sent. */
void news_begin(struct session *session);
/* There is newer news, to be fetched then. */
void news_follow_by(struct session *session, nanoseconds at);
/* False: the message is not about news. */
bool news_message(struct session *session, const char *text);
struct inflight_call *news_next_call(struct session *session);
nanoseconds news_deadline(const struct session *session);

/* ---- session_record.c ---- */

/* Which database a record is about: its address and its keys. */
void place_write(const struct session *session, struct text *out);
/* Sets `*is_older` if it is ours with other hosts: write it again, since the hosts that both have
 * may be replaced next. */
bool place_is_ours(const struct session *session, const char *text, bool *is_older);
/* A line that says how far the database was, for the state directory. False: another kind of
 * line. */
void reached_write(const struct session *session, struct text *out);
bool reached_restore(struct session *session, char *line, bool *is_older);

/* ---- session_changes.c ---- */

void changes_deinit(struct session *session);
/* This database has answered for the first time. Another database's changes are sent to it only in
 * a grace: that database may have moved here. */
void changes_arrive(struct session *session, bool is_grace);
/* The database has this version. */
void change_hear(struct session *session, const char *name, uint64_t version, const char *json);
/* All that the database has has been heard. */
void changes_are_heard(struct session *session);
