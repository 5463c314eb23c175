/* session_leases.c - which leases the database is asked for and given back, and when. */
#include "fleet/session_internal.h"

/* ---- requests of the core ---- */

static bool is_safe(const struct session *session)
{
    return session->events.renewed_tag >= session->events.unsafe_tag;
}

/* The database's ttl may be shorter than the file's, which kill-after was checked against. */
static void shorten_stop(struct session *session, struct lease *lease)
{
    if (lease->state == LEASE_WAITING && session_cannot_stop_in_time(session, lease)) {
        lease->attributes.kill_after = session->tenure.ttl / 4;
        effects_change(session->effects, lease);
        session_say(session, "kill-after is cut to %lld ms, because its ttl is %lld ms",
            (long long)(lease->attributes.kill_after / 1000000),
            (long long)(session->tenure.ttl / 1000000));
    }
}

void session_ask(
    struct session *session, struct lease *lease, nanoseconds now, struct effects *effects)
{
    session_at(session, now, effects);
    shorten_stop(session, lease);
    struct entry *entry = entry_find(session, lease->id);
    bool is_unreachable = session_is_unreachable(session);
    if (is_unreachable && (session->state == SESSION_REPLACED || !lease_has_place(lease))) {
        core_fleet_refused(session->core, lease, OUTCOME_DOWN, session->now, session->effects);
    } else if (entry) {
        entry_attach(entry, lease); /* the call in flight must be over first */
    } else {
        entry = entry_new(session, lease->id, is_unreachable ? ENTRY_UNLISTED : ENTRY_UNSENT);
        entry_attach(entry, lease);
        if (session->state == SESSION_UP && !is_safe(session)) {
            entry_wait_for_renewal(session, entry);
            session->renewal.is_wanted = true;
        }
    }
}

void session_give_back(struct session *session, struct lease *lease)
{
    struct entry *entry = lease->entry;
    if (!entry) {
        return;
    }
    entry->may_return = lease->state == LEASE_WAITING;
    entry_detach(entry);
    if (entry->state == ENTRY_UNLISTED || (!entry->is_there && !entry_is_in_flight(entry))) {
        entry_free(session, entry);
    } else {
        entry_end(session, entry);
    }
}

void session_restore(struct session *session, struct lease *lease)
{
    struct entry *entry = lease->entry;
    if (lease->state == LEASE_WAITING && !lease->is_asked) {
        return; /* session_ask() comes when this host grants again */
    }
    if (!entry) {
        entry = entry_new(session, lease->id, ENTRY_UNSENT);
        entry_attach(entry, lease);
    }
    entry->is_there |= lease->is_asked; /* the berthd that ran before may have asked */
    if (entry->state == ENTRY_UNSENT && (entry->is_there || lease_has_place(lease))) {
        entry_move(session, entry, ENTRY_UNLISTED);
    }
    if (session->state == SESSION_UP && entry->state == ENTRY_UNLISTED) {
        listing_begin(session);
    }
}

/* ---- what is sent ---- */

static struct inflight_call *release_some(struct session *session, size_t room)
{
    struct arguments *arguments = inflight_call_arguments(session);
    struct inflight_call *call = inflight_call_new(CALL_RELEASE, room);
    struct entry *entry;
    while ((entry = TAILQ_FIRST(&session->leases.entries[ENTRY_ENDING])) &&
        inflight_call_takes(call, entry, room)) {
        call_add_id(arguments, entry->id);
        entry_move(session, entry, ENTRY_RELEASING);
    }
    return call;
}

/* The fixed cost of a call is several times that of a lease. */
static struct inflight_call *acquire_some(struct session *session, size_t room)
{
    struct arguments *arguments = inflight_call_arguments(session);
    struct inflight_call *call = inflight_call_new(CALL_ACQUIRE, room);
    struct entry *entry;
    while ((entry = TAILQ_FIRST(&session->leases.entries[ENTRY_UNSENT])) &&
        inflight_call_takes(call, entry, room)) {
        call_add_acquire(arguments, session->core, entry->lease, session->wall_offset);
        entry->is_there = true;
        entry_move(session, entry, ENTRY_ASKED);
    }
    return call;
}

bool leases_next_call(struct session *session, struct session_call *out)
{
    size_t room = crowd_room(session);
    if (room == 0) {
        return false;
    }
    if (!TAILQ_EMPTY(&session->leases.entries[ENTRY_ENDING])) {
        return inflight_call_send(session, release_some(session, room), out);
    }
    return !TAILQ_EMPTY(&session->leases.entries[ENTRY_UNSENT]) &&
        inflight_call_send(session, acquire_some(session, room), out);
}

/* ---- releases ---- */

const char *release_is_answered(
    struct session *session, struct inflight_call *call, const struct answer *answer)
{
    if (answer->kind != REPLY_OK) {
        return "an answer of another script";
    }
    for (size_t i = 0; i < call->n; i++) {
        struct entry *entry = call->entries[i];
        entry->is_there = entry->must_release = false;
        session->events.unsafe_tag =
            entry->may_return ? session->calls.last_tag : session->events.unsafe_tag;
        if (!entry->lease) {
            entry_free(session, entry);
            continue;
        }
        entry_wait_for_renewal(session, entry);
        session->renewal.is_wanted = true;
    }
    return NULL;
}

void release_has_failed(
    struct session *session, struct inflight_call *call, const struct answer *answer)
{
    (void)answer;
    for (size_t i = 0; i < call->n; i++) {
        entry_wait_for_renewal(session, call->entries[i]);
    }
}

/* ---- nothing too early ---- */

void entries_are_listed(struct session *session, uint64_t tag)
{
    struct entry *entry;
    session->events.unsafe_tag = session->hello.is_new ? session->events.unsafe_tag : tag;
    while (!is_safe(session) && (entry = TAILQ_FIRST(&session->leases.entries[ENTRY_UNSENT]))) {
        entry_wait_for_renewal(session, entry);
        session->renewal.is_wanted = true;
    }
}

void entries_renewed(struct session *session, uint64_t tag)
{
    struct entry *entry;
    session->events.renewed_tag = tag;
    while ((entry = TAILQ_FIRST(&session->leases.entries[ENTRY_LATER])) && entry->after < tag) {
        bool must_end = !entry->lease || entry->must_release;
        entry_move(session, entry, must_end ? ENTRY_ENDING : ENTRY_UNSENT);
    }
}
