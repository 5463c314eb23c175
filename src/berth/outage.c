#include "berth/outage.h"

#include "client/message.h"

/* A shorter outage, as when berthd restarts or a database changes its server, is not worth a
 * message. */
#define SAY_AFTER NANOSECONDS_PER_SECOND

void outage_set(struct outage *outage, bool is_of_database, const char *why)
{
    outage->is_of_database = is_of_database;
    outage->why[0] = '\0';
    append(outage->why, sizeof outage->why, "%s", why);
}

void outage_goes_on(struct outage *outage, nanoseconds since)
{
    if (outage->since == NEVER) {
        outage->since = since;
    }
}

void outage_say(struct outage *outage, bool was_queued, nanoseconds now)
{
    static const struct {
        const char *before, *after; /* around the reason */
    } words[2][2] = {
        /* [is_of_database][was_queued] */
        {{"waiting for berthd (", ")"}, {"lost berthd while waiting; trying again (", ")"}},
        {{"", "; trying again"}, {"lost the place in the queue (", "); trying again"}},
    };
    if (outage->was_said || now - outage->since < SAY_AFTER) {
        return;
    }
    outage->was_said = true;
    message("%s%s%s", words[outage->is_of_database][was_queued].before, outage->why,
        words[outage->is_of_database][was_queued].after);
}
