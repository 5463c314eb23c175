/* session_life.c - from its begin to its end: the link, time, and which call is next. */
#include "fleet/session_internal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- life ---- */

static void init_lists(struct session *session)
{
    for (size_t i = 0; i < N_ENTRY_STATES; i++) {
        TAILQ_INIT(&session->leases.entries[i]);
    }
    TAILQ_INIT(&session->calls.in_flight);
    session_known_init(&session->definitions);
    session_known_init(&session->changes.known);
    for (size_t i = 0; i < N_REQUEST_STATES; i++) {
        TAILQ_INIT(&session->requests.lists[i]);
    }
}

struct session *session_new(const struct session_options *options)
{
    struct session *session = memory_new(sizeof *session);
    assert(strlen(options->id) == SESSION_ID_SIZE - 1);
    session->core = options->core;
    session->settings = options->settings;
    session->database = options->database;
    session->wall_offset = options->wall_offset;
    session->host = memory_string(options->host);
    session->version = memory_string(options->version);
    memcpy(session->id, options->id, SESSION_ID_SIZE);
    session->random = hash_number(options->seed) | 1; /* xorshift must not be 0 */
    session->bounds = options->bounds;
    session->layouts = options->layouts;
    session->layout = options->layouts.from;
    session->tenure.ttl = options->settings->ttl;
    crowd_begins(session);
    session->grace_until = session->renewal.due_at = session->renewal.hello_at = NEVER;
    session->link.give_up_at = session->news.follow_at = NEVER;
    init_lists(session);
    return session;
}

struct session *session_free(struct session *session)
{
    if (session) {
        inflight_calls_forget(session);
        entries_deinit(session);
        requests_deinit(session);
        session_known_deinit(&session->definitions);
        changes_deinit(session);
        arguments_deinit(&session->calls.arguments);
        claims_deinit(&session->calls.claims);
        for (size_t i = 0; i < session->notices.n; i++) {
            free(session->notices.lines[i]);
        }
        free(session->notices.taken);
        free(session->hello.cursor);
        free(session->tenure.kept);
        free(session->host);
        free(session->version);
        free(session);
    }
    return NULL;
}

/* ---- the link ---- */

const char *session_id(const struct session *session)
{
    return session->id;
}

bool session_needs_name(const struct session *session)
{
    return session->state == SESSION_REPLACED &&
        TAILQ_EMPTY(&session->leases.entries[ENTRY_UNLISTED]);
}

void session_rename(struct session *session, const char *id)
{
    memcpy(session->id, id, SESSION_ID_SIZE);
    session->state = SESSION_DOWN;
    session->link.is_connected = false;
    session->tenure.incarnation = session->reached.event = 0;
    session->tenure.is_changed = true;
    session_say(session, "this berthd goes on as session %s", session->id);
}

void session_allow_history(struct session *session, bool may_keep)
{
    bool is_news = !may_keep && !session->has_no_history && session->settings->history > 0;
    session->has_no_history = !may_keep;
    if (is_news) { /* who wants it that way need not read it again */
        session_say(session,
            "its user needs +xadd, +xrange and +xrevrange to keep leases that are over there");
    }
}

void session_connected(struct session *session, nanoseconds now)
{
    session_at(session, now, NULL);
    session->link.is_connected = true;
    session->link.is_resetting = session->link.wants_reset = false;
    session->hello.n_begun = 0;
    session->hello.not_before = session->renewal.not_before = session->now;
    listing_begin(session);
}

void session_disconnected(struct session *session, const char *why, nanoseconds now)
{
    session_at(session, now, NULL);
    session->link.is_connected = session->link.is_resetting = session->link.wants_reset = false;
    if (session->link.give_up_at == NEVER) {
        session->link.give_up_at =
            session->link.is_given_up ? session->now : session->now + DOWN_PATIENCE;
    }
    if (session->state != SESSION_REPLACED) {
        session->state = SESSION_DOWN;
        snprintf(session->link.why, sizeof session->link.why, "%s", why);
    }
    inflight_calls_note_late(session);
    inflight_calls_forget(session);
    session->renewal.due_at = session->grace_until = NEVER;
    entries_unlist(session);
    requests_fail(session, session->link.why);
}

static void give_up(struct session *session)
{
    session->link.give_up_at = NEVER;
    session->link.is_given_up = true;
    entries_refuse(session, false);
}

