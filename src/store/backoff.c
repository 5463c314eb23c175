#include "store/backoff.h"

nanoseconds backoff_pause(struct backoff *backoff, uint64_t random)
{
    nanoseconds pause = backoff->pause > 0 ? backoff->pause : BACKOFF_FIRST;
    backoff->pause = pause * 2 < BACKOFF_LONGEST ? pause * 2 : BACKOFF_LONGEST;
    return pause - (nanoseconds)(random % (uint64_t)(pause / 2));
}
