#include "base/backoff.h"

void backoff_reset(struct backoff *backoff)
{
    backoff->pause = 0;
}

nanoseconds backoff_next(
    struct backoff *backoff, nanoseconds first, nanoseconds longest, uint64_t random)
{
    if (backoff->pause == 0) {
        backoff->pause = first;
    }
    nanoseconds half = earlier(backoff->pause, longest) / 2;
    backoff->pause = earlier(backoff->pause * 2, longest);
    return half + (nanoseconds)(random % (uint64_t)half);
}

nanoseconds backoff_spread(nanoseconds pause, nanoseconds span, bool is_first, uint64_t random)
{
    nanoseconds part = is_first ? span : span / 2;
    nanoseconds spread = span - part + (part > 0 ? (nanoseconds)(random % (uint64_t)part) : 0);
    return is_first && span > pause ? spread : later(pause, spread);
}
