#include "berth/backoff.h"

#define FIRST_PAUSE (50 * NANOSECONDS_PER_MILLISECOND)
#define LONGEST_PAUSE NANOSECONDS_PER_SECOND /* unless it says otherwise */

void backoff_reset(struct backoff *backoff)
{
    backoff->pause = 0;
}

nanoseconds backoff_next(struct backoff *backoff, nanoseconds now, uint64_t random)
{
    nanoseconds longest = backoff->longest != 0 ? backoff->longest : LONGEST_PAUSE;
    if (backoff->pause == 0) {
        backoff->pause = FIRST_PAUSE;
    }
    /* Between half the pause and all of it, so that those who lost berthd together do not come
     * back together. */
    nanoseconds half = earlier(backoff->pause, longest) / 2;
    nanoseconds at = now + half + (nanoseconds)(random % (uint64_t)half);
    backoff->pause = earlier(backoff->pause * 2, longest);
    return at;
}
