/* session_state.c - what all parts of a session tell it, and ask. */
#include "fleet/session_internal.h"

#include "base/ticket.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void session_at(struct session *session, nanoseconds now, struct effects *effects)
{
    session->now = now;
    session->effects = effects;
}

/* ---- what is said ---- */

void session_say(struct session *session, const char *format, ...)
{
    char line[512];
    va_list arguments;
    if (session->notices.n == MAX_NOTICES) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (hash_string(line, 0) == session->notices.last_hash) {
        return;
    }
    session->notices.last_hash = hash_string(line, 0);
    session->notices.lines[session->notices.n++] = memory_string(line);
}

const char *session_take_notice(struct session *session)
{
    free(session->notices.taken);
    session->notices.taken = NULL;
    if (session->notices.n > 0) {
        session->notices.taken = session->notices.lines[0];
        session->notices.n--;
        memmove(session->notices.lines, session->notices.lines + 1,
            session->notices.n * sizeof session->notices.lines[0]);
    }
    return session->notices.taken;
}

void session_reset(struct session *session, const char *format, ...)
{
    va_list arguments;
    if (session->link.is_resetting) {
        return;
    }
    va_start(arguments, format);
    vsnprintf(session->link.why, sizeof session->link.why, format, arguments);
    va_end(arguments);
    session->link.is_resetting = session->link.wants_reset = true;
}

const char *session_wants_reset(struct session *session)
{
    bool wants_reset = session->link.wants_reset;
    session->link.wants_reset = false;
    return wants_reset ? session->link.why : NULL;
}

/* ---- numbers ---- */

/* xorshift64* (Vigna 2016). */
nanoseconds session_random(struct session *session, nanoseconds span)
{
    uint64_t x = session->random;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    session->random = x;
    return span > 0 ? (nanoseconds)((x * UINT64_C(2685821657736338717) >> 1) % (uint64_t)span) : 0;
}

void number_raise(uint64_t *numberp, uint64_t to)
{
    *numberp = to > *numberp ? to : *numberp;
}

void session_note_numbers(struct session *session, uint64_t token, uint64_t ticket)
{
    number_raise(&session->tenure.highest_token, token);
    number_raise(&session->tenure.highest_ticket, ticket_number(ticket));
    session->tenure.is_changed |= session->reached.sequence > session->reached.written_sequence ||
        session->reached.event > session->reached.written_event;
}

void session_set_good(struct session *session)
{
    session->notices.trouble[0] = '\0';
    session->tenure.good_until = session->renewal.renewed_at + timing_good_for(session->tenure.ttl);
    session->tenure.is_changed = true;
    if (session->now >= session->changes.store_at) {
        session->changes.is_unwritten = true;
        session->changes.store_at = session->now + STORE_EVERY;
    }
    core_fleet_good_until(session->core, session->database, session->tenure.good_until,
        session->now, session->effects);
}

/* ---- where it stands ---- */

bool session_is_unreachable(const struct session *session)
{
    return session->state == SESSION_REPLACED ||
        (session->state == SESSION_DOWN && session->link.is_given_up);
}

void session_hold_listing(struct session *session, bool hold)
{
    session->hello.is_held = hold;
}

void listing_begin(struct session *session)
{
    if (session->state != SESSION_REPLACED) {
        session->state = SESSION_LISTING;
        session->hello.step = STEP_BEGIN;
    }
}