/* ---- time ---- */

/* After this long without any answer the link is given up. */
static nanoseconds longest_silence(const struct session *session)
{
    return session->tenure.ttl / 12;
}

/* Until when the next answer must have come. A call may take longer where those before it do. */
static nanoseconds answer_deadline(const struct session *session)
{
    const struct inflight_call *oldest = TAILQ_FIRST(&session->calls.in_flight);
    nanoseconds heard_at = session->calls.heard_at;
    return oldest
        ? (oldest->sent_at > heard_at ? oldest->sent_at : heard_at) + longest_silence(session)
        : NEVER;
}

static bool is_unusable(const struct session *session)
{
    return session->state == SESSION_DOWN && session->link.is_connected;
}

typedef struct inflight_call *next_call(struct session *session);

/* In the order in which they are asked. */
static next_call *const listing_calls[] = {renewal_next_call, listing_next_call, NULL};
static next_call *const up_calls[] = {renewal_next_call, definitions_next_call, news_next_call,
    requests_next_call, leases_next_call, NULL};

bool session_next_call(struct session *session, nanoseconds now, struct script_call *out)
{
    struct inflight_call *call = NULL;
    session_at(session, now, NULL);
    if (!session->link.is_connected || session->link.is_resetting) {
        return false;
    }
    if (is_unusable(session) && session->now >= session->hello.not_before) {
        listing_begin(session);
    }
    bool is_in_use = session->state == SESSION_LISTING || session->state == SESSION_UP;
    next_call *const *next = session->state == SESSION_UP ? up_calls : listing_calls;
    for (; is_in_use && *next && !call; next++) {
        call = (*next)(session);
    }
    if (call) {
        inflight_call_send(session, call, out);
    }
    return call;
}

void session_tick(struct session *session, nanoseconds now, struct effects *effects)
{
    session_at(session, now, effects);
    if (session->state == SESSION_DOWN && session->now >= session->link.give_up_at) {
        give_up(session);
    }
    if (session->now >= answer_deadline(session)) {
        session_reset(session, "no answer to %s for %lld ms",
            inflight_call_word(TAILQ_FIRST(&session->calls.in_flight)),
            (long long)(longest_silence(session) / NANOSECONDS_PER_MILLISECOND));
    }
}

nanoseconds session_next_deadline(const struct session *session)
{
    nanoseconds deadline = session->state == SESSION_DOWN ? session->link.give_up_at : NEVER;
    if (!session->link.is_connected || session->link.is_resetting) {
        return deadline;
    }
    deadline = earlier(deadline, answer_deadline(session));
    if (is_unusable(session)) {
        deadline = earlier(deadline, session->hello.not_before);
    }
    if (session->state == SESSION_UP) {
        deadline = earlier(deadline, news_deadline(session));
    }
    deadline = earlier(deadline, renewal_deadline(session));
    deadline = earlier(deadline, requests_deadline(session));
    bool is_listing = session->state == SESSION_LISTING;
    return is_listing ? earlier(deadline, listing_deadline(session)) : deadline;
}

/* ---- looking ---- */

static bool has_trouble_with_link(const struct session *session)
{
    return session->state == SESSION_DOWN || session->state == SESSION_REPLACED;
}

struct session_view session_look(const struct session *session)
{
    const struct session_known *definition;
    struct session_view view = {
        .state = session->state,
        .is_unreachable = session_is_unreachable(session),
        .why = has_trouble_with_link(session) ? session->link.why : session->notices.trouble,
        .layout = session->layout,
        .ttl = session->tenure.ttl,
        .good_until = session->tenure.good_until,
        .grace_until = session->grace_until,
        .is_slow = session->renewal.is_slow,
        .is_new = session->is_new && session->grace_until != NEVER,
        .incarnation = session->tenure.incarnation,
        .n_calls = session->calls.n_sent,
        .answered_at = session->calls.heard_at,
        .call_rate = session->crowd.rate,
    };
    TAILQ_FOREACH (definition, &session->definitions.all, link) {
        view.n_differing += definition->verdict > VERDICT_SAME;
    }
    return view;
}

struct latency_view session_latency(const struct session *session, nanoseconds now)
{
    return latency_look(&session->calls.latency, now);
}
