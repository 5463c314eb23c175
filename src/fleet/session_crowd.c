/* session_crowd.c - all daemons that use the database: how they keep out of each other's way. */
#include "fleet/session_internal.h"

/* What a hello and its listing cost a server, and a little more. */
#define HELLO (NANOSECONDS_PER_SECOND / 500)
/* What it costs with both connections, likewise. */
#define RETURN (NANOSECONDS_PER_SECOND / 1000)

/* `n` times `each`, but no longer than `most`. */
static nanoseconds times(uint64_t n, nanoseconds each, nanoseconds most)
{
    return n < (uint64_t)(most / each) ? (nanoseconds)n * each : most;
}

void crowd_is(struct session *session, uint64_t n, bool is_grace)
{
    if (!is_grace || n > session->crowd.n) {
        session->crowd.n = n;
    }
}

/* Calls have numbers, so a session knows how many there were between two of its own. */
void crowd_counts(struct session *session, uint64_t number, nanoseconds now)
{
    struct session_crowd *crowd = &session->crowd;
    nanoseconds since = now - crowd->counted_at;
    if (crowd->counted == 0 || number < crowd->counted) {
        crowd->rate = 0;
    } else if (since < timing_renewal(session->tenure.ttl) / 2) {
        return; /* too short to say much */
    } else {
        crowd->rate = (uint64_t)((double)(number - crowd->counted) * 1000 *
            (double)NANOSECONDS_PER_SECOND / (double)since);
    }
    crowd->counted = number;
    crowd->counted_at = now;
}

void crowd_counts_again(struct session *session)
{
    session->crowd.counted = session->crowd.rate = 0;
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
