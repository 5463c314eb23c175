/* session_crowd.c - all daemons that use the database: how they keep out of each other's way. */
#include "fleet/session_internal.h"

/* What a hello and its listing cost a server, and a little more. */
#define HELLO (NANOSECONDS_PER_SECOND / 500)
/* What it costs with both connections, likewise. */
#define RETURN (NANOSECONDS_PER_SECOND / 1000)

/* A request of a job, likewise. */
#define REQUEST (NANOSECONDS_PER_SECOND / 10000)

enum {
    CALLS_AT_ONCE = 2, /* a server always has one to carry out; a renewal is behind no more */
    FIRST_BULK = 8, /* after a quiet time, as all may have something to ask at that moment */
};

/* `n` times `each`, but no longer than `most`. */
static nanoseconds times(uint64_t n, nanoseconds each, nanoseconds most)
{
    return n < (uint64_t)(most / each) ? (nanoseconds)n * each : most;
}

void crowd_set_size(struct session *session, uint64_t n, bool is_grace)
{
    if (!is_grace || n > session->crowd.n) {
        session->crowd.n = n;
    }
}

/* Calls have numbers, so a session knows how many there were between two of its own. */
void crowd_counts(struct session *session, uint64_t number)
{
    struct session_crowd *crowd = &session->crowd;
    nanoseconds since = session->now - crowd->counted_at;
    if (crowd->counted == 0 || number < crowd->counted) {
        crowd->rate = 0;
    } else if (since < timing_renewal(session->tenure.ttl) / 2) {
        return; /* too short to say much */
    } else {
        crowd->rate = (uint64_t)((double)(number - crowd->counted) * 1000 *
            (double)NANOSECONDS_PER_SECOND / (double)since);
    }
    crowd->counted = number;
    crowd->counted_at = session->now;
}

/* ---- how much is asked at once ---- */

/* All that is asked at once, by all sessions, is to be answered in a quarter of the time after
 * which a link is given up. */
static nanoseconds longest_queue(const struct session *session)
{
    return session->tenure.ttl / 48;
}

void crowd_begins(struct session *session)
{
    session->crowd.bulk = FIRST_BULK;
}

/* A server answers late if it has much to do for anybody. */
void crowd_answers(struct session *session, const struct inflight_call *call)
{
    struct session_crowd *crowd = &session->crowd;
    bool is_late = session->now - call->sent_at >= longest_queue(session);
    if (is_late && call->sent_at >= crowd->halved_at) {
        crowd->bulk = (crowd->bulk + 1) / 2;
        crowd->halved_at = session->now; /* what was sent before then is no reason to do it again */
    } else if (!is_late && inflight_call_is_request(call)) {
        crowd->bulk += crowd->bulk < MAX_ASKED;
    } else if (!is_late && crowd->bulk > FIRST_BULK) {
        crowd->bulk = FIRST_BULK; /* a renewal, for example: what showed is long ago */
    }
}

size_t crowd_room(const struct session *session)
{
    const struct session_crowd *crowd = &session->crowd;
    uint64_t most = (uint64_t)(longest_queue(session) / REQUEST / CALLS_AT_ONCE);
    uint64_t share = crowd->n > 1 ? most / crowd->n : most;
    size_t bulk = share < crowd->bulk ? (size_t)share : crowd->bulk;
    if (bulk <= 1) {
        return session->calls.n_requests == 0;
    }
    return session->calls.n_requests < CALLS_AT_ONCE ? bulk : 0;
}

nanoseconds crowd_part(struct session *session, uint64_t n)
{
    return session_random(session, times(n, HELLO, session->tenure.ttl / 12));
}

/* A daemon that comes back late has tried half of the time that its jobs have. */
nanoseconds session_spread(const struct session *session, nanoseconds now)
{
    nanoseconds stop_at = core_fleet_stop_at(session->core, session->database);
    nanoseconds left = stop_at == NEVER ? NEVER : stop_at > now ? stop_at - now : 0;
    nanoseconds most = earlier(timing_renewal(session->tenure.ttl), left / 2);
    return times(session->crowd.n, RETURN, most);
}
