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

nanoseconds backoff_next_spread(struct backoff *backoff, nanoseconds first, nanoseconds longest,
    nanoseconds span, bool is_first, uint64_t random)
{
    if (is_first && span > first) {
        return (nanoseconds)(random % (uint64_t)span);
    }
    return backoff_next(backoff, later(first, span / 4), later(longest, span), random);
}
