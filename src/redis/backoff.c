#include "redis/backoff.h"

nanoseconds backoff_longest(const struct backoff *backoff)
{
    bool is_shorter = backoff->longest > 0 && backoff->longest < BACKOFF_LONGEST;
    return is_shorter ? backoff->longest : BACKOFF_LONGEST;
}

nanoseconds backoff_pause(struct backoff *backoff, uint64_t random)
{
    nanoseconds pause = backoff->pause > 0 ? backoff->pause : BACKOFF_FIRST;
    nanoseconds longest = backoff_longest(backoff);
    backoff->pause = pause * 2 < longest ? pause * 2 : longest;
    return pause - (nanoseconds)(random % (uint64_t)(pause / 2));
}
