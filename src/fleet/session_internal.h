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
/* Notes numbers that the database has given out. */
void session_note_numbers(struct session *session, uint64_t token, uint64_t ticket);
void session_note_event(struct session *session, uint64_t number);
/* The database cannot be asked now, nor soon. */
bool session_is_unreachable(const struct session *session);
/* Lists everything again, once the calls in flight are over. */
void listing_begin(struct session *session);

/* ---- session_life.c ---- */

/* The link is there, but must not be used at present: nothing more is sent. */
void session_set_unusable(struct session *session, enum session_state state);

/* ---- session_inflight.c ---- */

struct inflight_call *inflight_call_new(enum call_kind kind, size_t n_entries);
/* Adds an entry, unless there would be more than `max`, or too much work for one call. */
bool inflight_call_takes(struct inflight_call *call, struct entry *entry, size_t max);
/* Clears session->arguments down to what every call begins with; the caller adds the rest. */
struct arguments *inflight_call_arguments(struct session *session);
/* With session->arguments. Returns true. */
bool inflight_call_send(
    struct session *session, struct inflight_call *call, struct session_call *out);
/* Their answers are not awaited any more. */
void inflight_calls_forget(struct session *session);
/* That of an answer, which is not waited for any more; the caller frees it. NULL: it was forgotten.
 */
struct inflight_call *inflight_call_take(struct session *session, uint64_t tag);
enum script inflight_call_script(const struct inflight_call *call);
/* One of these kinds is. */
bool is_in_flight(const struct session *session, enum call_kind first, enum call_kind last);
/* Of a job or an operator. */
bool inflight_call_is_request(const struct inflight_call *call);

/* ---- session_calls.c ---- */

/* The outcome of a call, which is in no list any more and is freed afterwards. The first returns
 * NULL, or what is wrong with the answer. */
typedef const char *call_is_answered(
    struct session *session, struct inflight_call *call, const struct answer *answer);
/* The server returned an error, but the link goes on: whether the call took effect is unknown. */
typedef void call_has_failed(
    struct session *session, struct inflight_call *call, const struct answer *answer);
/* The call had no effect; everything is listed again before it is repeated. */
void call_is_undone(struct session *session, struct inflight_call *call);

/* ---- session_listing.c: hello ---- */

bool listing_next_call(struct session *session, struct session_call *out);
nanoseconds listing_deadline(const struct session *session);
call_is_answered begin_is_answered, list_is_answered, end_is_answered;
call_has_failed hello_has_failed;

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

/* ---- session_definitions.c ---- */

bool definitions_next_call(struct session *session, struct session_call *out);
/* When call `tag` requested the lease, the database lacked the definition that governs that
 * resource. False: the file lacks it too. Otherwise the lease's definitions are sent first, unless
 * they have been since. */
bool definitions_are_missing(
    struct session *session, const struct lease *lease, const char *resource, uint64_t tag);
/* The same for an operator's request about the resource. */
bool definition_is_missing(struct session *session, const char *resource, uint64_t tag);
/* Another daemon has stored one of that name, or has had it forgotten: ours is sent again, and
 * compared. */
void definition_is_news(struct session *session, const char *name);
call_is_answered define_is_answered;

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
/* A lease that nobody here has: it is given back. */
void entry_release_orphan(struct session *session, uint64_t id);
void entry_wait_for_renewal(struct session *session, struct entry *entry);
/* Denies and detaches its lease. */
void entry_refuse(struct session *session, struct entry *entry, enum outcome why);
/* Refuses a request that does not want to wait, but waits in the database; gives it back. */
void entry_refuse_to_wait(struct session *session, struct entry *entry);
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

bool leases_next_call(struct session *session, struct session_call *out);
/* A hello is over; call `tag` was its last. */
void entries_are_listed(struct session *session, uint64_t tag);
/* Those that waited for the renewal sent as call `tag`. */
void entries_renewed(struct session *session, uint64_t tag);
call_is_answered release_is_answered;
call_has_failed release_has_failed;

/* ---- session_grants.c ---- */

/* Even right after a renewal there would be too little time to stop its job. */
bool session_cannot_stop_in_time(const struct session *session, const struct lease *lease);
/* The database says that the lease is granted. */
void entry_granted(
    struct session *session, struct entry *entry, uint64_t ticket, const char *claims);
/* The database says that the lease is not there any more. */
void entry_lost(struct session *session, struct entry *entry);
call_is_answered acquire_is_answered;
call_has_failed acquire_has_failed;

/* ---- session_events.c: renewals, and what they bring ---- */

bool renewal_next_call(struct session *session, struct session_call *out);
nanoseconds renewal_deadline(const struct session *session);
call_is_answered renewal_is_answered;
call_has_failed renewal_has_failed;

/* ---- session_crowd.c: all daemons that use the database ---- */

/* The database has so many sessions; in a grace it may have forgotten some. */
void crowd_set_size(struct session *session, uint64_t n, bool is_grace);
/* A renewal or the end of a hello has been answered: call `number` of all. */
void crowd_counts(struct session *session, uint64_t number);
void crowd_begins(struct session *session);
/* How long that took says how much may be asked at once. */
void crowd_answers(struct session *session, const struct inflight_call *call);
/* How many requests the next call may carry: 0 while enough calls are in flight. */
size_t crowd_room(const struct session *session);
/* A random span, over which all of `n` daemons spread what they are asked to do at once. */
nanoseconds crowd_part(struct session *session, uint64_t n);

/* ---- session_admin.c ---- */

bool requests_next_call(struct session *session, struct session_call *out);
nanoseconds requests_deadline(const struct session *session);
void requests_fail(struct session *session, const char *why);
void requests_deinit(struct session *session);
call_is_answered admin_is_answered, snapshot_is_answered;
call_has_failed request_has_failed;
/* The call had no effect: its request is sent again. */
void request_put_back(struct session *session, struct inflight_call *call);

/* ---- session_news.c: what is stored for all ---- */

/* Everything must be fetched, and what is kept must be sent. */
void news_begin(struct session *session);
/* A renewal has said that there is newer news. */
void news_are_newer(struct session *session);
/* False: the message is not about news. */
bool news_message(struct session *session, const char *text);
bool news_next_call(struct session *session, struct session_call *out);
nanoseconds news_deadline(const struct session *session);
call_is_answered news_are_answered, change_is_answered;

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
/* Adds NAME VERSION JSON of each, one chunk of changes. */
void changes_send_some(struct session *session, struct arguments *arguments);
