#include "client/random.h"

#include "base/clock.h"

#include <sys/random.h>
#include <unistd.h>

uint64_t random_bits(void)
{
    uint64_t bits;
    if (getrandom(&bits, sizeof bits, GRND_NONBLOCK) != sizeof bits) {
        /* Early at boot. No other process has this pid at this time. */
        bits = (uint64_t)clock_now() << 22 ^ (uint64_t)getpid();
    }
    return bits;
}
